// One thread's work on a sweep: traces chunks of pulses in packets of N rays, and forms their echoes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <vector>

#include "trace/packet_tracer.hpp"
#include "trace/pulse_summary.hpp"
#include "trace/trace.hpp"

namespace resweep {

// Everything that the threads share: what is traced, and where results go.
struct TraceJob {
    const Scene& scene;
    const ActorScene* actors;
    const Plan& plan;
    const FiredSweep& sweep;
    std::size_t largest_chunk;
    // By row of the firing: a thread writes what lies together, and no other writes there.
    std::uint8_t* status;
    std::uint8_t* counts;                // of returns
    EchoReading* readings;               // `max_returns` for each row
    EchoSource* sources;                 // the same; null where `kind` says all
    std::atomic<std::uint32_t>* blocks;  // returns of each block of `kBlock` beams
    const Record* record;                // may be null

    static constexpr std::size_t kBlock = 8192;

    // Whether all that a ray can hit is of one kind, and which.
    bool one_kind() const {
        return scene.one_kind() &&
               (!actors || actors->empty() || (actors->one_kind() && actors->kind() == scene.kind()));
    }
    PrimitiveKind kind() const { return scene.kind(); }
    bool needs_sources() const { return record || !one_kind(); }
};

template <int N> class ChunkTracer {
  public:
    explicit ChunkTracer(const TraceJob& job)
        : job_(job),
          firing_(job.sweep.firing),
          random_(job.sweep.random),
          beam_(job.plan.beam),
          receiver_(job.plan.receiver),
          noise_(job.plan.noise),
          character_(job.plan.character),
          special_(character_.any()),
          maker_(job.sweep, noise_, beam_.axial()),
          spread_(beam_, random_),
          order_(beam_),
          tracer_(job.scene, job.actors),
          n_rays_(static_cast<std::size_t>(beam_.n_rays)),
          plain_(job.scene.plain() && !job.record && !special_ && (!job.actors || job.actors->empty())),
          shares_(beam_.shares) {
        if (beam_.random) shares_.assign(n_rays_, 1.0f / static_cast<float>(n_rays_));
        pulses_.resize(job.largest_chunk);
        summary_.resize(job.largest_chunk);
        measured_.resize(job.largest_chunk);
        draws_.assign(job.largest_chunk, 0.0);
        if (noise_.intensity_sigma > 0.0) intensity_draws_.resize(job.largest_chunk);
        rays_.resize(job.largest_chunk * n_rays_);
        hits_.resize(job.largest_chunk * n_rays_);
        std::fill(hits_.kind.begin(), hits_.kind.end(), job.kind());
        keys_.resize(job.scene.draws() ? job.largest_chunk : 0);
        times_.resize(job.actors ? job.largest_chunk : 0);
        if (job.record) reader_.emplace(job.record->space);
        if (n_rays_ == 1) tracer_.set_slope(std::sqrt(beam_.divergence_h * beam_.divergence_v));
    }

    void operator()(std::size_t chunk) {
        const std::size_t first = firing_.begin(chunk), last = firing_.end(chunk);
        if (first == last) return;
        first_ = firing_.first_row(chunk);
        maker_.make(first, last, pulses_);
        spread_.spread(pulses_, rays_);
        if (!keys_.empty())
            for (std::size_t i = 0; i < pulses_.count; ++i) {
                const auto words = random_.words(pulses_.beam[i], 0, Purpose::kVolumes);
                keys_[i] = std::uint64_t{words[1]} << 32 | words[0];
            }
        if (!times_.empty())
            for (std::size_t i = 0; i < pulses_.count; ++i)
                times_[i] = job_.actors->ray_time(job_.sweep.start + firing_.time[first + i]);
        trace(order_.of(pulses_.count, pulse_spacing(firing_, first, last)));
        summary_.summarise(hits_, shares_, pulses_.count);
        if (noise_.has_range_noise() || special_)
            normals(random_, pulses_.beam.data(), pulses_.count, 0, Purpose::kRangeNoise, draws_.data());
        measure_ranges(noise_, draws_.data(), summary_.mean.data(), measured_.data(), pulses_.count);
        if (noise_.intensity_sigma > 0.0)
            normals(random_, pulses_.beam.data(), pulses_.count, 0, Purpose::kIntensityNoise, intensity_draws_.data());
        report();
        look_beyond();
        if (job_.record)
            for (std::size_t i = 0; i < pulses_.count; ++i) observe(i, *job_.record);
        count_returns();
    }

  private:
    // Trace all rays of the chunk into `hits_`.
    void trace(const RayOrder::Order& order) {
        RayPacket<N>& rays = tracer_.rays();
        if (pulses_.one_origin) {
            std::fill_n(rays.origin_x, N, pulses_.origin[0][0]);
            std::fill_n(rays.origin_y, N, pulses_.origin[1][0]);
            std::fill_n(rays.origin_z, N, pulses_.origin[2][0]);
        }
        std::fill_n(hits_.range.begin(), order.row.size(), kInfinity);
        std::fill_n(hits_.reflected.begin(), order.row.size(), 0.0f);
        hits_.one_object = plain_;
        known_object_ = false;
        for (std::size_t first = 0; first < order.row.size(); first += N) {
            const int lanes = static_cast<int>(std::min<std::size_t>(N, order.row.size() - first));
            const std::uint32_t* rows = order.row.data() + first;
            take(rays_.direction, rows, rays.direction_x, rays.direction_y, rays.direction_z, lanes, n_rays_ == 1);
            set_pulses(order.pulse.data() + first, lanes, n_rays_ == 1);
            tracer_.trace(lanes, receiver_.range_max);
            plain_ ? keep_plain_hits(rows, lanes) : keep_hits(rows, lanes);
        }
    }

    // Write the hits of a packet into `hits_`.
    void keep_hits(const std::uint32_t* rows, int lanes) {
        const bool mixed = !job_.one_kind(), recorded = job_.record != nullptr || special_;
        tracer_.events(lanes, [&](int lane, const Event& event) {
            const std::uint32_t row = rows[lane];
            if (mixed) hits_.kind[row] = event.kind;
            hits_.range[row] = std::min(event.range, receiver_.range_max);
            hits_.reflected[row] = event.reflected;
            hits_.label[row] = event.label;
            hits_.instance[row] = event.instance;
            if (recorded) {
                hits_.seen[row] = event.seen;
                hits_.cosine[row] = event.cosine;
            }
        });
    }

    // The same in a plain scene, as `face_event` has it, with fewer steps between.
    void keep_plain_hits(const std::uint32_t* rows, int lanes) {
        float *const range = hits_.range.data(), *const reflected = hits_.reflected.data();
        std::int32_t *const label = hits_.label.data(), *const instance = hits_.instance.data();
        const float range_max = receiver_.range_max;
        tracer_.plain_hits(lanes, [&](int lane, float distance, float cosine, const Face& face) {
            const std::uint32_t row = rows[lane];
            range[row] = std::min(distance, range_max);
            reflected[row] = face.reflectance * (cosine >= 0.0f ? cosine : 0.0f);
            label[row] = face.label;
            instance[row] = face.instance;
            if (!known_object_) {
                known_object_ = true;
                hits_.object = {face.label, face.instance};
            }
            hits_.one_object &= face.label == hits_.object[0] && face.instance == hits_.object[1];
        });
    }

    // (x, y, z)[i] = values[rows[i]]. Where pulses have one ray each, rows follow `in_order` upon each other.
    static void take(const std::vector<float> (&values)[3], const std::uint32_t* rows, float* x, float* y, float* z,
                     int lanes, bool in_order) {
        if (!in_order || lanes < N) return select(values, rows, x, y, z, lanes);
        std::copy_n(values[0].data() + rows[0], N, x);
        std::copy_n(values[1].data() + rows[0], N, y);
        std::copy_n(values[2].data() + rows[0], N, z);
    }

    // Set what the rays of a packet have from their pulses, which may follow `in_order` upon each other: origins,
    // random bits and times.
    void set_pulses(const std::uint32_t* pulse, int lanes, bool in_order) {
        RayPacket<N>& rays = tracer_.rays();
        if (!pulses_.one_origin)
            take(pulses_.origin, pulse, rays.origin_x, rays.origin_y, rays.origin_z, lanes, in_order);
        if (!keys_.empty())
            for (int lane = 0; lane < lanes; ++lane) tracer_.keys()[lane] = keys_[pulse[lane]];
        if (!times_.empty()) select(times_.data(), pulse, rays.time, lanes);
    }

    // Where the first echo of pulse i is kept.
    std::size_t place(std::size_t i) const { return (first_ + i) * static_cast<std::size_t>(receiver_.max_returns); }

    // Form the echoes of all pulses of the chunk, and measure them. Most pulses have one, of all their light: it is
    // written for all of them, and then replaced where there is more to it.
    void report() {
        const std::size_t count = pulses_.count, width = static_cast<std::size_t>(receiver_.max_returns);
        std::uint8_t *status = job_.status + first_, *counts = job_.counts + first_;
        summary_.classify(receiver_, special_, count, status);
        summary_.write_readings(measured_, count, width, job_.readings + place(0));
        empty_.clear();
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint8_t code = status[i];
            counts[i] = code == static_cast<std::uint8_t>(BeamStatus::kReturn);
            if (counts[i]) {
                EchoReading& reading = job_.readings[place(i)];
                if (summary_.mixed[i]) label_by_most_light(i, reading);
                if (job_.sources) job_.sources[place(i)] = find_source(i, reading);
            } else if (code == static_cast<std::uint8_t>(BeamStatus::kNothingHit)) {
                empty_.push_back(static_cast<std::uint32_t>(i));
            } else if (code == PulseSummary::kOpen) {
                status[i] = static_cast<std::uint8_t>(special_ ? receive_special(i) : receive_all(i, receiver_));
                counts[i] = static_cast<std::uint8_t>(echoes_.size());
                std::copy(echoes_.begin(), echoes_.end(), job_.readings + place(i));
                if (job_.sources) std::copy(echoes_.begin(), echoes_.end(), job_.sources + place(i));
            }
        }
        if (noise_.intensity_sigma > 0.0) add_intensity_noise();
    }

