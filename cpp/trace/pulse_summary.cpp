#include "trace/pulse_summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/multiversion.hpp"

namespace resweep {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

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

}  // namespace

void Tally::gather(const Met& met, const std::vector<float>& shares, std::size_t count) {
    std::fill_n(nearest.begin(), count, kInfinity);
    for (auto* column : {&furthest, &light}) std::fill_n(column->begin(), count, 0.0f);
    for (auto* column : {&label, &instance, &mixed}) std::fill_n(column->begin(), count, 0);
    beyond_.assign(count, 0.0f);
    weight_.assign(count, 0.0f);
    seen_.assign(count, 0);
    for (std::size_t ray = 0; ray < shares.size(); ++ray)
        bound(&met.range[ray * count], nearest.data(), furthest.data(), count);
    for (std::size_t ray = 0; ray < shares.size(); ++ray) {
        const std::size_t row = ray * count;
        add_light(&met.range[row], &met.reflected[row], nearest.data(), shares[ray], light.data(), beyond_.data(),
                  weight_.data(), count);
        add_names(&met.range[row], &met.label[row], &met.instance[row], label.data(), instance.data(), mixed.data(),
                  seen_.data(), count);
    }
    finish_mean(nearest.data(), beyond_.data(), weight_.data(), mean.data(), count);
}

void measure(double sigma, double sigma_per_m, double quantum, const double* draws, const float* range, float* out,
             std::size_t count) {
    add_noise(sigma, sigma_per_m, quantum, 1.0 / quantum, draws, range, out, count);
}

}  // namespace resweep
