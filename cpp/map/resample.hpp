// New points between sparse splats: which splats to join, and which of the points between them to keep (C, 3.4).
#pragma once

#include <cstdint>
#include <vector>

#include "core/columns.hpp"
#include "core/kdtree.hpp"

namespace resweep {

// Which points may be joined. `missing` says how many further points each one needs.
struct JoinLimits {
    const float* normal;                 // (n, 3) unit
    Column<std::int32_t> kind, missing;  // only points of the same kind are joined
    std::int32_t k;                      // how many of the nearest points within `radius` are candidates
    float radius, beta;                  // metres; smallest cosine between normals
};

struct JoinedPairs {
    std::vector<std::int32_t> first, second;  // rows of the points: the sparse one, and the one it is joined with
};

// Each sparse point with the farthest of its candidates that fit, as many as it needs.
JoinedPairs join(const KdTree& tree, const JoinLimits& limits, int threads);

// The first of `points` (m, 3) in each cell of side `size` metres that holds none of `taken` (n, 3), in order.
std::vector<std::int64_t> in_free_cells(const float* taken, std::size_t n, const float* points, std::size_t m,
                                        double size, int threads);

}  // namespace resweep