    void add_intensity_noise() {
        for (std::size_t i = 0; i < pulses_.count; ++i)
            for (std::uint32_t k = 0; k < job_.counts[first_ + i]; ++k) {
                const double draw = k == 0 ? intensity_draws_[i]
                                           : normal(random_.words(pulses_.beam[i], k, Purpose::kIntensityNoise)[0]);
                EchoReading& echo = job_.readings[place(i) + k];
                echo.intensity = static_cast<float>(std::max(0.0, echo.intensity + noise_.intensity_sigma * draw));
            }
    }

    // Add the returns of the chunk to those of their blocks of beams.
    void count_returns() const {
        std::size_t block = 0;
        std::uint32_t sum = 0;
        for (std::size_t i = 0; i < pulses_.count; ++i) {
            const std::size_t own = pulses_.beam[i] / TraceJob::kBlock;
            if (own != block) {
                if (sum) job_.blocks[block].fetch_add(sum, std::memory_order_relaxed);
                block = own;
                sum = 0;
            }
            sum += job_.counts[first_ + i];
        }
        if (sum) job_.blocks[block].fetch_add(sum, std::memory_order_relaxed);
    }

    // Give an echo of all of pulse i's light the label and instance that gave most of it.
    void label_by_most_light(std::size_t i, EchoReading& echo) const {
        const std::size_t count = pulses_.count;
        float most = -1.0f;
        for (std::size_t ray = 0; ray < n_rays_; ++ray) {
            const std::size_t row = ray * count + i;
            if (hits_.range[row] == kInfinity) continue;
            float sum = 0.0f;
            for (std::size_t other = 0; other < n_rays_; ++other) {
                const std::size_t at = other * count + i;
                if (hits_.range[at] < kInfinity && hits_.label[at] == hits_.label[row] &&
                    hits_.instance[at] == hits_.instance[row])
                    sum += shares_[other] * hits_.reflected[at];
            }
            if (sum > most) {
                most = sum;
                echo.label = hits_.label[row];
                echo.instance = hits_.instance[row];
            }
            if (2.0f * most >= summary_.light[i]) return;  // no other can give more
        }
    }

