// The raw Embree loop that benchmarks measure the tracer against.
#pragma once

#include <cstddef>

#include "scene/scene.hpp"

namespace resweep {

// Trace rays (n, 3) and do nothing else. Returns the seconds of the fastest of `repeats`, and how many rays hit.
double raw_floor(const Scene& scene, const float* origins, const float* directions, std::size_t n_rays, float range_max,
                 int packet, int threads, int repeats, std::size_t& hits);

}  // namespace resweep
