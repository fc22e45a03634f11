// Neighbourhoods of the points of a map, and what is computed from them, on all cores.
//
// The neighbourhood of a point is the smaller of its k nearest points and a sphere (C, 3.1); the point itself is one of
// them. Nothing keeps a table of all neighbours: the points of a leaf of the tree look for theirs in one list of
// candidates, use them and forget them. Results do not depend on the number of threads. Lengths are in metres.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kdtree.hpp"
#include "scene/scene.hpp"

namespace resweep {

// By row of the points: how many neighbours, and how far.
struct Extent {
    Column<std::int32_t> k;
    Column<float> radius;
};

// The `k` nearest of each of `n_queries` (m, 3) within `radius`, by distance: rows (m, k), −1 where there are
// fewer, and squared distances (m, k), infinity there. Without `queries` each point asks for its own.
void knn(const KdTree& tree, const double* queries, std::size_t n_queries, std::int32_t k, float radius, int threads,
         std::int32_t* index, float* distance2);

// Points within `radius` of each point.
void radius_count(const KdTree& tree, float radius, int threads, std::int32_t* count);

// Mean over the points of the distance to the farthest of their k nearest, from every `stride`-th leaf of points.
double mean_radius(const KdTree& tree, std::int32_t k, std::size_t stride, int threads);

// Columns by row of the points, each with room for all of them; those that are null are not wanted.
struct Pca {
    float *normal = nullptr, *eigenvalues = nullptr, *mean_offset = nullptr;  // (n, 3)
    float *radius = nullptr, *mean_distance = nullptr, *std_distance = nullptr;
    std::int32_t* count = nullptr;
};
// A point with k = 0 is not looked at: its count is 0.
void pca(const KdTree& tree, const Extent& extent, int threads, const Pca& out);

// Mean over neighbours and points of the neighbours' distance from the point's plane (C, eq. 4), from every
// `stride`-th leaf of points; neighbourhoods of fewer than three do not count.
double mean_plane_distance(const KdTree& tree, std::int32_t k, float radius, std::size_t stride, int threads);

// Pairs of points to be joined where points are sparse (C, 3.4): `missing` says how many further points each one wants.
struct Joining {
    const float* normal;                 // (n, 3) unit
    Column<std::int32_t> kind, missing;  // only points of one kind are joined
    std::int32_t k;                      // nearest points within `radius` that are looked at
    float radius, beta;                  // smallest cosine between normals
};
struct Joined {
    std::vector<std::int32_t> first, second;  // rows of the points: the sparse one, and the one it is joined with
};
// Each sparse point with the farthest of its neighbours that fit, as many as it wants.
Joined join(const KdTree& tree, const Joining& joining, int threads);

// The first of `points` (m, 3) in each cell of side `size` metres that holds none of `taken` (n, 3), in order.
std::vector<std::int64_t> in_free_cells(const float* taken, std::size_t n, const float* points, std::size_t m,
                                        double size, int threads);

// What stops the growing of splats (C, 3.1 and 3.2).
struct Growing {
    const float* normal;         // (n, 3) unit, zero where unknown
    Column<float> bound;         // largest distance from the plane
    Column<std::int32_t> label;  // only points of the seed's label are included
    float alpha, beta;           // share of the radius that is cleared of seeds; smallest cosine between normals
    const float* values;         // (n, n_values) to be averaged over the points included
    std::size_t n_values;
};
struct Grown {
    std::vector<std::int32_t> seed, count;     // the row of the point it grew from; points included
    std::vector<float> shift, radius, values;  // along the normal from the seed to the centre; (m, n_values)
};
Grown grow(const KdTree& tree, const Extent& extent, const Growing& growing, int threads);

// The rows of the points in the order in which `grow` takes them as seeds.
std::vector<std::int32_t> seed_order(const KdTree& tree);

}  // namespace resweep
