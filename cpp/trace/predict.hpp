// The distribution of the range that a world predicts for a beam of one ray, without random draws.
#pragma once

#include <cstdint>
#include <vector>

#include "scene/scene.hpp"

namespace resweep {

struct PredictionSettings {
    float sigma;    // metres: standard deviation of the range on a surface, and of the noise added to that of a volume
    float clutter;  // share of beams that follow no model: half return anywhere up to range_max, half not at all
    float window;   // metres: the most likely return has most probability within this distance
    float slope;    // width of the beam at 1 m
    float range_max;
    float height;  // metres: standard deviation of a surface along its normal
    float reach;   // metres: what lies farther off returns nothing
};

struct Predictions {
    std::vector<float> range;        // most likely, metres; infinity where no return is likelier
    std::vector<float> probability;  // of a range within the window around that, or of no return
    std::vector<float> returns;      // probability of any return
    std::vector<float> log_likelihood;
    std::vector<float> reflected;
    std::vector<std::int32_t> label, instance;
    std::vector<std::uint8_t> kind;  // a PrimitiveKind; 0 where no return is likelier
};

// `measured` (n,) metres, infinity for a beam without return; if null, there is no likelihood. A volume can stop a ray
// only if the ray passed all volumes whose centre it crosses before, and all permeable discs. A surface stops what is
// left.
Predictions predict(const Scene& scene, const float* origins, const float* directions, const float* measured,
                    std::size_t count, const PredictionSettings& settings, int threads);

}  // namespace resweep
