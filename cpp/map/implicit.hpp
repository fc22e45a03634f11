// Moving least squares at the corners of a tile of cubes: the signed distance to the surface of oriented points.
//
// Lengths are in voxels. The sums of a corner add its points in their order, so a corner that several tiles share has
// the same bytes in each.
#pragma once

#include <cstddef>
#include <cstdint>

namespace resweep {

// By point: its cube, counted from the first corner of the tile; its position in the cube; and its unit normal.
struct OrientedPoints {
    const std::int32_t* cube;
    const double *part, *normal;
    std::size_t count;
};

enum class ImplicitMethod : int { kImls = 0, kRimls = 1 };

// IMLS (C, eqs. 2 and 3): weights exp(−d²/σ²), up to `truncation` from a point. RIMLS (Öztireli 2009): weights
// (1 − d²/reach²)⁴, refitted `refits` times with normals weighted by exp(−|n − ∇f|²/σ_n²).
struct ImplicitSettings {
    ImplicitMethod method;
    double reach, sigma, truncation, sigma_normal;
    int refits;
    int min_points;  // within reach of a corner for its value to be known; RIMLS only
};

// `value` and `known` have side³ entries, the last axis fastest.
void signed_distances(const OrientedPoints& points, const ImplicitSettings& settings, std::int32_t side, float* value,
                      std::uint8_t* known);

}  // namespace resweep
