#include "trace/trace.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trace/beam.hpp"
#include "trace/packet_tracer.hpp"
#include "core/parallel.hpp"
#include "trace/pulse_summary.hpp"

namespace resweep {
namespace {

// Everything one sweep is made from, and where its results go.
struct Job {
    const Scene& scene;
    const Stage* stage;
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

    // Whether all that can be met is of one kind, and which.
    bool one_kind() const {
        return scene.one_kind() && (!stage || stage->empty() || (stage->one_kind() && stage->kind() == scene.kind()));
    }
    Kind kind() const { return scene.kind(); }
};

template <int N> class Worker {
  public:
    explicit Worker(const Job& job)
        : job_(job),
          maker_(job.firing, job.motion, job.start, job.noise, job.random, job.beam.axial()),
          spread_(job.beam, job.random),
          order_(job.beam),
          tracer_(job.scene, job.stage),
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
        std::fill(met_.kind.begin(), met_.kind.end(), job.kind());
        keys_.resize(job.scene.draws() ? job.largest_chunk : 0);
        times_.resize(job.stage ? job.largest_chunk : 0);
        if (n_rays_ == 1) tracer_.set_slope(std::sqrt(job.beam.divergence_h * job.beam.divergence_v));
    }

    void operator()(std::size_t chunk) {
        const auto first = static_cast<std::size_t>(job_.firing.chunk[chunk]);
        const auto last = static_cast<std::size_t>(job_.firing.chunk[chunk + 1]);
        maker_.make(first, last, pulses_);
        spread_.spread(pulses_, rays_);
        if (!keys_.empty())
            for (std::size_t i = 0; i < pulses_.count; ++i) {
                const auto words = job_.random.words(pulses_.beam[i], 0, Purpose::kVolumes);
                keys_[i] = std::uint64_t{words[1]} << 32 | words[0];
            }
        if (!times_.empty())
            for (std::size_t i = 0; i < pulses_.count; ++i)
                times_[i] = job_.stage->time(job_.start + job_.firing.time[first + i]);
        trace(order_.of(pulses_.count, pulse_spacing(job_.firing, first, last)));
        tally_.gather(met_, shares_, pulses_.count);
        if (noisy_) normals(job_.random, pulses_.beam.data(), pulses_.count, 0, Purpose::kRangeNoise, draws_.data());
        read(tally_.mean.data(), draws_.data(), measured_.data(), pulses_.count);
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
            if (!keys_.empty())
                for (int lane = 0; lane < lanes; ++lane) tracer_.keys()[lane] = keys_[order.pulse[first + lane]];
            if (!times_.empty()) pick(times_.data(), order.pulse.data() + first, rays.time, lanes);
            tracer_.trace(lanes, job_.receiver.range_max);
            const bool mixed = !job_.one_kind();
            tracer_.events(lanes, [&](int lane, const Event& event) {
                const std::uint32_t row = rows[lane];
                if (mixed) met_.kind[row] = event.kind;
                met_.range[row] = std::min(event.range, job_.receiver.range_max);
                met_.reflected[row] = event.reflected;
                met_.label[row] = event.label;
                met_.instance[row] = event.instance;
            });
        }
    }

    // What the sensor reads for these ranges.
    void read(const float* ranges, const double* draws, float* out, std::size_t count) const {
        measure(job_.noise.range_sigma, job_.noise.range_sigma_per_m, job_.noise.range_quantum, draws, ranges, out,
                count);
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
                places[0] = {measured_[i], tally_.light[i], tally_.label[i], tally_.instance[i], job_.kind()};
                if (tally_.mixed[i]) name_brightest(i, places[0]);
                if (!job_.one_kind()) places[0].kind = kind_of(i, places[0]);
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

    // The kind of primitive that the first of pulse i's rays with the echo's label and instance met.
    Kind kind_of(std::size_t i, const Echo& echo) const {
        for (std::size_t row = i; row < n_rays_ * pulses_.count; row += pulses_.count)
            if (met_.range[row] < kInfinity && met_.label[row] == echo.label && met_.instance[row] == echo.instance)
                return met_.kind[row];
        return job_.kind();
    }

    Status receive_in_full(std::size_t i) {
        events_.clear();
        for (std::size_t ray = 0; ray < n_rays_; ++ray) {
            const std::size_t row = ray * pulses_.count + i;
            if (met_.range[row] < kInfinity)
                events_.push_back({met_.range[row], shares_[ray], 1.0f, met_.reflected[row], met_.label[row],
                                   met_.instance[row], met_.kind[row]});
        }
        const Status status = receive(job_.receiver, events_, echoes_);
        for (std::uint32_t k = 0; k < echoes_.size(); ++k) {
            double draw = draws_[i];
            if (noisy_ && k > 0) draw = normal(job_.random.words(pulses_.beam[i], k, Purpose::kRangeNoise)[0]);
            const float range = echoes_[k].range;
            read(&range, &draw, &echoes_[k].range, 1);
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
            if (!keys_.empty())
                for (int lane = 0; lane < lanes; ++lane) tracer_.keys()[lane] = keys_[rows[lane]];
            if (!times_.empty()) pick(times_.data(), rows, rays.time, lanes);
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
    std::vector<float> shares_, measured_;
    std::vector<double> draws_;
    std::vector<std::uint32_t> empty_;
    std::vector<std::uint64_t> keys_;  // random bits of each pulse, for volumes
    std::vector<float> times_;         // of each pulse within the sweep, for actors
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
    result.kind.allocate(total);
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
                    result.kind.data[row] = static_cast<std::uint8_t>(echo.kind);
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

}  // namespace

int packet_width(int asked) {
    if (asked > 0) return asked;
    return embree().device_property(embree_device(), kNativeRay16) ? 16 : 8;
}

SweepResult simulate_sweep(const Scene& scene, const Stage* stage, const Firing& firing, const Motion& motion,
                           double start, const Beam& beam, const Receiver& receiver, const Noise& noise,
                           const Philox& random, const Tracing& tracing) {
    SweepResult result;
    result.status.allocate(firing.n_beams);
    // Kept from sweep to sweep: fresh memory costs a page fault for every four kilobytes.
    thread_local std::vector<std::uint8_t> counts;
    thread_local std::vector<Echo> echoes;
    counts.resize(firing.n_beams);
    echoes.resize(firing.n_beams * static_cast<std::size_t>(receiver.max_returns));
    if (firing.n_pulses() < firing.n_beams) {
        std::fill(counts.begin(), counts.end(), std::uint8_t{0});
        std::fill_n(result.status.data.get(), firing.n_beams, static_cast<std::uint8_t>(Status::kDropped));
    }
    const Job job{scene,
                  stage,
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
    origins.resize(3 * firing.n_pulses() * n_rays);
    directions.resize(3 * firing.n_pulses() * n_rays);
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

}  // namespace resweep
