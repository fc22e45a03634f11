#include "trace.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "beam.hpp"
#include "clones.hpp"
#include "parallel.hpp"

namespace resweep {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

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
        std::iota(packet_.ray.id, packet_.ray.id + N, 0u);  // where a filter finds the ray's gathered discs
        context_.hits = gathered_;
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
        if (scene_.gathers())
            for (DiscHits& hits : gathered_) hits.count = 0;
        arguments_.context = &context_.embree;
        intersect_packet(scene_.handle(), valid_, packet_, arguments_);
    }

    // Whether each of the first `lanes` rays meets anything beyond `range`: t_far turns negative.
    void trace_beyond(int lanes, float range) {
        for (int lane = 0; lane < N; ++lane) {
            packet_.ray.t_near[lane] = range;
            packet_.ray.t_far[lane] = kInfinity;
            valid_[lane] = lane < lanes ? -1 : 0;
        }
        arguments_.context = &context_.embree;
        occlude_packet(scene_.handle(), valid_, packet_.ray, arguments_);
        std::fill_n(packet_.ray.t_near, N, 0.0f);
    }

    // Call `use(lane, event)` for each of the first `lanes` rays that hit.
    template <class Use> void events(int lanes, const Use& use) {
        const HitPacket<N>& hit = packet_.hit;
        const RayPacket<N>& ray = packet_.ray;
        cosines(hit.normal_x, hit.normal_y, hit.normal_z, ray.direction_x, ray.direction_y, ray.direction_z, cosine_,
                N);
        const bool gathers = scene_.gathers();
        for (int lane = 0; lane < lanes; ++lane) {
            if (hit.geometry[lane] == kInvalidId && !gathers) continue;
            const Hit one{{hit.normal_x[lane], hit.normal_y[lane], hit.normal_z[lane]},
                          {ray.direction_x[lane], ray.direction_y[lane], ray.direction_z[lane]},
                          ray.t_far[lane],
                          cosine_[lane],
                          hit.primitive[lane],
                          hit.geometry[lane],
                          hit.instance[lane],
                          hit.instance_primitive[lane]};
            Event event;
            if (!gathers)
                use(lane, scene_.event(one));
            else if (scene_.event(one, gathered_[lane], event))
                use(lane, event);
        }
    }

  private:
    const Scene& scene_;
    RayHitPacket<N> packet_;
    alignas(64) int valid_[N];
    alignas(64) float cosine_[N];
    DiscContext context_;
    DiscHits gathered_[N];
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

// The events of a batch's rays, one array a quantity; rows as in `Rays`. A ray that met nothing is at
// infinity and sends back no light.
struct Met {
    std::vector<float> range, reflected;
    std::vector<std::int32_t> label, instance;

    void resize(std::size_t count) {
        range.resize(count);
        reflected.resize(count);
        label.resize(count);
        instance.resize(count);
    }
};

// What the events of each pulse have in common: enough for most pulses, whose light all lies in one
// window and comes from one thing.
struct Tally {
    std::vector<float> nearest, furthest, mean, light;
    std::vector<std::int32_t> label, instance, mixed;

    void resize(std::size_t count) {
        for (auto* column : {&nearest, &furthest, &mean, &light}) column->resize(count);
        for (auto* column : {&label, &instance, &mixed}) column->resize(count);
    }
};

RESWEEP_CLONES void bound(const float* range, float* nearest, float* furthest, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        nearest[i] = std::min(nearest[i], range[i]);
        furthest[i] = std::max(furthest[i], range[i] < kInfinity ? range[i] : 0.0f);
    }
}

// Add one ray of each pulse: its light, and its range beyond the nearest, counted by its share.
RESWEEP_CLONES void add_light(const float* range, const float* reflected, const float* nearest, float share,
                              float* light, float* beyond, float* weight, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const bool met = range[i] < kInfinity;
        light[i] += share * reflected[i];
        beyond[i] += met ? share * (range[i] - nearest[i]) : 0.0f;
        weight[i] += met ? share : 0.0f;
    }
}

