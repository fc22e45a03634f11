#include "trace/raw_floor.hpp"

#include <chrono>
#include <cstring>
#include <vector>

#include "core/parallel.hpp"
#include "trace/packet_tracer.hpp"

namespace resweep {
namespace {

template <int N>
double fastest_of(const Scene& scene, const std::vector<float> (&rays)[6], std::size_t n_rays, float range_max,
                  int threads, int repeats, std::size_t& hits) {
    const std::size_t n_packets = (n_rays + N - 1) / N, per_chunk = 64;
    std::vector<float> ranges(n_packets * N);
    std::vector<std::uint32_t> primitives(n_packets * N), geometries(n_packets * N);
    double best = std::numeric_limits<double>::infinity();
    for (int repeat = 0; repeat < repeats; ++repeat) {
        const auto begin = std::chrono::steady_clock::now();
        parallel((n_packets + per_chunk - 1) / per_chunk, threads, [&] {
            return [&, tracer = PacketTracer<N>(scene)](std::size_t chunk) mutable {
                float* lanes[6] = {tracer.rays().origin_x,    tracer.rays().origin_y,    tracer.rays().origin_z,
                                   tracer.rays().direction_x, tracer.rays().direction_y, tracer.rays().direction_z};
                const std::size_t end = std::min(n_packets, (chunk + 1) * per_chunk);
                for (std::size_t p = chunk * per_chunk; p < end; ++p) {
                    for (int c = 0; c < 6; ++c) std::memcpy(lanes[c], &rays[c][p * N], N * sizeof(float));
                    tracer.trace(N, range_max);
                    std::memcpy(&ranges[p * N], tracer.packet().ray.t_far, N * sizeof(float));
                    std::memcpy(&primitives[p * N], tracer.packet().hit.primitive, N * sizeof(float));
                    std::memcpy(&geometries[p * N], tracer.packet().hit.geometry, N * sizeof(float));
                }
            };
        });
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        best = std::min(best, taken.count());
    }
    hits = 0;
    for (std::size_t i = 0; i < n_rays; ++i) hits += geometries[i] != kInvalidId;
    return best;
}

}  // namespace

double raw_floor(const Scene& scene, const float* origins, const float* directions, std::size_t n_rays, float range_max,
                 int packet, int threads, int repeats, std::size_t& hits) {
    std::vector<float> rays[6];
    for (int c = 0; c < 6; ++c) {
        rays[c].resize(n_rays + 16, c == 3 ? 1.0f : 0.0f);
        const float* from = c < 3 ? origins + c : directions + c - 3;
        for (std::size_t i = 0; i < n_rays; ++i) rays[c][i] = from[3 * i];
    }
    const int count = thread_count(threads);
    switch (packet) {
        case 1: return fastest_of<1>(scene, rays, n_rays, range_max, count, repeats, hits);
        case 16: return fastest_of<16>(scene, rays, n_rays, range_max, count, repeats, hits);
        default: return fastest_of<8>(scene, rays, n_rays, range_max, count, repeats, hits);
    }
}

}  // namespace resweep
