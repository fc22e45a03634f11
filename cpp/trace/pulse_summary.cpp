#include "trace/pulse_summary.hpp"

#include <algorithm>

#include "core/multiversion.hpp"

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#define RESWEEP_FOUR_READINGS
#endif

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

RESWEEP_MULTIVERSION void scale(const float* values, float factor, float* out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out[i] = factor * values[i];
}

// The status of a pulse whose light comes from `nearest` to `farthest`; without branches, so that loops over it are
// loops over vectors.
inline int classify_one(float nearest, float farthest, float light, float cutoff, float range_min, float threshold) {
    const bool together = (2.0f * (farthest - nearest) <= cutoff) & (nearest >= range_min);
    const int detected =
        light < threshold ? static_cast<int>(BeamStatus::kBelowThreshold) : static_cast<int>(BeamStatus::kReturn);
    const int hit = together ? detected : static_cast<int>(PulseSummary::kOpen);
    return farthest == 0.0f ? static_cast<int>(BeamStatus::kNothingHit) : hit;
}

RESWEEP_MULTIVERSION void classify_all(const float* nearest, const float* farthest, const float* light, float cutoff,
                                       float range_min, float threshold, std::size_t count, std::uint8_t* status,
                                       std::uint8_t* returns) {
    for (std::size_t i = 0; i < count; ++i) {
        const int code = classify_one(nearest[i], farthest[i], light[i], cutoff, range_min, threshold);
        status[i] = static_cast<std::uint8_t>(code);
        returns[i] = code == static_cast<int>(BeamStatus::kReturn);
    }
}

// The same of pulses of one ray each.
RESWEEP_MULTIVERSION void classify_single(const float* range, const float* light, float cutoff, float range_min,
                                          float threshold, std::size_t count, std::uint8_t* status,
                                          std::uint8_t* returns) {
    for (std::size_t i = 0; i < count; ++i) {
        const float farthest = range[i] < kInfinity ? range[i] : 0.0f;
        const int code = classify_one(range[i], farthest, light[i], cutoff, range_min, threshold);
        status[i] = static_cast<std::uint8_t>(code);
        returns[i] = code == static_cast<int>(BeamStatus::kReturn);
    }
}

}  // namespace

void PulseSummary::classify(const Receiver& receiver, bool special, std::size_t count, std::uint8_t* status,
                            std::uint8_t* returns) const {
    // Where intensity falls with range, or lasers have errors of their own, no pulse is plain: none is as far.
    const float range_min = special || receiver.falloff_reference > 0.0f ? kInfinity : receiver.range_min;
    const float cutoff = receiver.signal_cutoff, threshold = receiver.threshold;
    if (single_)
        classify_single(mean, light, cutoff, range_min, threshold, count, status, returns);
    else
        classify_all(nearest_.data(), farthest_.data(), light, cutoff, range_min, threshold, count, status, returns);
}

void PulseSummary::write_readings(const std::vector<float>& range, std::size_t count, std::size_t width,
                                  EchoReading* readings) const {
    std::size_t i = 0;
#ifdef RESWEEP_FOUR_READINGS
    static_assert(sizeof(EchoReading) == 16);
    const auto load = [](const std::int32_t* from) {
        return _mm_castsi128_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    };
    for (; i + 4 <= count; i += 4) {
        __m128 row[4] = {_mm_loadu_ps(&range[i]), _mm_loadu_ps(light + i), load(label + i), load(instance + i)};
        _MM_TRANSPOSE4_PS(row[0], row[1], row[2], row[3]);
        for (std::size_t k = 0; k < 4; ++k) _mm_storeu_ps(&readings[(i + k) * width].range, row[k]);
    }
#endif
    for (; i < count; ++i) readings[i * width] = {range[i], light[i], label[i], instance[i]};
}

void PulseSummary::summarise(const RayEvents& events, const std::vector<float>& shares, std::size_t count) {
    single_ = shares.size() == 1;
    light = light_.data();
    if (single_) {
        mean = events.range.data();
        label = events.label.data();
        instance = events.instance.data();
        mixed = nullptr;
        scale(events.reflected.data(), shares[0], light_.data(), count);
        return;
    }
    mean = mean_.data();
    label = label_.data();
    instance = instance_.data();
    mixed = events.one_object ? nullptr : mixed_.data();
    std::fill_n(nearest_.begin(), count, kInfinity);
    for (auto* column : {&farthest_, &light_}) std::fill_n(column->begin(), count, 0.0f);
    for (auto* column : {&label_, &instance_, &mixed_}) std::fill_n(column->begin(), count, 0);
    beyond_.assign(count, 0.0f);
    weight_.assign(count, 0.0f);
    seen_.assign(count, 0);
    for (std::size_t ray = 0; ray < shares.size(); ++ray)
        bound(&events.range[ray * count], nearest_.data(), farthest_.data(), count);
    for (std::size_t ray = 0; ray < shares.size(); ++ray) {
        const std::size_t row = ray * count;
        add_light(&events.range[row], &events.reflected[row], nearest_.data(), shares[ray], light_.data(),
                  beyond_.data(), weight_.data(), count);
        if (!events.one_object)
            add_labels(&events.range[row], &events.label[row], &events.instance[row], label_.data(), instance_.data(),
                       mixed_.data(), seen_.data(), count);
    }
    if (events.one_object) {
        std::fill_n(label_.begin(), count, events.object[0]);
        std::fill_n(instance_.begin(), count, events.object[1]);
    }
    finish_mean(nearest_.data(), beyond_.data(), weight_.data(), mean_.data(), count);
}

}  // namespace resweep
