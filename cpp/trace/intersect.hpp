// Closest hits of single rays, for tools and tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scene/scene.hpp"

namespace resweep {

// By ray: range (infinity for a miss), cosine of incidence, relative light sent back, label, instance.
struct RayHits {
    std::vector<float> range, cosine, reflected;
    std::vector<std::int32_t> label, instance;
};

// The closest hits of rays (n, 3) with unit directions, up to `range_max` metres.
RayHits intersect(const Scene& scene, const float* origins, const float* directions, std::size_t n_rays,
                  float range_max, int threads);

}  // namespace resweep
