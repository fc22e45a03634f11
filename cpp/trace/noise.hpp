// Errors of a sensor: of the direction of its pulses, and of what it measures.
#pragma once

#include <cstddef>

namespace resweep {

// Metres, radians, and relative intensity. A step or quantum of 0 means none.
struct Noise {
    double range_sigma = 0.0, range_sigma_per_m = 0.0, range_quantum = 0.0, intensity_sigma = 0.0;
    double encoder_step = 0.0, pointing_sigma_h = 0.0, pointing_sigma_v = 0.0;

    bool has_range_noise() const { return range_sigma > 0.0 || range_sigma_per_m > 0.0; }
};

// Ranges as the sensor reports them: with Gaussian noise from these standard normal draws, and rounded.
void measure_ranges(const Noise& noise, const double* draws, const float* range, float* out, std::size_t count);

}  // namespace resweep
