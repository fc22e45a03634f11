// What one sensor does beyond the common model: errors and gains of its lasers, chance in what it detects.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace resweep {

// Metres and relative intensity. Empty vectors and zeros mean none.
struct SensorCalibration {
    std::vector<float> range_bias;           // metres added to what each ring measures
    std::vector<float> gain;                 // intensity that each ring reports where others report 1
    std::vector<float> signal, probability;  // rising curve: the chance that an echo of this signal is detected
    double range_sigma_per_tan = 0.0;        // metres of range noise for each unit of the tangent of incidence

    static constexpr float kMinCosine = 0.1f;  // beyond 84 degrees, noise grows no more

    bool any() const { return !range_bias.empty() || !gain.empty() || !signal.empty() || range_sigma_per_tan > 0.0; }

    float bias_of(std::size_t ring) const { return ring < range_bias.size() ? range_bias[ring] : 0.0f; }
    float gain_of(std::size_t ring) const { return ring < gain.size() ? gain[ring] : 1.0f; }

    // Sigma of the range noise that this cosine of incidence adds, metres.
    double sigma_at(float cosine) const {
        const double c = std::clamp(cosine, kMinCosine, 1.0f);
        return range_sigma_per_tan * std::sqrt(1.0 - c * c) / c;
    }

    // The least signal that is detected by a draw from (0, 1): the curve's inverse there, so that a signal is detected
    // with the chance that the curve gives it. Between two rows the curve is a line, beyond them it is constant.
    float min_signal(double draw) const {
        if (draw <= probability.front()) return 0.0f;
        const auto above = std::lower_bound(probability.begin(), probability.end(), draw);
        if (above == probability.end()) return std::numeric_limits<float>::infinity();
        const auto k = static_cast<std::size_t>(above - probability.begin());
        const double share = (draw - probability[k - 1]) / (probability[k] - probability[k - 1]);
        return static_cast<float>(signal[k - 1] + share * (signal[k] - signal[k - 1]));
    }
};

}  // namespace resweep
