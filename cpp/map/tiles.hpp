// Which square tiles of the ground beams cross.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace resweep {

// Beams from `origin` along `direction`, both (n, 3), for `length` (n,) metres.
struct BeamSegments {
    const float *origin, *direction, *length;
    std::size_t count;
};

// Beams and the tiles that they cross, in the order of the beams.
struct TileCrossings {
    std::vector<std::int64_t> beam;
    std::vector<std::int32_t> x, y;
};

// The tiles of side `size`, with a corner at 0, that each beam comes nearer to than `margin`. Beams of infinite length
// cross none.
TileCrossings tiles_of_beams(const BeamSegments& beams, double size, double margin, int threads);

// Rows of the beams that cross the rectangle of the ground from `low` to `high`, both (x, y), in their order. Beams of
// infinite length cross none.
std::vector<std::int64_t> beams_over(const BeamSegments& beams, const double low[2], const double high[2], int threads);

}  // namespace resweep
