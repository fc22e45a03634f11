#include "trace.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "beam.hpp"

namespace resweep {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Run `work(chunk)` for every chunk on `threads` threads. Chunks are the same whatever the threads.
template <class Work> void parallel(std::size_t chunks, int threads, const Work& make_worker) {
    std::atomic<std::size_t> next{0};
    const auto run = [&] {
        auto worker = make_worker();
        for (std::size_t chunk = next++; chunk < chunks; chunk = next++) worker(chunk);
    };
    const auto count = std::min<std::size_t>(static_cast<std::size_t>(threads), std::max<std::size_t>(chunks, 1));
    std::vector<std::thread> pool;
    for (std::size_t i = 1; i < count; ++i) pool.emplace_back(run);
    run();
    for (std::thread& thread : pool) thread.join();
}

void intersect_packet(SceneHandle scene, const int*, RayHitPacket<1>& packet, IntersectArguments& arguments) {
    embree().intersect1(scene, &packet, &arguments);
}
void intersect_packet(SceneHandle scene, const int* valid, RayHitPacket<8>& packet, IntersectArguments& arguments) {
    embree().intersect8(valid, scene, &packet, &arguments);
}
void intersect_packet(SceneHandle scene, const int* valid, RayHitPacket<16>& packet, IntersectArguments& arguments) {
    embree().intersect16(valid, scene, &packet, &arguments);
}

template <int N>
void fill_lane(RayHitPacket<N>& packet, int lane, const float origin[3], const float direction[3], float t_far) {
    packet.ray.origin_x[lane] = origin[0];
    packet.ray.origin_y[lane] = origin[1];
    packet.ray.origin_z[lane] = origin[2];
    packet.ray.t_near[lane] = 0.0f;
    packet.ray.direction_x[lane] = direction[0];
    packet.ray.direction_y[lane] = direction[1];
    packet.ray.direction_z[lane] = direction[2];
    packet.ray.time[lane] = 0.0f;
    packet.ray.t_far[lane] = t_far;
    packet.ray.mask[lane] = 0xFFFFFFFFu;
    packet.ray.id[lane] = 0;
    packet.ray.flags[lane] = 0;
    packet.hit.geometry[lane] = kInvalidId;
    packet.hit.instance[lane] = kInvalidId;
    packet.hit.instance_primitive[lane] = kInvalidId;
}

template <int N> Event lane_event(const Scene& scene, const RayHitPacket<N>& packet, int lane, float share) {
    const float normal[3] = {packet.hit.normal_x[lane], packet.hit.normal_y[lane], packet.hit.normal_z[lane]};
    const float direction[3] = {packet.ray.direction_x[lane], packet.ray.direction_y[lane],
                                packet.ray.direction_z[lane]};
    return scene.event(packet.hit.geometry[lane], packet.hit.primitive[lane], packet.hit.instance[lane],
                       packet.hit.instance_primitive[lane], normal, direction, packet.ray.t_far[lane], share);
}

IntersectArguments query(int packet) {
    IntersectArguments arguments;
    arguments.flags = packet > 1 ? kCoherent : kIncoherent;
    return arguments;
}

// Traces rays in packets of N.
template <int N> class PacketTracer {
  public:
    explicit PacketTracer(const Scene& scene) : scene_(scene), arguments_(query(N)) {
        const float zero[3] = {0.0f, 0.0f, 0.0f}, ahead[3] = {1.0f, 0.0f, 0.0f};
        for (int lane = 0; lane < N; ++lane) fill_lane(packet_, lane, zero, ahead, 0.0f);
    }

    // Trace the first `count` of `rays` up to `t_far`; `use(ray, packet, lane)` is called for each
    // hit, in the order of the rays. `rays` is padded to whole packets.
    template <class Use> void trace(const Rays& rays, std::size_t count, float t_far, const Use& use) {
        constexpr std::size_t kBytes = N * sizeof(float);
        for (std::size_t first = 0; first < count; first += N) {
            const int lanes = static_cast<int>(std::min<std::size_t>(N, count - first));
            std::memcpy(packet_.ray.origin_x, &rays.origin_x[first], kBytes);
            std::memcpy(packet_.ray.origin_y, &rays.origin_y[first], kBytes);
            std::memcpy(packet_.ray.origin_z, &rays.origin_z[first], kBytes);
            std::memcpy(packet_.ray.direction_x, &rays.direction_x[first], kBytes);
            std::memcpy(packet_.ray.direction_y, &rays.direction_y[first], kBytes);
            std::memcpy(packet_.ray.direction_z, &rays.direction_z[first], kBytes);
            for (int lane = 0; lane < N; ++lane) {
                packet_.ray.t_far[lane] = t_far;
                packet_.hit.geometry[lane] = kInvalidId;
                packet_.hit.instance[lane] = kInvalidId;
                valid_[lane] = lane < lanes ? -1 : 0;
            }
            arguments_.context = &context_;
            intersect_packet(scene_.handle(), valid_, packet_, arguments_);
            for (int lane = 0; lane < lanes; ++lane)
                if (packet_.hit.geometry[lane] != kInvalidId) use(first + lane, packet_, lane);
        }
    }

  private:
    const Scene& scene_;
    RayHitPacket<N> packet_;
    alignas(64) int valid_[N];
    RayQueryContext context_;
    IntersectArguments arguments_;
};

bool anything_beyond(const Scene& scene, const float origin[3], const float direction[3], float range) {
    RayPacket<1> ray{};
    ray.origin_x[0] = origin[0], ray.origin_y[0] = origin[1], ray.origin_z[0] = origin[2];
    ray.direction_x[0] = direction[0], ray.direction_y[0] = direction[1], ray.direction_z[0] = direction[2];
    ray.t_near[0] = range;
    ray.t_far[0] = kInfinity;
    ray.mask[0] = 0xFFFFFFFFu;
    IntersectArguments arguments;
    embree().occluded1(scene.handle(), &ray, &arguments);
    return ray.t_far[0] < 0.0f;
}

// Everything one sweep is made from, and where its results go.
struct Job {
    const Scene& scene;
    const Firing& firing;
    const Motion& motion;
    double start;
    const Beam& beam;
    const Receiver& receiver;
    const Noise& noise;
    const Philox& random;
    std::size_t largest_chunk;
    std::vector<std::uint8_t>& status;
    std::vector<std::uint8_t>& counts;
    std::vector<Echo>& echoes;  // `max_returns` places a beam
};

float measured_range(const Noise& noise, const Philox& random, std::uint32_t beam, std::uint32_t index, float range) {
    double value = range;
    const double sigma = noise.range_sigma + noise.range_sigma_per_m * range;
    if (sigma > 0.0) value += sigma * normal(random.words(beam, index, Purpose::kRangeNoise)[0]);
    if (noise.range_quantum > 0.0) value = std::nearbyint(value / noise.range_quantum) * noise.range_quantum;
    return static_cast<float>(std::max(value, 0.0));
}

float measured_intensity(const Noise& noise, const Philox& random, std::uint32_t beam, std::uint32_t index,
                         float intensity) {
    if (noise.intensity_sigma <= 0.0) return intensity;
    const double draw = normal(random.words(beam, index, Purpose::kIntensityNoise)[0]);
    return static_cast<float>(std::max(0.0, intensity + noise.intensity_sigma * draw));
}

template <int N> class Worker {
  public:
    explicit Worker(const Job& job)
        : job_(job), maker_(job.firing, job.motion, job.start, job.noise, job.random), spread_(job.beam, job.random),
          order_(job.beam), tracer_(job.scene), n_rays_(static_cast<std::size_t>(job.beam.n_rays)),
          shares_(job.beam.shares) {
        if (job.beam.random) shares_.assign(n_rays_, 1.0f / static_cast<float>(n_rays_));
        pulses_.resize(job.largest_chunk);
        counts_.resize(job.largest_chunk);
        events_.resize(job.largest_chunk * n_rays_);
        rays_.resize(job.largest_chunk * n_rays_ + N);
    }

    void operator()(std::size_t chunk) {
        const auto first = static_cast<std::size_t>(job_.firing.chunk[chunk]);
        const auto last = static_cast<std::size_t>(job_.firing.chunk[chunk + 1]);
        const auto& order = order_.of(last - first, pulse_spacing(job_.firing, first, last));
        for (std::size_t i = 0; i < last - first; ++i) {
            pulses_[i] = maker_.pulse(first + i);
            counts_[i] = 0;
            if (job_.beam.random) {
                spread_.draw(pulses_[i].beam);
                for (std::size_t ray = 0; ray < n_rays_; ++ray) spread_.put(pulses_[i], ray, i * n_rays_ + ray, rays_);
            }
        }
        if (!job_.beam.random)
            for (std::size_t row = 0; row < order.size(); ++row)
                spread_.put(pulses_[order[row].pulse], order[row].ray, row, rays_);
        tracer_.trace(rays_, order.size(), job_.receiver.range_max,
                      [&](std::size_t row, const RayHitPacket<N>& packet, int lane) {
                          const auto [pulse, ray] = order[row];
                          events_[pulse * n_rays_ + counts_[pulse]++] =
                              lane_event(job_.scene, packet, lane, shares_[ray]);
                      });
        for (std::size_t i = 0; i < last - first; ++i) report(i);
    }

  private:
    void report(std::size_t i) {
        const Pulse& pulse = pulses_[i];
        Status status = receive(job_.receiver, {&events_[i * n_rays_], counts_[i]}, echoes_);
        if (status == Status::kNothingHit &&
            anything_beyond(job_.scene, pulse.origin, pulse.d, job_.receiver.range_max))
            status = Status::kOutOfRange;
        job_.status[pulse.beam] = static_cast<std::uint8_t>(status);
        job_.counts[pulse.beam] = static_cast<std::uint8_t>(echoes_.size());
        Echo* place = &job_.echoes[pulse.beam * static_cast<std::size_t>(job_.receiver.max_returns)];
        for (std::uint32_t k = 0; k < echoes_.size(); ++k) {
            place[k] = echoes_[k];
            place[k].range = measured_range(job_.noise, job_.random, pulse.beam, k, echoes_[k].range);
            place[k].intensity = measured_intensity(job_.noise, job_.random, pulse.beam, k, echoes_[k].intensity);
        }
    }

    const Job& job_;
    PulseMaker maker_;
    RaySpread spread_;
    RayOrder order_;
    PacketTracer<N> tracer_;
    Rays rays_;
    std::size_t n_rays_;
    std::vector<float> shares_;
    std::vector<Pulse> pulses_;
    std::vector<std::size_t> counts_;
    std::vector<Event> events_;
    std::vector<Echo> echoes_;
};

SweepResult gather(const Job& job) {
    SweepResult result;
    std::size_t total = 0;
    for (const std::uint8_t count : job.counts) total += count;
    result.beam.resize(total);
    result.label.resize(total);
    result.instance.resize(total);
    result.range.resize(total);
    result.intensity.resize(total);
    result.return_index.resize(total);
    std::size_t row = 0;
    for (std::size_t beam = 0; beam < job.counts.size(); ++beam)
        for (std::uint8_t k = 0; k < job.counts[beam]; ++k, ++row) {
            const Echo& echo = job.echoes[beam * static_cast<std::size_t>(job.receiver.max_returns) + k];
            result.beam[row] = static_cast<std::int32_t>(beam);
            result.range[row] = echo.range;
            result.intensity[row] = echo.intensity;
            result.return_index[row] = k;
            result.label[row] = echo.label;
            result.instance[row] = echo.instance;
        }
    return result;
}

template <int N> void run(const Job& job, int threads) {
    parallel(job.firing.n_chunks, threads, [&] { return Worker<N>(job); });
}

template <int N>
double floor_of(const Scene& scene, const float* origins, const float* directions, std::size_t n_rays, float range_max,
                int threads, int repeats, std::size_t& hits) {
    const std::size_t n_packets = (n_rays + N - 1) / N;
    std::vector<RayHitPacket<N>> packets(n_packets);
    double best = std::numeric_limits<double>::infinity();
    for (int repeat = 0; repeat < repeats; ++repeat) {
        for (std::size_t i = 0; i < n_packets * N; ++i) {
            const std::size_t ray = std::min(i, n_rays - 1);
            fill_lane(packets[i / N], static_cast<int>(i % N), origins + 3 * ray, directions + 3 * ray, range_max);
        }
        const std::size_t chunk_packets = 64, chunks = (n_packets + chunk_packets - 1) / chunk_packets;
        const auto begin = std::chrono::steady_clock::now();
        parallel(chunks, threads, [&] {
            return [&](std::size_t chunk) {
                RayQueryContext context;
                IntersectArguments arguments = query(N);
                arguments.context = &context;
                alignas(64) int valid[N];
                std::fill(valid, valid + N, -1);
                const std::size_t end = std::min(n_packets, (chunk + 1) * chunk_packets);
                for (std::size_t p = chunk * chunk_packets; p < end; ++p)
                    intersect_packet(scene.handle(), valid, packets[p], arguments);
            };
        });
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        best = std::min(best, taken.count());
    }
    hits = 0;
    for (std::size_t i = 0; i < n_rays; ++i) hits += packets[i / N].hit.geometry[i % N] != kInvalidId;
    return best;
}

}  // namespace

