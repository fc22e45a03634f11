// Shapes of the neighbourhoods of the points of a map: normals, eigenvalues, distances from the plane.
#pragma once

#include <cstdint>

#include "map/neighbours.hpp"

namespace resweep {

// Columns by row of the points, each with room for all of them. Those that are null are not computed.
struct Pca {
    float *normal = nullptr, *eigenvalues = nullptr, *mean_offset = nullptr;  // (n, 3)
    float *radius = nullptr, *mean_distance = nullptr, *std_distance = nullptr;
    std::int32_t* count = nullptr;
};

// A point with k = 0 is skipped: all its values are 0.
void pca(const KdTree& tree, const Extent& extent, int threads, const Pca& out);

// Mean over neighbours and points of the neighbours' distance from the point's plane (C, eq. 4), from every
// `stride`-th leaf of points. Neighbourhoods of fewer than three points do not count.
double mean_plane_distance(const KdTree& tree, std::int32_t k, float radius, std::size_t stride, int threads);

}  // namespace resweep
