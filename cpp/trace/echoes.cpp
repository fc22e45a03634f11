#include "trace/echoes.hpp"

#include <algorithm>
#include <cstring>

namespace resweep {

EchoFormer::EchoFormer(const TraceJob& job)
    : job_(job),
      firing_(job.sweep.firing),
      random_(job.sweep.random),
      receiver_(job.plan.receiver),
      noise_(job.plan.noise),
      calibration_(job.plan.calibration),
      special_(calibration_.any()),
      n_rays_(static_cast<std::size_t>(job.plan.beam.n_rays)),
      width_(static_cast<std::size_t>(receiver_.max_returns)),
      shares_(job.plan.beam.shares) {
    if (job.plan.beam.random) shares_.assign(n_rays_, 1.0f / static_cast<float>(n_rays_));
    summary_.resize(job.largest_chunk);
    measured_.resize(job.largest_chunk);
    draws_.assign(job.largest_chunk, 0.0);
    if (noise_.intensity_sigma > 0.0) intensity_draws_.resize(job.largest_chunk);
}

// Most pulses have one echo, of all their light: it is written for all of them, and then replaced where there is more
// to it.
void EchoFormer::form(const PulseBatch& pulses, const RayEvents& hits, std::size_t first) {
    pulses_ = &pulses;
    hits_ = &hits;
    first_ = first;
    const std::size_t count = pulses.count;
    summary_.summarise(hits, shares_, count);
    draw_noise();
    measure_ranges(noise_, draws_.data(), summary_.mean, measured_.data(), count);
    std::uint8_t* const status = job_.status + first;
    summary_.classify(receiver_, special_, count, status, job_.counts + first);
    summary_.write_readings(measured_, count, width_, job_.readings + place(0));
    empty_.clear();
    const bool all_known = !job_.sources && !summary_.mixed;
    for (std::size_t i = 0; i < count;) {
        constexpr std::size_t kAtOnce = sizeof(std::uint64_t);
        std::uint64_t codes = 1;
        if (all_known && i + kAtOnce <= count) std::memcpy(&codes, status + i, kAtOnce);
        if (codes == 0) {  // all of them return, and there is no more to it
            i += kAtOnce;
            continue;
        }
        const std::size_t end = std::min(count, i + kAtOnce);
        for (; i < end; ++i) report_one(i);
    }
    if (noise_.intensity_sigma > 0.0) add_intensity_noise();
}

void EchoFormer::draw_noise() {
    const std::uint32_t* const beams = pulses_->beam.data();
    if (noise_.has_range_noise() || special_)
        normals(random_, beams, pulses_->count, 0, Purpose::kRangeNoise, draws_.data());
    if (noise_.intensity_sigma > 0.0)
        normals(random_, beams, pulses_->count, 0, Purpose::kIntensityNoise, intensity_draws_.data());
}

// What the summary of pulse i leaves to do.
void EchoFormer::report_one(std::size_t i) {
    std::uint8_t& code = job_.status[first_ + i];
    if (code == static_cast<std::uint8_t>(BeamStatus::kReturn)) {
        EchoReading& reading = job_.readings[place(i)];
        if (summary_.mixed && summary_.mixed[i]) label_by_most_light(i, reading);
        if (job_.sources) job_.sources[place(i)] = find_source(i, reading);
    } else if (code == static_cast<std::uint8_t>(BeamStatus::kNothingHit)) {
        empty_.push_back(static_cast<std::uint32_t>(i));
    } else if (code == PulseSummary::kOpen) {
        code = static_cast<std::uint8_t>(special_ ? receive_special(i) : receive_all(i, receiver_));
        job_.counts[first_ + i] = static_cast<std::uint8_t>(echoes_.size());
        std::copy(echoes_.begin(), echoes_.end(), job_.readings + place(i));
        if (job_.sources) std::copy(echoes_.begin(), echoes_.end(), job_.sources + place(i));
    }
}

void EchoFormer::add_intensity_noise() {
    for (std::size_t i = 0; i < pulses_->count; ++i)
        for (std::uint32_t k = 0; k < job_.counts[first_ + i]; ++k) {
            const double draw =
                k == 0 ? intensity_draws_[i] : normal(random_.words(pulses_->beam[i], k, Purpose::kIntensityNoise)[0]);
            EchoReading& echo = job_.readings[place(i) + k];
            echo.intensity = static_cast<float>(std::max(0.0, echo.intensity + noise_.intensity_sigma * draw));
        }
}

// Give an echo of all of pulse i's light the label and instance that gave most of it.
void EchoFormer::label_by_most_light(std::size_t i, EchoReading& echo) const {
    const std::size_t count = pulses_->count;
    const RayEvents& hits = *hits_;
    float most = -1.0f;
    for (std::size_t ray = 0; ray < n_rays_; ++ray) {
        const std::size_t row = ray * count + i;
        if (hits.range[row] == kInfinity) continue;
        float sum = 0.0f;
        for (std::size_t other = 0; other < n_rays_; ++other) {
            const std::size_t at = other * count + i;
            if (hits.range[at] < kInfinity && hits.label[at] == hits.label[row] &&
                hits.instance[at] == hits.instance[row])
                sum += shares_[other] * hits.reflected[at];
        }
        if (sum > most) {
            most = sum;
            echo.label = hits.label[row];
            echo.instance = hits.instance[row];
        }
        if (2.0f * most >= summary_.light[i]) return;  // no other can give more
    }
}

// What is known of the primitive that the first of pulse i's rays with the label and instance of an echo hit.
EchoSource EchoFormer::find_source(std::size_t i, const EchoReading& echo) const {
    const RayEvents& hits = *hits_;
    for (std::size_t row = i; row < n_rays_ * pulses_->count; row += pulses_->count)
        if (hits.range[row] < kInfinity && hits.label[row] == echo.label && hits.instance[row] == echo.instance)
            return {hits.kind[row], hits.seen[row], hits.cosine[row]};
    return {job_.kind()};
}

// As `receive_all`, with errors of single lasers or a detection curve: what is detected is drawn for each pulse.
BeamStatus EchoFormer::receive_special(std::size_t i) {
    Receiver receiver = receiver_;
    if (!calibration_.signal.empty())
        receiver.min_signal = calibration_.min_signal(unit(random_.words(pulses_->beam[i], 0, Purpose::kDetection)[0]));
    const BeamStatus status = receive_all(i, receiver);
    const float gain = calibration_.gain_of(firing_.ring(pulses_->beam[i]));
    for (Echo& echo : echoes_) echo.intensity *= gain;
    return status;
}

// The receiver on all events of pulse i: what the summary does not suffice for.
BeamStatus EchoFormer::receive_all(std::size_t i, const Receiver& receiver) {
    const RayEvents& hits = *hits_;
    events_.clear();
    for (std::size_t ray = 0; ray < n_rays_; ++ray) {
        const std::size_t row = ray * pulses_->count + i;
        if (hits.range[row] < kInfinity)
            events_.push_back({hits.range[row], shares_[ray], hits.cosine[row], hits.reflected[row], hits.label[row],
                               hits.instance[row], hits.kind[row], hits.seen[row]});
    }
    const BeamStatus status = receive(receiver, events_, echoes_);
    for (std::uint32_t k = 0; k < echoes_.size(); ++k) {
        double draw = draws_[i];
        if ((noise_.has_range_noise() || special_) && k > 0)
            draw = normal(random_.words(pulses_->beam[i], k, Purpose::kRangeNoise)[0]);
        float range = echoes_[k].range;
        Noise noise = noise_;
        if (special_) {
            range += calibration_.bias_of(firing_.ring(pulses_->beam[i]));
            noise.range_sigma += calibration_.sigma_at(echoes_[k].cosine);
        }
        measure_ranges(noise, &draw, &range, &echoes_[k].range, 1);
    }
    return status;
}

}  // namespace resweep
