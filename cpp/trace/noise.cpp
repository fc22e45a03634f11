#include "trace/noise.hpp"

#include <algorithm>
#include <cmath>

#include "core/multiversion.hpp"

namespace resweep {
namespace {

RESWEEP_MULTIVERSION void add_noise(double sigma, double sigma_per_m, double quantum, double quanta,
                                    const double* draws, const float* range, float* out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        double value = range[i] + (sigma + sigma_per_m * range[i]) * draws[i];
        if (quantum > 0.0) value = std::floor(value * quanta + 0.5) * quantum;
        out[i] = static_cast<float>(std::max(value, 0.0));
    }
}

}  // namespace

void measure_ranges(const Noise& noise, const double* draws, const float* range, float* out, std::size_t count) {
    add_noise(noise.range_sigma, noise.range_sigma_per_m, noise.range_quantum, 1.0 / noise.range_quantum, draws, range,
              out, count);
}

}  // namespace resweep
