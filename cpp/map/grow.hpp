// Splats that grow over the neighbourhoods of their seeds (C, 3.1 and 3.2).
#pragma once

#include <cstdint>
#include <vector>

#include "map/neighbours.hpp"

namespace resweep {

// What limits the growth of splats.
struct GrowthLimits {
    const float* normal;         // (n, 3) unit, zero where unknown
    Column<float> bound;         // largest distance from the plane
    Column<std::int32_t> label;  // only points of the seed's label are included
    float alpha, beta;           // share of the radius within which seeds are removed; smallest cosine of normals
    const float* values;         // (n, n_values) to be averaged over the points included
    std::size_t n_values;
};

struct GrownSplats {
    std::vector<std::int32_t> seed, count;     // row of the seed; number of points included
    std::vector<float> shift, radius, values;  // along the normal from the seed to the centre; (m, n_values)
};

GrownSplats grow(const KdTree& tree, const Extent& extent, const GrowthLimits& limits, int threads);

// The rows of the points in the order in which `grow` takes them as seeds.
std::vector<std::int32_t> seed_order(const KdTree& tree);

}  // namespace resweep