// Note the label and instance of the first event of each pulse, and whether any other differs.
RESWEEP_CLONES void add_names(const float* range, const std::int32_t* label, const std::int32_t* instance,
                              std::int32_t* first_label, std::int32_t* first_instance, std::int32_t* mixed,
                              std::int32_t* seen, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::int32_t met = range[i] < kInfinity ? -1 : 0, fresh = met & ~seen[i];
        const std::int32_t differs = (label[i] ^ first_label[i]) | (instance[i] ^ first_instance[i]);
        mixed[i] |= differs & met & seen[i];
        first_label[i] = (label[i] & fresh) | (first_label[i] & ~fresh);
        first_instance[i] = (instance[i] & fresh) | (first_instance[i] & ~fresh);
        seen[i] |= met;
    }
}

RESWEEP_CLONES void finish_mean(const float* nearest, const float* beyond, const float* weight, float* mean,
                                std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) mean[i] = nearest[i] + beyond[i] / weight[i];
}

RESWEEP_CLONES void add_noise(double sigma, double sigma_per_m, double quantum, double quanta, const double* draws,
                              const float* range, float* out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        double value = range[i] + (sigma + sigma_per_m * range[i]) * draws[i];
        if (quantum > 0.0) value = std::floor(value * quanta + 0.5) * quantum;
        out[i] = static_cast<float>(std::max(value, 0.0));
    }
}

