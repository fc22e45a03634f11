// How a primitive was seen while a place was recorded, in 32 bits, and how a return from it compares with that.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace resweep {

// From the highest bit: 7 bits of the number of returns, 6 each of the least and the largest range, and of the least
// and the largest incidence; the last bit says that the primitive was made up. 0: nothing is known. Primitives that
// were seen more often have larger numbers.
using Seen = std::uint32_t;

constexpr float kSeenRangeLevels = 6.0f;               // for each doubling of the range
constexpr float kSeenRangeLeast = 0.25f;               // metres, at level 0
constexpr float kSeenIncidenceLevels = 63.0f / 90.0f;  // a degree

struct SeenInterval {
    int count;
    float range_min, range_max;          // metres
    float incidence_min, incidence_max;  // degrees
    bool completed;
};

inline SeenInterval unpack_seen(Seen seen) {
    const auto range = [](Seen level) {
        return kSeenRangeLeast * std::exp2(static_cast<float>(level) / kSeenRangeLevels);
    };
    const auto incidence = [](Seen level) { return static_cast<float>(level) / kSeenIncidenceLevels; };
    return {static_cast<int>(seen >> 25), range(seen >> 19 & 63u),    range(seen >> 13 & 63u),
            incidence(seen >> 7 & 63u),   incidence(seen >> 1 & 63u), (seen & 1u) != 0};
}

// How far off a return is from how its primitive was seen: the ratio of its range to the nearer end of the interval of
// recorded ranges, 1 within it; and the degrees of its incidence outside the recorded ones, 0 within them.
struct SeenOff {
    float range_ratio, incidence;
};

inline SeenOff compare_seen(const SeenInterval& seen, float range, float cosine) {
    const float degrees = std::acos(std::clamp(cosine, 0.0f, 1.0f)) * 57.29577951f;
    const float ratio =
        range > seen.range_max ? range / seen.range_max : (range < seen.range_min ? range / seen.range_min : 1.0f);
    return {ratio, std::max({0.0f, degrees - seen.incidence_max, seen.incidence_min - degrees})};
}

}  // namespace resweep
