// Splats cut back where beams passed through them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/columns.hpp"

namespace resweep {

// The discs to carve. `ratio`: how many beams must have passed a disc for each one that it stopped.
struct CarvedDiscs {
    const float *centre, *normal, *radius;  // (m, 3), (m, 3) unit, (m,)
    std::size_t n;
    Column<float> ratio;
};

// Recorded beams: from `origin` to the return at `point`, metres. Only those with `measured` set count.
struct RecordedBeams {
    const float *origin, *point;   // (n, 3)
    const std::uint8_t* measured;  // (n,)
    std::size_t n;
};

struct CarveSettings {
    int rounds;
    float margin, margin_per_m;  // how far before its return a beam hits a disc that it passed
    float radius_min;            // metres; smaller discs are removed
};

// The radii (m,) that are left; 0 for discs that are removed.
std::vector<float> carve(const CarvedDiscs& discs, const RecordedBeams& beams, const CarveSettings& settings,
                         int threads);

}  // namespace resweep