    // What is known of the primitive that the first of pulse i's rays with the label and instance of an echo hit.
    EchoSource find_source(std::size_t i, const EchoReading& echo) const {
        for (std::size_t row = i; row < n_rays_ * pulses_.count; row += pulses_.count)
            if (hits_.range[row] < kInfinity && hits_.label[row] == echo.label && hits_.instance[row] == echo.instance)
                return {hits_.kind[row], hits_.seen[row], hits_.cosine[row]};
        return {job_.kind()};
    }

    // Follow the axis of pulse i through the space that was observed: up to its returns, or else as far as it could
    // have returned, and recorded beams looked.
    void observe(std::size_t i, const Record& record) {
        const std::size_t from = pulses_.one_origin ? 0 : i;
        const float origin[3] = {pulses_.origin[0][from], pulses_.origin[1][from], pulses_.origin[2][from]};
        const float direction[3] = {pulses_.d[0][i], pulses_.d[1][i], pulses_.d[2][i]};
        for (std::size_t k = place(i); k < place(i) + job_.counts[first_ + i]; ++k)
            job_.sources[k].unknown = record.space.sample(origin, direction, job_.readings[k].range, *reader_);
        std::uint8_t& code = job_.status[first_ + i];
        const auto status = static_cast<BeamStatus>(code);
        if (status != BeamStatus::kNothingHit && status != BeamStatus::kOutOfRange) return;
        const float range = std::min(receiver_.range_max, record.reach);
        if (!record.space.stays_observed(origin, direction, range, record.gap, *reader_) &&
            record.space.follow(origin, direction, range, record.gap, true, *reader_).left < range)
            code = static_cast<std::uint8_t>(BeamStatus::kUnknown);
        else if (status == BeamStatus::kNothingHit)
            code = static_cast<std::uint8_t>(BeamStatus::kEmptyAsRecorded);
    }