template <int N> class Worker {
  public:
    explicit Worker(const Job& job)
        : job_(job),
          maker_(job.firing, job.motion, job.start, job.noise, job.random, job.beam.axial()),
          spread_(job.beam, job.random),
          order_(job.beam),
          tracer_(job.scene),
          n_rays_(static_cast<std::size_t>(job.beam.n_rays)),
          noisy_(job.noise.range_sigma > 0.0 || job.noise.range_sigma_per_m > 0.0),
          shares_(job.beam.shares) {
        if (job.beam.random) shares_.assign(n_rays_, 1.0f / static_cast<float>(n_rays_));
        pulses_.resize(job.largest_chunk);
        tally_.resize(job.largest_chunk);
        measured_.resize(job.largest_chunk);
        draws_.assign(job.largest_chunk, 0.0);
        rays_.resize(job.largest_chunk * n_rays_);
        met_.resize(job.largest_chunk * n_rays_);
    }

    void operator()(std::size_t chunk) {
        const auto first = static_cast<std::size_t>(job_.firing.chunk[chunk]);
        const auto last = static_cast<std::size_t>(job_.firing.chunk[chunk + 1]);
        maker_.make(first, last, pulses_);
        spread_.spread(pulses_, rays_);
        trace(order_.of(pulses_.count, pulse_spacing(job_.firing, first, last)));
        tally();
        if (noisy_) normals(job_.random, pulses_.beam.data(), pulses_.count, 0, Purpose::kRangeNoise, draws_.data());
        measure(tally_.mean.data(), draws_.data(), measured_.data(), pulses_.count);
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
        std::fill_n(met_.range.begin(), order.row.size(), kInfinity);
        std::fill_n(met_.reflected.begin(), order.row.size(), 0.0f);
        for (std::size_t first = 0; first < order.row.size(); first += N) {
            const int lanes = static_cast<int>(std::min<std::size_t>(N, order.row.size() - first));
            const std::uint32_t* rows = order.row.data() + first;
            pick(rays_.direction[0].data(), rows, rays.direction_x, lanes);
            pick(rays_.direction[1].data(), rows, rays.direction_y, lanes);
            pick(rays_.direction[2].data(), rows, rays.direction_z, lanes);
            if (!pulses_.one_origin) {
                const std::uint32_t* pulse = order.pulse.data() + first;
                pick(pulses_.origin[0].data(), pulse, rays.origin_x, lanes);
                pick(pulses_.origin[1].data(), pulse, rays.origin_y, lanes);
                pick(pulses_.origin[2].data(), pulse, rays.origin_z, lanes);
            }
            tracer_.trace(lanes, job_.receiver.range_max);
            tracer_.events(lanes, [&](int lane, const Event& event) {
                const std::uint32_t row = rows[lane];
                met_.range[row] = event.range;
                met_.reflected[row] = event.reflected;
                met_.label[row] = event.label;
                met_.instance[row] = event.instance;
            });
        }
    }

    void tally() {
        const std::size_t count = pulses_.count;
        std::fill_n(tally_.nearest.begin(), count, kInfinity);
        for (auto* column : {&tally_.furthest, &tally_.light}) std::fill_n(column->begin(), count, 0.0f);
        for (auto* column : {&tally_.label, &tally_.instance, &tally_.mixed}) std::fill_n(column->begin(), count, 0);
        beyond_.assign(count, 0.0f);
        weight_.assign(count, 0.0f);
        seen_.assign(count, 0);
        for (std::size_t ray = 0; ray < n_rays_; ++ray)
            bound(&met_.range[ray * count], tally_.nearest.data(), tally_.furthest.data(), count);
        for (std::size_t ray = 0; ray < n_rays_; ++ray) {
            const std::size_t row = ray * count;
            add_light(&met_.range[row], &met_.reflected[row], tally_.nearest.data(), shares_[ray], tally_.light.data(),
                      beyond_.data(), weight_.data(), count);
            add_names(&met_.range[row], &met_.label[row], &met_.instance[row], tally_.label.data(),
                      tally_.instance.data(), tally_.mixed.data(), seen_.data(), count);
        }
        finish_mean(tally_.nearest.data(), beyond_.data(), weight_.data(), tally_.mean.data(), count);
    }

    // What the sensor reads for these ranges.
    void measure(const float* ranges, const double* draws, float* out, std::size_t count) const {
        const Noise& noise = job_.noise;
        add_noise(noise.range_sigma, noise.range_sigma_per_m, noise.range_quantum, 1.0 / noise.range_quantum, draws,
                  ranges, out, count);
    }

    // Form the echoes of pulse i, make measurements of them and put them in their places.
    void report(std::size_t i) {
        const Receiver& receiver = job_.receiver;
        const std::uint32_t beam = pulses_.beam[i];
        Echo* places = job_.echoes + std::size_t{beam} * static_cast<std::size_t>(receiver.max_returns);
        Status status = Status::kReturn;
        std::size_t count = 1;
        if (tally_.furthest[i] == 0.0f) {
            empty_.push_back(static_cast<std::uint32_t>(i));
            status = Status::kNothingHit;
            count = 0;
        } else if (2.0f * (tally_.furthest[i] - tally_.nearest[i]) <= receiver.signal_cutoff &&
                   tally_.nearest[i] >= receiver.range_min && receiver.falloff_reference <= 0.0f) {
            if (tally_.light[i] < receiver.threshold) {
                status = Status::kBelowThreshold;
                count = 0;
            } else {
                places[0] = {measured_[i], tally_.light[i], tally_.label[i], tally_.instance[i]};
                if (tally_.mixed[i]) name_brightest(i, places[0]);
            }
        } else {
            status = receive_in_full(i);
            count = echoes_.size();
            std::copy(echoes_.begin(), echoes_.end(), places);
        }
        job_.status[beam] = static_cast<std::uint8_t>(status);
        job_.counts[beam] = static_cast<std::uint8_t>(count);
        if (job_.noise.intensity_sigma > 0.0)
            for (std::uint32_t k = 0; k < count; ++k) {
                const double draw = normal(job_.random.words(beam, k, Purpose::kIntensityNoise)[0]);
                const double intensity = places[k].intensity + job_.noise.intensity_sigma * draw;
                places[k].intensity = static_cast<float>(std::max(0.0, intensity));
            }
    }

    // Give an echo of all of pulse i's light the label and instance that gave most of it.
    void name_brightest(std::size_t i, Echo& echo) const {
        const std::size_t count = pulses_.count;
        float most = -1.0f;
        for (std::size_t ray = 0; ray < n_rays_; ++ray) {
            const std::size_t row = ray * count + i;
            if (met_.range[row] == kInfinity) continue;
            float sum = 0.0f;
            for (std::size_t other = 0; other < n_rays_; ++other) {
                const std::size_t at = other * count + i;
                if (met_.range[at] < kInfinity && met_.label[at] == met_.label[row] &&
                    met_.instance[at] == met_.instance[row])
                    sum += shares_[other] * met_.reflected[at];
            }
            if (sum > most) {
                most = sum;
                echo.label = met_.label[row];
                echo.instance = met_.instance[row];
            }
            if (2.0f * most >= tally_.light[i]) return;  // nothing else can give more
        }
    }

    Status receive_in_full(std::size_t i) {
        events_.clear();
        for (std::size_t ray = 0; ray < n_rays_; ++ray) {
            const std::size_t row = ray * pulses_.count + i;
            if (met_.range[row] < kInfinity)
                events_.push_back(
                    {met_.range[row], shares_[ray], 1.0f, met_.reflected[row], met_.label[row], met_.instance[row]});
        }
        const Status status = receive(job_.receiver, events_, echoes_);
        for (std::uint32_t k = 0; k < echoes_.size(); ++k) {
            double draw = draws_[i];
            if (noisy_ && k > 0) draw = normal(job_.random.words(pulses_.beam[i], k, Purpose::kRangeNoise)[0]);
            const float range = echoes_[k].range;
            measure(&range, &draw, &echoes_[k].range, 1);
        }
        return status;
    }

    // A pulse that met nothing is out of range if its axis meets something beyond.
    void look_beyond() {
        RayPacket<N>& rays = tracer_.rays();
        for (std::size_t first = 0; first < empty_.size(); first += N) {
            const int lanes = static_cast<int>(std::min<std::size_t>(N, empty_.size() - first));
            const std::uint32_t* rows = empty_.data() + first;
            pick(pulses_.d[0].data(), rows, rays.direction_x, lanes);
            pick(pulses_.d[1].data(), rows, rays.direction_y, lanes);
            pick(pulses_.d[2].data(), rows, rays.direction_z, lanes);
            if (!pulses_.one_origin) {
                pick(pulses_.origin[0].data(), rows, rays.origin_x, lanes);
                pick(pulses_.origin[1].data(), rows, rays.origin_y, lanes);
                pick(pulses_.origin[2].data(), rows, rays.origin_z, lanes);
            }
            tracer_.trace_beyond(lanes, job_.receiver.range_max);
            for (int lane = 0; lane < lanes; ++lane)
                if (rays.t_far[lane] < 0.0f)
                    job_.status[pulses_.beam[rows[lane]]] = static_cast<std::uint8_t>(Status::kOutOfRange);
        }
    }

    const Job& job_;
    PulseMaker maker_;
    RaySpread spread_;
    RayOrder order_;
    PacketTracer<N> tracer_;
    PulseBatch pulses_;
    Rays rays_;
    Met met_;
    Tally tally_;
    std::size_t n_rays_;
    bool noisy_;
    std::vector<float> shares_, beyond_, weight_, measured_;
    std::vector<std::int32_t> seen_;
    std::vector<double> draws_;
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

int packet_width(int asked) {
    if (asked > 0) return asked;
    return embree().device_property(embree_device(), kNativeRay16) ? 16 : 8;
}

SweepResult simulate_sweep(const Scene& scene, const Firing& firing, const Motion& motion, double start,
                           const Beam& beam, const Receiver& receiver, const Noise& noise, const Philox& random,
                           const Tracing& tracing) {
    SweepResult result;
    result.status.allocate(firing.n_beams);
    // Kept from sweep to sweep: fresh memory costs a page fault for every four kilobytes.
    thread_local std::vector<std::uint8_t> counts;
    thread_local std::vector<Echo> echoes;
    counts.resize(firing.n_beams);
    echoes.resize(firing.n_beams * static_cast<std::size_t>(receiver.max_returns));
    const Job job{scene,
                  firing,
                  motion,
                  start,
                  beam,
                  receiver,
                  noise,
                  random,
                  largest_chunk(firing),
                  result.status.data.get(),
                  counts.data(),
                  echoes.data()};
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
    PulseMaker maker(firing, motion, start, noise, random, beam.axial());
    const RaySpread spread(beam, random);
    RayOrder ray_order(beam);
    PulseBatch pulses;
    pulses.resize(largest);
    Rays rays;
    rays.resize(largest * n_rays);
    std::size_t out = 0;
    for (std::size_t c = 0; c < firing.n_chunks; ++c) {
        const auto first = static_cast<std::size_t>(firing.chunk[c]),
                   last = static_cast<std::size_t>(firing.chunk[c + 1]);
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

double raw_floor(const Scene& scene, const float* origins, const float* directions, std::size_t n_rays, float range_max,
                 int packet, int threads, int repeats, std::size_t& hits) {
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
