#include "trace.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>

#include "beam.hpp"
#include "clones.hpp"

namespace resweep {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Run `worker(chunk)` for every chunk on `threads` threads, each with a worker of its own.
template <class MakeWorker> void parallel(std::size_t chunks, int threads, const MakeWorker& make_worker) {
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

void occlude_packet(SceneHandle scene, const int*, RayPacket<1>& rays, IntersectArguments& arguments) {
    embree().occluded1(scene, &rays, &arguments);
}
void occlude_packet(SceneHandle scene, const int* valid, RayPacket<8>& rays, IntersectArguments& arguments) {
    embree().occluded8(valid, scene, &rays, &arguments);
}
void occlude_packet(SceneHandle scene, const int* valid, RayPacket<16>& rays, IntersectArguments& arguments) {
    embree().occluded16(valid, scene, &rays, &arguments);
}

RESWEEP_CLONES void cosines(const float* nx, const float* ny, const float* nz, const float* dx, const float* dy,
                            const float* dz, float* out, int count) {
    for (int i = 0; i < count; ++i) {
        const float along = nx[i] * dx[i] + ny[i] * dy[i] + nz[i] * dz[i];
        const float length = std::sqrt(nx[i] * nx[i] + ny[i] * ny[i] + nz[i] * nz[i]);
        out[i] = std::min(1.0f, std::fabs(along) / length);
    }
}

RESWEEP_CLONES void pick(const float* values, const std::uint32_t* rows, float* out, int count) {
    for (int i = 0; i < count; ++i) out[i] = values[rows[i]];
}

// Traces rays in packets of N.
template <int N> class PacketTracer {
  public:
    explicit PacketTracer(const Scene& scene) : scene_(scene) {
        std::memset(&packet_, 0, sizeof packet_);
        std::fill_n(packet_.ray.mask, N, 0xFFFFFFFFu);
        std::fill_n(packet_.ray.direction_x, N, 1.0f);
        arguments_.flags = N > 1 ? kCoherent : kIncoherent;
    }

    RayPacket<N>& rays() { return packet_.ray; }
    const RayHitPacket<N>& packet() const { return packet_; }

    // Trace the first `lanes` rays of the packet, whose origins and directions are set, up to `t_far`.
    void trace(int lanes, float t_far) {
        for (int lane = 0; lane < N; ++lane) {
            packet_.ray.t_far[lane] = t_far;
            packet_.hit.geometry[lane] = kInvalidId;
            packet_.hit.instance[lane] = kInvalidId;
            valid_[lane] = lane < lanes ? -1 : 0;
        }
        arguments_.context = &context_;
        intersect_packet(scene_.handle(), valid_, packet_, arguments_);
    }

    // Whether each of the first `lanes` rays meets anything beyond `range`: t_far turns negative.
    void trace_beyond(int lanes, float range) {
        for (int lane = 0; lane < N; ++lane) {
            packet_.ray.t_near[lane] = range;
            packet_.ray.t_far[lane] = kInfinity;
            valid_[lane] = lane < lanes ? -1 : 0;
        }
        arguments_.context = &context_;
        occlude_packet(scene_.handle(), valid_, packet_.ray, arguments_);
        std::fill_n(packet_.ray.t_near, N, 0.0f);
    }

    // Call `use(lane, event)` for each of the first `lanes` rays that hit.
    template <class Use> void events(int lanes, const Use& use) {
        const HitPacket<N>& hit = packet_.hit;
        const RayPacket<N>& ray = packet_.ray;
        cosines(hit.normal_x, hit.normal_y, hit.normal_z, ray.direction_x, ray.direction_y, ray.direction_z, cosine_, N);
        for (int lane = 0; lane < lanes; ++lane) {
            if (hit.geometry[lane] == kInvalidId) continue;
            Hit one{{hit.normal_x[lane], hit.normal_y[lane], hit.normal_z[lane]},
                    {ray.direction_x[lane], ray.direction_y[lane], ray.direction_z[lane]},
                    ray.t_far[lane],
                    cosine_[lane],
                    hit.primitive[lane],
                    hit.geometry[lane],
                    hit.instance[lane],
                    hit.instance_primitive[lane]};
            use(lane, scene_.event(one));
        }
    }

  private:
    const Scene& scene_;
    RayHitPacket<N> packet_;
    alignas(64) int valid_[N];
    alignas(64) float cosine_[N];
    RayQueryContext context_;
    IntersectArguments arguments_;
};

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
    std::uint8_t* status;  // a beam
    std::uint8_t* counts;  // of returns, a beam
    Echo* echoes;          // `max_returns` places a beam
};

// What the events of one pulse have in common, gathered as they come: enough for most pulses, whose light
// all lies in one window.
struct Tally {
    float nearest, furthest, light;
    double range, share;
    std::int32_t label, instance;
    std::uint32_t count;
    bool mixed;

