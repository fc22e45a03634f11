// One thread's work on a sweep: traces chunks of pulses in packets of N rays, and forms their echoes.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "trace/echoes.hpp"
#include "trace/gather.hpp"
#include "trace/job.hpp"
#include "trace/packet_tracer.hpp"

namespace resweep {

template <int N> class ChunkTracer {
  public:
    ChunkTracer(const TraceJob& job, Gatherer& gatherer)
        : job_(job),
          gatherer_(gatherer),
          firing_(job.sweep.firing),
          random_(job.sweep.random),
          beam_(job.plan.beam),
          receiver_(job.plan.receiver),
          special_(job.plan.calibration.any()),
          maker_(job.sweep, job.plan.noise, beam_.axial()),
          spread_(beam_, random_),
          order_(beam_),
          tracer_(job.scene, job.actors),
          echoes_(job),
          n_rays_(static_cast<std::size_t>(beam_.n_rays)),
          plain_(job.scene.plain() && !job.record && !special_ && (!job.actors || job.actors->empty())) {
        pulses_.resize(job.largest_chunk);
        if (!beam_.axial()) rays_.resize(job.largest_chunk * n_rays_);
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
        if (!beam_.axial()) spread_.spread(pulses_, rays_);
        if (!keys_.empty())
            for (std::size_t i = 0; i < pulses_.count; ++i) keys_[i] = volume_key(pulses_.beam[i]);
        if (!times_.empty())
            for (std::size_t i = 0; i < pulses_.count; ++i)
                times_[i] = job_.actors->ray_time(job_.sweep.start + firing_.time[first + i]);
        // The order of single rays and of drawn ones does not depend on it.
        const double spacing = n_rays_ > 1 && !beam_.random ? pulse_spacing(firing_, first, last) : 0.0;
        trace(order_.of(pulses_.count, spacing));
        echoes_.form(pulses_, hits_, first_);
        if (job_.beyond) look_beyond();
        if (job_.record)
            for (std::size_t i = 0; i < pulses_.count; ++i) observe(i, *job_.record);
        gatherer_.finish(chunk);
    }

  private:
    // The random bits that a beam draws with in volumes.
    std::uint64_t volume_key(std::uint32_t beam) const {
        const auto words = random_.words(beam, 0, Purpose::kVolumes);
        return std::uint64_t{words[1]} << 32 | words[0];
    }

    // Trace all rays of the chunk into `hits_`.
    void trace(const RayOrder::Order& order) {
        RayPacket<N>& rays = tracer_.rays();
        const auto& directions = beam_.axial() ? pulses_.d : rays_.direction;
        if (pulses_.one_origin) {
            std::fill_n(rays.origin_x, N, pulses_.origin[0][0]);
            std::fill_n(rays.origin_y, N, pulses_.origin[1][0]);
            std::fill_n(rays.origin_z, N, pulses_.origin[2][0]);
        }
        if (tracer_.has_actors()) narrow_actors(directions, order.row.size());
        std::fill_n(hits_.range.begin(), order.row.size(), kInfinity);
        std::fill_n(hits_.reflected.begin(), order.row.size(), 0.0f);
        hits_.one_object = plain_;
        known_object_ = false;
        for (std::size_t first = 0; first < order.row.size(); first += N) {
            const int lanes = static_cast<int>(std::min<std::size_t>(N, order.row.size() - first));
            const std::uint32_t* rows = order.row.data() + first;
            take(directions, rows, rays.direction_x, rays.direction_y, rays.direction_z, lanes, n_rays_ == 1);
            set_pulses(order.pulse.data() + first, lanes, n_rays_ == 1);
            tracer_.trace(lanes, receiver_.range_max);
            plain_ ? keep_plain_hits(rows, lanes) : keep_hits(rows, lanes);
        }
    }

    // Leave out the actors that no ray of the chunk can hit, neither the first `count` nor the axes of pulses.
    void narrow_actors(const std::vector<float> (&directions)[3], std::size_t count) {
        const std::size_t middle = pulses_.count / 2;
        const float axis[3] = {pulses_.d[0][middle], pulses_.d[1][middle], pulses_.d[2][middle]};
        const float origin[3] = {pulses_.origin[0][0], pulses_.origin[1][0], pulses_.origin[2][0]};
        float turn = farthest(directions, count, axis);
        if (!beam_.axial()) turn = std::max(turn, farthest(pulses_.d, pulses_.count, axis));
        tracer_.narrow_actors(origin, farthest(pulses_.origin, pulses_.one_origin ? 1 : pulses_.count, origin), axis,
                              turn);
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
            if (n_rays_ == 1) return;
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

    // Follow the axis of pulse i through the space that was observed: up to its returns, or else as far as it could
    // have returned, and recorded beams looked.
    void observe(std::size_t i, const Record& record) {
        const std::size_t from = pulses_.one_origin ? 0 : i;
        const float origin[3] = {pulses_.origin[0][from], pulses_.origin[1][from], pulses_.origin[2][from]};
        const float direction[3] = {pulses_.d[0][i], pulses_.d[1][i], pulses_.d[2][i]};
        const std::size_t begin = echoes_.place(i);
        for (std::size_t k = begin; k < begin + job_.counts[first_ + i]; ++k)
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

    // A pulse that hit nothing is out of range if there is something farther along its axis.
    void look_beyond() {
        RayPacket<N>& rays = tracer_.rays();
        const std::vector<std::uint32_t>& empty = echoes_.empty();
        for (std::size_t first = 0; first < empty.size(); first += N) {
            const int lanes = static_cast<int>(std::min<std::size_t>(N, empty.size() - first));
            const std::uint32_t* rows = empty.data() + first;
            select(pulses_.d, rows, rays.direction_x, rays.direction_y, rays.direction_z, lanes);
            set_pulses(rows, lanes, false);
            tracer_.trace_beyond(lanes, receiver_.range_max);
            for (int lane = 0; lane < lanes; ++lane)
                if (rays.t_far[lane] < 0.0f)
                    job_.status[first_ + rows[lane]] = static_cast<std::uint8_t>(BeamStatus::kOutOfRange);
        }
    }

    const TraceJob& job_;
    Gatherer& gatherer_;
    const Firing& firing_;
    const Philox& random_;
    const Beam& beam_;
    const Receiver& receiver_;
    bool special_;  // whether there is a sensor calibration, which needs the incidence of hits
    PulseMaker maker_;
    RaySpread spread_;
    RayOrder order_;
    PacketTracer<N> tracer_;
    PulseBatch pulses_;
    Rays rays_;
    RayEvents hits_;
    EchoFormer echoes_;
    std::size_t n_rays_, first_ = 0;   // `first_`: the first row of the chunk
    bool plain_;                       // faces decide all of a hit
    bool known_object_ = false;        // a ray of the chunk has hit something
    std::vector<std::uint64_t> keys_;  // random bits of each pulse, for volumes
    std::vector<float> times_;         // ray time of each pulse, for actors
    std::optional<ObservedSpace::Reader> reader_;
};

}  // namespace resweep
