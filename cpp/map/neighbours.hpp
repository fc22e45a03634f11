// Neighbours of the points of a map.
//
// The neighbourhood of a point is the smaller of its k nearest points and a sphere (C, 3.1); the point itself is one of
// them. No table of all neighbours is kept: the points of a leaf of the tree search one list of candidates, and use
// their neighbours at once. Results do not depend on the number of threads. Lengths are in metres.
#pragma once

#include <cstdint>

#include "core/columns.hpp"
#include "core/kdtree.hpp"

namespace resweep {

// By row of the points: how many neighbours, and how far.
struct Extent {
    Column<std::int32_t> k;
    Column<float> radius;
};

// The `k` nearest of each of `n_queries` (m, 3) within `radius`, by distance: rows (m, k), −1 where there are
// fewer, and squared distances (m, k), infinity there. Without `queries`, the points themselves are the queries.
void knn(const KdTree& tree, const double* queries, std::size_t n_queries, std::int32_t k, float radius, int threads,
         std::int32_t* index, float* distance2);

// How many points lie within `radius` of each point.
void radius_count(const KdTree& tree, float radius, int threads, std::int32_t* count);

// Mean over the points of the distance to the farthest of their k nearest, from every `stride`-th leaf of points.
double mean_radius(const KdTree& tree, std::int32_t k, std::size_t stride, int threads);

}  // namespace resweep
