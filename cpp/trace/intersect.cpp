#include "trace/intersect.hpp"

#include "core/parallel.hpp"
#include "trace/packet_tracer.hpp"

namespace resweep {

RayHits intersect(const Scene& scene, const float* origins, const float* directions, std::size_t n_rays,
                  float range_max, int threads) {
    RayHits hits;
    hits.range.assign(n_rays, kInfinity);
    hits.cosine.assign(n_rays, 0.0f);
    hits.reflected.assign(n_rays, 0.0f);
    hits.label.assign(n_rays, 0);
    hits.instance.assign(n_rays, 0);
    constexpr std::size_t kChunk = 4096;
    parallel((n_rays + kChunk - 1) / kChunk, thread_count(threads), [&] {
        return [&, tracer = PacketTracer<8>(scene)](std::size_t chunk) mutable {
            const std::size_t end = std::min(n_rays, (chunk + 1) * kChunk);
            for (std::size_t first = chunk * kChunk; first < end; first += 8) {
                const int lanes = static_cast<int>(std::min<std::size_t>(8, end - first));
                tracer.aim(origins + 3 * first, directions + 3 * first, lanes);
                tracer.trace(lanes, range_max);
                tracer.events(lanes, [&](int lane, const Event& event) {
                    const std::size_t row = first + static_cast<std::size_t>(lane);
                    hits.range[row] = event.range;
                    hits.cosine[row] = event.cosine;
                    hits.reflected[row] = event.reflected;
                    hits.label[row] = event.label;
                    hits.instance[row] = event.instance;
                });
            }
        };
    });
    return hits;
}

}  // namespace resweep
