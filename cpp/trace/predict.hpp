// What a world expects of a beam, without a draw: the distribution of its range along one ray.
#pragma once

#include <cstdint>
#include <vector>

#include "scene/scene.hpp"

namespace resweep {

struct Predictive {
    float sigma;    // metres: spread of a range that a surface gives, and noise on top of a volume's
    float clutter;  // share of beams that follow no model: half return anywhere up to range_max, half not at all
    float window;   // metres: the most likely return is that with most probability this near
    float slope;    // width of the beam at 1 m
    float range_max;
};

struct Predictions {
    std::vector<float> range;        // most likely, metres; infinity where no return is likelier than any
    std::vector<float> probability;  // of a range within the window of that, or of no return
    std::vector<float> returns;      // probability that there is any return
    std::vector<float> log_likelihood;
    std::vector<float> reflected;
    std::vector<std::int32_t> label, instance;
    std::vector<std::uint8_t> kind;
};

// `measured` (n,) metres, infinity for a beam without return, may be null: there is no likelihood then. A volume's
// chance counts once the ray has passed all those whose middle it meets before; surfaces stop what is left.
Predictions predict(const Scene& scene, const float* origins, const float* directions, const float* measured,
                    std::size_t count, const Predictive& how, int threads);

}  // namespace resweep
