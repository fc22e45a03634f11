// Moving least squares at the corners of a tile of cubes: the signed distance to the surface behind oriented points.
//
// Lengths are in voxels. Each point visits the corners within reach, in the order of the points, so a corner that
// several tiles share has the very same value in each.
#pragma once

#include <cstddef>
#include <cstdint>

namespace resweep {

// Points by row: the cube that holds it, counted from the tile's first corner, its place inside, and its unit normal.
struct OrientedPoints {
    const std::int32_t* cube;
    const double *part, *normal;
    std::size_t count;
};

// IMLS (C, eqs. 2 and 3) with weights exp(−d²/σ²), up to `truncation` from a point; or, if `robust`, RIMLS (Öztireli
// 2009) with weights (1 − d²/reach²)⁴, refitted `refits` times with normals weighed by exp(−|n − ∇f|²/σ_n²).
struct LeastSquares {
    bool robust;
    double reach, sigma, truncation, sigma_normal;
    int refits;
    int fewest;  // points within reach for a corner to be known; of RIMLS only
};

// `value` and `known` have side³ entries, the last axis fastest.
void least_squares(const OrientedPoints& points, const LeastSquares& method, std::int32_t side, float* value,
                   std::uint8_t* known);

}  // namespace resweep