int thread_count(int asked) {
    if (asked > 0) return asked;
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int packet_width(int asked) {
    if (asked > 0) return asked;
    return embree().device_property(embree_device(), kNativeRay16) ? 16 : 8;
}

SweepResult simulate_sweep(const Scene& scene, const Firing& firing, const Motion& motion, double start,
                           const Beam& beam, const Receiver& receiver, const Noise& noise, const Philox& random,
                           const Tracing& tracing) {
    std::vector<std::uint8_t> status(firing.n_beams), counts(firing.n_beams);
    std::vector<Echo> echoes(firing.n_beams * static_cast<std::size_t>(receiver.max_returns));
    std::size_t largest = 0;
    for (std::size_t c = 0; c < firing.n_chunks; ++c)
        largest = std::max(largest, static_cast<std::size_t>(firing.chunk[c + 1] - firing.chunk[c]));
    const Job job{scene, firing, motion, start, beam, receiver, noise, random, largest, status, counts, echoes};
    const int threads = thread_count(tracing.threads);
    switch (packet_width(tracing.packet)) {
        case 1: run<1>(job, threads); break;
        case 16: run<16>(job, threads); break;
        default: run<8>(job, threads); break;
    }
    SweepResult result = gather(job);
    result.status = std::move(status);
    return result;
}

void sweep_rays(const Firing& firing, const Motion& motion, double start, const Beam& beam, const Noise& noise,
                const Philox& random, std::vector<float>& origins, std::vector<float>& directions) {
    const auto n_rays = static_cast<std::size_t>(beam.n_rays);
    origins.resize(3 * firing.n_beams * n_rays);
    directions.resize(3 * firing.n_beams * n_rays);
    PulseMaker maker(firing, motion, start, noise, random);
    RaySpread spread(beam, random);
    RayOrder ray_order(beam);
    Rays rays;
    rays.resize(1);
    std::vector<Pulse> pulses;
    std::size_t row = 0;
    for (std::size_t c = 0; c < firing.n_chunks; ++c) {
        const auto first = static_cast<std::size_t>(firing.chunk[c]), last = static_cast<std::size_t>(firing.chunk[c + 1]);
        pulses.clear();
        for (std::size_t place = first; place < last; ++place) pulses.push_back(maker.pulse(place));
        for (const auto& [pulse, ray] : ray_order.of(last - first, pulse_spacing(firing, first, last))) {
            if (ray == 0) spread.draw(pulses[pulse].beam);
            spread.put(pulses[pulse], ray, 0, rays);
            std::copy(pulses[pulse].origin, pulses[pulse].origin + 3, &origins[row]);
            directions[row] = rays.direction_x[0];
            directions[row + 1] = rays.direction_y[0];
            directions[row + 2] = rays.direction_z[0];
            row += 3;
        }
    }
}

double raw_floor(const Scene& scene, const float* origins, const float* directions, std::size_t n_rays,
                 float range_max, int packet, int threads, int repeats, std::size_t& hits) {
    const int count = thread_count(threads);
    switch (packet_width(packet)) {
        case 1: return floor_of<1>(scene, origins, directions, n_rays, range_max, count, repeats, hits);
        case 16: return floor_of<16>(scene, origins, directions, n_rays, range_max, count, repeats, hits);
        default: return floor_of<8>(scene, origins, directions, n_rays, range_max, count, repeats, hits);
    }
}

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
        Rays rays;
        rays.resize(kChunk + 8);
        return [&, rays, tracer = PacketTracer<8>(scene)](std::size_t chunk) mutable {
            const std::size_t first = chunk * kChunk, count = std::min(kChunk, n_rays - first);
            for (std::size_t i = 0; i < count; ++i) {
                const float *origin = origins + 3 * (first + i), *direction = directions + 3 * (first + i);
                rays.origin_x[i] = origin[0], rays.origin_y[i] = origin[1], rays.origin_z[i] = origin[2];
                rays.direction_x[i] = direction[0], rays.direction_y[i] = direction[1],
                rays.direction_z[i] = direction[2];
            }
            tracer.trace(rays, count, range_max, [&](std::size_t ray, const RayHitPacket<8>& packet, int lane) {
                const Event event = lane_event(scene, packet, lane, 1.0f);
                hits.range[first + ray] = event.range;
                hits.cosine[first + ray] = event.cosine;
                hits.reflected[first + ray] = event.reflected;
                hits.label[first + ray] = event.label;
                hits.instance[first + ray] = event.instance;
            });
        };
    });
    return hits;
}

}  // namespace resweep
