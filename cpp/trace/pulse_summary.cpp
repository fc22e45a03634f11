#include "trace/pulse_summary.hpp"

#include <algorithm>

#include "core/multiversion.hpp"

namespace resweep {
namespace {

RESWEEP_MULTIVERSION void bound(const float* range, float* nearest, float* farthest, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        nearest[i] = std::min(nearest[i], range[i]);
        farthest[i] = std::max(farthest[i], range[i] < kInfinity ? range[i] : 0.0f);
    }
}

// Add one ray of each pulse: its light, and its range beyond the nearest, counted by its share.
RESWEEP_MULTIVERSION void add_light(const float* range, const float* reflected, const float* nearest, float share,
                                    float* light, float* beyond, float* weight, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const bool hit = range[i] < kInfinity;
        light[i] += share * reflected[i];
        beyond[i] += hit ? share * (range[i] - nearest[i]) : 0.0f;
        weight[i] += hit ? share : 0.0f;
    }
}

// Keep the label and instance of the first event of each pulse, and whether those of another event differ.
RESWEEP_MULTIVERSION void add_labels(const float* range, const std::int32_t* label, const std::int32_t* instance,
                                     std::int32_t* first_label, std::int32_t* first_instance, std::int32_t* mixed,
                                     std::int32_t* seen, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::int32_t hit = range[i] < kInfinity ? -1 : 0, first = hit & ~seen[i];
        const std::int32_t differs = (label[i] ^ first_label[i]) | (instance[i] ^ first_instance[i]);
        mixed[i] |= differs & hit & seen[i];
        first_label[i] = (label[i] & first) | (first_label[i] & ~first);
        first_instance[i] = (instance[i] & first) | (first_instance[i] & ~first);
        seen[i] |= hit;
    }
}

RESWEEP_MULTIVERSION void finish_mean(const float* nearest, const float* beyond, const float* weight, float* mean,
                                      std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) mean[i] = nearest[i] + beyond[i] / weight[i];
}

// The summary of pulses of one ray each: what the sums below give, without them.
RESWEEP_MULTIVERSION void summarise_single(const float* range, const float* reflected, float share, float* nearest,
                                           float* farthest, float* mean, float* light, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        nearest[i] = mean[i] = range[i];
        farthest[i] = range[i] < kInfinity ? range[i] : 0.0f;
        light[i] = share * reflected[i];
    }
}

// Without branches, so that it is one loop over vectors.
RESWEEP_MULTIVERSION void classify_all(const float* nearest, const float* farthest, const float* light, float cutoff,
                                       float range_min, float threshold, std::size_t count, std::uint8_t* status) {
    for (std::size_t i = 0; i < count; ++i) {
        const bool together = (2.0f * (farthest[i] - nearest[i]) <= cutoff) & (nearest[i] >= range_min);
        const int bright = light[i] < threshold ? static_cast<int>(BeamStatus::kBelowThreshold)
                                                : static_cast<int>(BeamStatus::kReturn);
        const int hit = together ? bright : static_cast<int>(PulseSummary::kOpen);
        status[i] = static_cast<std::uint8_t>(farthest[i] == 0.0f ? static_cast<int>(BeamStatus::kNothingHit) : hit);
    }
}

}  // namespace

void PulseSummary::classify(const Receiver& receiver, bool special, std::size_t count, std::uint8_t* status) const {
    // Where intensity falls with range, or each laser has a character of its own, no pulse is plain: none is as far.
    const float range_min = special || receiver.falloff_reference > 0.0f ? kInfinity : receiver.range_min;
    classify_all(nearest.data(), farthest.data(), light.data(), receiver.signal_cutoff, range_min, receiver.threshold,
                 count, status);
}

void PulseSummary::write_readings(const std::vector<float>& range, std::size_t count, std::size_t width,
                                  EchoReading* readings) const {
    const float *ranges = range.data(), *lights = light.data();
    const std::int32_t *labels = label.data(), *instances = instance.data();
    for (std::size_t i = 0; i < count; ++i) readings[i * width] = {ranges[i], lights[i], labels[i], instances[i]};
}

void PulseSummary::summarise(const RayEvents& events, const std::vector<float>& shares, std::size_t count) {
    if (shares.size() == 1) {
        summarise_single(events.range.data(), events.reflected.data(), shares[0], nearest.data(), farthest.data(),
                         mean.data(), light.data(), count);
        std::copy_n(events.label.begin(), count, label.begin());
        std::copy_n(events.instance.begin(), count, instance.begin());
        std::fill_n(mixed.begin(), count, 0);
        return;
    }
    std::fill_n(nearest.begin(), count, kInfinity);
    for (auto* column : {&farthest, &light}) std::fill_n(column->begin(), count, 0.0f);
    for (auto* column : {&label, &instance, &mixed}) std::fill_n(column->begin(), count, 0);
    beyond_.assign(count, 0.0f);
    weight_.assign(count, 0.0f);
    seen_.assign(count, 0);
    for (std::size_t ray = 0; ray < shares.size(); ++ray)
        bound(&events.range[ray * count], nearest.data(), farthest.data(), count);
    for (std::size_t ray = 0; ray < shares.size(); ++ray) {
        const std::size_t row = ray * count;
        add_light(&events.range[row], &events.reflected[row], nearest.data(), shares[ray], light.data(), beyond_.data(),
                  weight_.data(), count);
        if (!events.one_object)
            add_labels(&events.range[row], &events.label[row], &events.instance[row], label.data(), instance.data(),
                       mixed.data(), seen_.data(), count);
    }
    if (events.one_object) {
        std::fill_n(label.begin(), count, events.object[0]);
        std::fill_n(instance.begin(), count, events.object[1]);
    }
    finish_mean(nearest.data(), beyond_.data(), weight_.data(), mean.data(), count);
}

}  // namespace resweep