    // As `receive_all`, by a sensor with a character of its own: what is detected is drawn for each pulse.
    BeamStatus receive_special(std::size_t i) {
        Receiver receiver = receiver_;
        if (!character_.signal.empty())
            receiver.least_signal =
                character_.least_signal(unit(random_.words(pulses_.beam[i], 0, Purpose::kDetection)[0]));
        const BeamStatus status = receive_all(i, receiver);
        const float gain = character_.gain_of(firing_.ring(pulses_.beam[i]));
        for (Echo& echo : echoes_) echo.intensity *= gain;
        return status;
    }

    // The receiver on all events of pulse i: what the summary does not suffice for.
    BeamStatus receive_all(std::size_t i, const Receiver& receiver) {
        events_.clear();
        for (std::size_t ray = 0; ray < n_rays_; ++ray) {
            const std::size_t row = ray * pulses_.count + i;
            if (hits_.range[row] < kInfinity)
                events_.push_back({hits_.range[row], shares_[ray], hits_.cosine[row], hits_.reflected[row],
                                   hits_.label[row], hits_.instance[row], hits_.kind[row], hits_.seen[row]});
        }
        const BeamStatus status = receive(receiver, events_, echoes_);
        for (std::uint32_t k = 0; k < echoes_.size(); ++k) {
            double draw = draws_[i];
            if ((noise_.has_range_noise() || special_) && k > 0)
                draw = normal(random_.words(pulses_.beam[i], k, Purpose::kRangeNoise)[0]);
            float range = echoes_[k].range;
            Noise noise = noise_;
            if (special_) {
                range += character_.bias_of(firing_.ring(pulses_.beam[i]));
                noise.range_sigma += character_.sigma_at(echoes_[k].cosine);
            }
            measure_ranges(noise, &draw, &range, &echoes_[k].range, 1);
        }
        return status;
    }

    // A pulse that hit nothing is out of range if there is something farther along its axis.
    void look_beyond() {
        RayPacket<N>& rays = tracer_.rays();
        for (std::size_t first = 0; first < empty_.size(); first += N) {
            const int lanes = static_cast<int>(std::min<std::size_t>(N, empty_.size() - first));
            const std::uint32_t* rows = empty_.data() + first;
            select(pulses_.d, rows, rays.direction_x, rays.direction_y, rays.direction_z, lanes);
            set_pulses(rows, lanes, false);
            tracer_.trace_beyond(lanes, receiver_.range_max);
            for (int lane = 0; lane < lanes; ++lane)
                if (rays.t_far[lane] < 0.0f)
                    job_.status[first_ + rows[lane]] = static_cast<std::uint8_t>(BeamStatus::kOutOfRange);
        }
    }

    const TraceJob& job_;
    const Firing& firing_;
    const Philox& random_;
    const Beam& beam_;
    const Receiver& receiver_;
    const Noise& noise_;
    const Character& character_;
    bool special_;  // whether the sensor has a character: no pulse then takes the short way
    PulseMaker maker_;
    RaySpread spread_;
    RayOrder order_;
    PacketTracer<N> tracer_;
    PulseBatch pulses_;
    Rays rays_;
    RayEvents hits_;
    PulseSummary summary_;
    std::size_t n_rays_, first_ = 0;  // `first_`: the first row of the chunk
    bool plain_;                      // faces say all of hits
    bool known_object_ = false;       // a ray of the chunk has hit something
    std::vector<float> shares_, measured_;
    std::vector<double> draws_, intensity_draws_;
    std::vector<std::uint32_t> empty_;  // pulses of the chunk that hit nothing
    std::vector<std::uint64_t> keys_;   // random bits of each pulse, for volumes
    std::vector<float> times_;          // ray time of each pulse, for actors
    std::optional<ObservedSpace::Reader> reader_;
    std::vector<Event> events_;
    std::vector<Echo> echoes_;
};

}  // namespace resweep
