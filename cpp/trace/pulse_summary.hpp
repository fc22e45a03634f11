// What the rays of neighbouring pulses met, and what the events of each pulse have in common.
#pragma once

#include <cstdint>
#include <vector>

#include "scene/scene.hpp"

namespace resweep {

// The events of a batch's rays, one array a quantity; rows as in `Rays`. A ray that met nothing is at
// infinity and sends back no light.
struct Met {
    std::vector<float> range, reflected;
    std::vector<std::int32_t> label, instance;
    std::vector<Kind> kind;  // left as it is where the scene has one kind

    void resize(std::size_t count) {
        kind.resize(count);
        range.resize(count);
        reflected.resize(count);
        label.resize(count);
        instance.resize(count);
    }
};

// What the events of each pulse have in common: enough for most pulses, whose light all lies in one
// window and comes from one thing.
struct Tally {
    std::vector<float> nearest, furthest, mean, light;
    std::vector<std::int32_t> label, instance, mixed;

    // Gather from `met`, which holds one ray of each of `count` pulses for every share of the beam.
    void gather(const Met& met, const std::vector<float>& shares, std::size_t count);

    void resize(std::size_t count) {
        for (auto* column : {&nearest, &furthest, &mean, &light}) column->resize(count);
        for (auto* column : {&label, &instance, &mixed}) column->resize(count);
    }

  private:
    std::vector<float> beyond_, weight_;
    std::vector<std::int32_t> seen_;
};

// Ranges as the sensor reads them: with Gaussian noise of these standard normal draws, and rounded.
void measure(double sigma, double sigma_per_m, double quantum, const double* draws, const float* range, float* out,
             std::size_t count);

}  // namespace resweep
