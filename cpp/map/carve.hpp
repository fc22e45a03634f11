// Splats cut back by the beams that passed through them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scene/scene.hpp"

namespace resweep {

// The discs to be carved, and how many beams must have passed each for every one it stopped.
struct Carved {
    const float *centre, *normal, *radius;  // (m, 3), (m, 3) unit, (m,)
    std::size_t n;
    Column<float> ratio;
};

// Recorded beams: from `origin` to the return at `point`, metres; only those with `seen` set were measured.
struct Beams {
    const float *origin, *point;  // (n, 3)
    const std::uint8_t* seen;     // (n,)
    std::size_t n;
};

struct Carving {
    int rounds;
    float margin, margin_per_m;  // how far before its return a beam must meet a disc to have passed it
    float radius_min;            // smaller ones are left out
};

// The radii (m,) that are left, 0 for discs that are left out.
std::vector<float> carve(const Carved& discs, const Beams& beams, const Carving& carving, int threads);

}  // namespace resweep