    void add(const Event& event) {
        if (count++ == 0) {
            nearest = furthest = event.range;
            light = event.share * event.reflected;
            range = double{event.share} * event.range;
            share = event.share;
            label = event.label;
            instance = event.instance;
            mixed = false;
            return;
        }
        nearest = std::min(nearest, event.range);
        furthest = std::max(furthest, event.range);
        light += event.share * event.reflected;
        range += double{event.share} * event.range;
        share += event.share;
        mixed = mixed || event.label != label || event.instance != instance;
    }
};

template <int N> class Worker {
  public:
    explicit Worker(const Job& job)
        : job_(job), maker_(job.firing, job.motion, job.start, job.noise, job.random), spread_(job.beam, job.random),
          order_(job.beam), tracer_(job.scene), n_rays_(static_cast<std::size_t>(job.beam.n_rays)),
          shares_(job.beam.shares) {
        if (job.beam.random) shares_.assign(n_rays_, 1.0f / static_cast<float>(n_rays_));
        pulses_.resize(job.largest_chunk);
        tallies_.resize(job.largest_chunk);
        draws_.resize(job.largest_chunk);
        events_.resize(job.largest_chunk * n_rays_);
        rays_.resize(job.largest_chunk * n_rays_ + N);
    }

    void operator()(std::size_t chunk) {
        const auto first = static_cast<std::size_t>(job_.firing.chunk[chunk]);
        const auto last = static_cast<std::size_t>(job_.firing.chunk[chunk + 1]);
        maker_.make(first, last, pulses_);
        spread_.spread(pulses_, rays_);
        for (std::size_t i = 0; i < pulses_.count; ++i) tallies_[i].count = 0;
        trace(order_.of(pulses_.count, pulse_spacing(job_.firing, first, last)));
        if (job_.noise.range_sigma > 0.0 || job_.noise.range_sigma_per_m > 0.0)
            normals(job_.random, pulses_.beam.data(), pulses_.count, 0, Purpose::kRangeNoise, draws_.data());
        empty_.clear();
        for (std::size_t i = 0; i < pulses_.count; ++i) report(i);
        look_beyond();
    }

  private:
    void trace(const RayOrder::Order& order) {
        RayPacket<N>& rays = tracer_.rays();
        if (pulses_.one_origin) {
            std::fill_n(rays.origin_x, N, pulses_.origin[0][0]);
            std::fill_n(rays.origin_y, N, pulses_.origin[1][0]);
            std::fill_n(rays.origin_z, N, pulses_.origin[2][0]);
        }
        for (std::size_t first = 0; first < order.row.size(); first += N) {
            const int lanes = static_cast<int>(std::min<std::size_t>(N, order.row.size() - first));
            const std::uint32_t* rows = order.row.data() + first;
            pick(rays_.direction[0].data(), rows, rays.direction_x, lanes);
            pick(rays_.direction[1].data(), rows, rays.direction_y, lanes);
            pick(rays_.direction[2].data(), rows, rays.direction_z, lanes);
            if (!pulses_.one_origin)
                for (int lane = 0; lane < lanes; ++lane) {
                    const std::uint16_t pulse = order.pulse[first + static_cast<std::size_t>(lane)];
                    rays.origin_x[lane] = pulses_.origin[0][pulse];
                    rays.origin_y[lane] = pulses_.origin[1][pulse];
                    rays.origin_z[lane] = pulses_.origin[2][pulse];
                }
            tracer_.trace(lanes, job_.receiver.range_max);
            tracer_.events(lanes, [&](int lane, Event event) {
                const std::size_t place = first + static_cast<std::size_t>(lane), pulse = order.pulse[place];
                event.share = shares_[order.ray[place]];
                events_[pulse * n_rays_ + tallies_[pulse].count] = event;
                tallies_[pulse].add(event);
            });
        }
    }

    // Form the echoes of pulse i, make measurements of them and put them in their places.
    void report(std::size_t i) {
        const std::uint32_t beam = pulses_.beam[i];
        Echo* places = job_.echoes + std::size_t{beam} * static_cast<std::size_t>(job_.receiver.max_returns);
        const Status status = form_echoes(i);
        job_.status[beam] = static_cast<std::uint8_t>(status);
        job_.counts[beam] = static_cast<std::uint8_t>(echoes_.size());
        for (std::uint32_t k = 0; k < echoes_.size(); ++k) {
            places[k] = echoes_[k];
            places[k].range = measured_range(i, k, echoes_[k].range);
            places[k].intensity = measured_intensity(beam, k, echoes_[k].intensity);
        }
    }

    Status form_echoes(std::size_t i) {
        const Receiver& receiver = job_.receiver;
        const Tally& tally = tallies_[i];
        if (tally.count == 0) {
            echoes_.clear();
            empty_.push_back(static_cast<std::uint32_t>(i));
            return Status::kNothingHit;
        }
        const bool one_window = 2.0f * (tally.furthest - tally.nearest) <= receiver.signal_cutoff && !tally.mixed &&
                                tally.nearest >= receiver.range_min && receiver.falloff_reference <= 0.0f;
        if (!one_window) return receive(receiver, {&events_[i * n_rays_], tally.count}, echoes_);
        echoes_.clear();
        if (tally.light < receiver.threshold) return Status::kBelowThreshold;
        echoes_.push_back({static_cast<float>(tally.range / tally.share), tally.light, tally.label, tally.instance});
        return Status::kReturn;
    }

    // A pulse that met nothing is out of range if its axis meets something beyond.
    void look_beyond() {
        RayPacket<N>& rays = tracer_.rays();
        for (std::size_t first = 0; first < empty_.size(); first += N) {
            const int lanes = static_cast<int>(std::min<std::size_t>(N, empty_.size() - first));
            for (int lane = 0; lane < lanes; ++lane) {
                const std::size_t i = empty_[first + static_cast<std::size_t>(lane)], o = pulses_.one_origin ? 0 : i;
                rays.origin_x[lane] = pulses_.origin[0][o];
                rays.origin_y[lane] = pulses_.origin[1][o];
                rays.origin_z[lane] = pulses_.origin[2][o];
                rays.direction_x[lane] = pulses_.d[0][i];
                rays.direction_y[lane] = pulses_.d[1][i];
                rays.direction_z[lane] = pulses_.d[2][i];
            }
            tracer_.trace_beyond(lanes, job_.receiver.range_max);
            for (int lane = 0; lane < lanes; ++lane)
                if (rays.t_far[lane] < 0.0f)
                    job_.status[pulses_.beam[empty_[first + static_cast<std::size_t>(lane)]]] =
                        static_cast<std::uint8_t>(Status::kOutOfRange);
        }
    }

    float measured_range(std::size_t i, std::uint32_t index, float range) const {
        const Noise& noise = job_.noise;
        double value = range;
        const double sigma = noise.range_sigma + noise.range_sigma_per_m * range;
        if (sigma > 0.0)
            value += sigma * (index == 0 ? draws_[i]
                                         : normal(job_.random.words(pulses_.beam[i], index, Purpose::kRangeNoise)[0]));
        if (noise.range_quantum > 0.0) value = std::floor(value / noise.range_quantum + 0.5) * noise.range_quantum;
        return static_cast<float>(std::max(value, 0.0));
    }

    float measured_intensity(std::uint32_t beam, std::uint32_t index, float intensity) const {
        if (job_.noise.intensity_sigma <= 0.0) return intensity;
        const double draw = normal(job_.random.words(beam, index, Purpose::kIntensityNoise)[0]);
        return static_cast<float>(std::max(0.0, intensity + job_.noise.intensity_sigma * draw));
    }

    const Job& job_;
    PulseMaker maker_;
    RaySpread spread_;
    RayOrder order_;
    PacketTracer<N> tracer_;
    PulseBatch pulses_;
    Rays rays_;
    std::size_t n_rays_;
    std::vector<float> shares_;
    std::vector<double> draws_;
    std::vector<Tally> tallies_;
    std::vector<std::uint32_t> empty_;
    std::vector<Event> events_;
    std::vector<Echo> echoes_;
};

// The returns of all beams as columns, in the order of the beams.
void gather(const Job& job, int threads, SweepResult& result) {
    constexpr std::size_t kBlock = 8192;
    const std::size_t n_beams = job.firing.n_beams, n_blocks = (n_beams + kBlock - 1) / kBlock;
    const auto max_returns = static_cast<std::size_t>(job.receiver.max_returns);
    std::vector<std::size_t> begins(n_blocks + 1, 0);
    for (std::size_t block = 0; block < n_blocks; ++block) {
        const std::size_t end = std::min(n_beams, (block + 1) * kBlock);
        begins[block + 1] = std::accumulate(job.counts + block * kBlock, job.counts + end, begins[block]);
    }
    const std::size_t total = begins[n_blocks];
    result.beam.allocate(total);
    result.label.allocate(total);
    result.instance.allocate(total);
    result.range.allocate(total);
    result.intensity.allocate(total);
    result.return_index.allocate(total);
    result.points.allocate(3 * total);
    parallel(n_blocks, threads, [&] {
        return [&](std::size_t block) {
            std::size_t row = begins[block];
            const std::size_t end = std::min(n_beams, (block + 1) * kBlock);
            for (std::size_t beam = block * kBlock; beam < end; ++beam)
                for (std::uint8_t k = 0; k < job.counts[beam]; ++k, ++row) {
                    const Echo& echo = job.echoes[beam * max_returns + k];
                    result.beam.data[row] = static_cast<std::int32_t>(beam);
                    result.range.data[row] = echo.range;
                    result.intensity.data[row] = echo.intensity;
                    result.return_index.data[row] = k;
                    result.label.data[row] = echo.label;
                    result.instance.data[row] = echo.instance;
                    for (int axis = 0; axis < 3; ++axis) {
                        const float from = job.firing.origin ? job.firing.origin[3 * beam + axis] : 0.0f;
                        result.points.data[3 * row + axis] = job.firing.reported[3 * beam + axis] * echo.range + from;
                    }
                }
        };
    });
}

template <int N> void run(const Job& job, int threads) {
    parallel(job.firing.n_chunks, threads, [&] { return Worker<N>(job); });
}

std::size_t largest_chunk(const Firing& firing) {
    std::size_t largest = 0;
    for (std::size_t c = 0; c < firing.n_chunks; ++c)
        largest = std::max(largest, static_cast<std::size_t>(firing.chunk[c + 1] - firing.chunk[c]));
    return largest;
}

template <int N>
double floor_of(const Scene& scene, const std::vector<float> (&rays)[6], std::size_t n_rays, float range_max,
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
    SweepResult result;
    result.status.allocate(firing.n_beams);
    Buffer<std::uint8_t> counts;
    counts.allocate(firing.n_beams);
    Buffer<Echo> echoes;
    echoes.allocate(firing.n_beams * static_cast<std::size_t>(receiver.max_returns));
    const Job job{scene, firing, motion, start, beam, receiver, noise, random, largest_chunk(firing),
                  result.status.data.get(), counts.data.get(), echoes.data.get()};
    const int threads = thread_count(tracing.threads);
    switch (packet_width(tracing.packet)) {
        case 1: run<1>(job, threads); break;
        case 16: run<16>(job, threads); break;
        default: run<8>(job, threads); break;
    }
    gather(job, threads, result);
    return result;
}

void sweep_rays(const Firing& firing, const Motion& motion, double start, const Beam& beam, const Noise& noise,
                const Philox& random, std::vector<float>& origins, std::vector<float>& directions) {
    const auto n_rays = static_cast<std::size_t>(beam.n_rays), largest = largest_chunk(firing);
    origins.resize(3 * firing.n_beams * n_rays);
    directions.resize(3 * firing.n_beams * n_rays);
    PulseMaker maker(firing, motion, start, noise, random);
    const RaySpread spread(beam, random);
    RayOrder ray_order(beam);
    PulseBatch pulses;
    pulses.resize(largest);
    Rays rays;
    rays.resize(largest * n_rays);
    std::size_t out = 0;
    for (std::size_t c = 0; c < firing.n_chunks; ++c) {
        const auto first = static_cast<std::size_t>(firing.chunk[c]), last = static_cast<std::size_t>(firing.chunk[c + 1]);
        maker.make(first, last, pulses);
        spread.spread(pulses, rays);
        const RayOrder::Order& order = ray_order.of(pulses.count, pulse_spacing(firing, first, last));
        for (std::size_t i = 0; i < order.row.size(); ++i)
            for (int axis = 0; axis < 3; ++axis, ++out) {
                origins[out] = pulses.origin[axis][pulses.one_origin ? 0 : order.pulse[i]];
                directions[out] = rays.direction[axis][order.row[i]];
            }
    }
}

double raw_floor(const Scene& scene, const float* origins, const float* directions, std::size_t n_rays,
                 float range_max, int packet, int threads, int repeats, std::size_t& hits) {
    std::vector<float> rays[6];
    for (int c = 0; c < 6; ++c) {
        rays[c].resize(n_rays + 16, c == 3 ? 1.0f : 0.0f);
        const float* from = c < 3 ? origins + c : directions + c - 3;
        for (std::size_t i = 0; i < n_rays; ++i) rays[c][i] = from[3 * i];
    }
    const int count = thread_count(threads);
    switch (packet_width(packet)) {
        case 1: return floor_of<1>(scene, rays, n_rays, range_max, count, repeats, hits);
        case 16: return floor_of<16>(scene, rays, n_rays, range_max, count, repeats, hits);
        default: return floor_of<8>(scene, rays, n_rays, range_max, count, repeats, hits);
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
        return [&, tracer = PacketTracer<8>(scene)](std::size_t chunk) mutable {
            const std::size_t end = std::min(n_rays, (chunk + 1) * kChunk);
            for (std::size_t first = chunk * kChunk; first < end; first += 8) {
                const int lanes = static_cast<int>(std::min<std::size_t>(8, end - first));
                for (int lane = 0; lane < lanes; ++lane) {
                    const float *origin = origins + 3 * (first + lane), *direction = directions + 3 * (first + lane);
                    RayPacket<8>& rays = tracer.rays();
                    rays.origin_x[lane] = origin[0], rays.origin_y[lane] = origin[1], rays.origin_z[lane] = origin[2];
                    rays.direction_x[lane] = direction[0], rays.direction_y[lane] = direction[1],
                    rays.direction_z[lane] = direction[2];
                }
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
