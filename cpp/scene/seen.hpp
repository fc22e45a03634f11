// How a primitive was seen while a place was recorded, in 32 bits, and how a return from it compares with that.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace resweep {

// From the highest bit: 7 bits of the number of returns, 6 each of the least and the largest range, and of the least
// and the largest incidence; the last bit marks a primitive that was completed. 0: nothing is known. Primitives that
// were seen more often have larger numbers.
using Seen = std::uint32_t;

constexpr double kSeenRangeLevels = 6.0;              // for each doubling of the range
constexpr double kSeenRangeLeast = 0.25;              // metres, at level 0
constexpr double kSeenIncidenceLevels = 63.0 / 90.0;  // a degree

struct SeenInterval {
    int count;
    float range_min, range_max;          // metres
    float incidence_min, incidence_max;  // degrees
    float cosine_min, cosine_max;        // of these
    bool completed;
};

// The values of the levels of a record. Returns are many, and levels few.
struct SeenLevels {
    std::array<float, 64> range, incidence, cosine;

    SeenLevels() {
        for (std::size_t level = 0; level < range.size(); ++level) {
            const auto at = static_cast<double>(level);
            range[level] = static_cast<float>(kSeenRangeLeast * std::exp2(at / kSeenRangeLevels));
            incidence[level] = static_cast<float>(at / kSeenIncidenceLevels);
            cosine[level] = static_cast<float>(std::cos(at / kSeenIncidenceLevels * 0.017453292519943295));
        }
    }
};

inline const SeenLevels kSeenLevels;

inline SeenInterval unpack_seen(Seen seen) {
    const Seen least = seen >> 7 & 63u, largest = seen >> 1 & 63u;
    return {static_cast<int>(seen >> 25),        kSeenLevels.range[seen >> 19 & 63u],
            kSeenLevels.range[seen >> 13 & 63u], kSeenLevels.incidence[least],
            kSeenLevels.incidence[largest],      kSeenLevels.cosine[largest],
            kSeenLevels.cosine[least],           (seen & 1u) != 0};
}

// How far off a return is from how its primitive was seen: the ratio of its range to the nearer end of the interval of
// recorded ranges, 1 within it; and the degrees of its incidence outside the recorded ones, 0 within them.
struct SeenOff {
    float range_ratio, incidence;
};

inline SeenOff compare_seen(const SeenInterval& seen, float range, float cosine) {
    const float ratio =
        range > seen.range_max ? range / seen.range_max : (range < seen.range_min ? range / seen.range_min : 1.0f);
    if (cosine >= seen.cosine_min && cosine <= seen.cosine_max) return {ratio, 0.0f};
    const float degrees = std::acos(std::clamp(cosine, 0.0f, 1.0f)) * 57.29577951f;
    return {ratio, std::max({0.0f, degrees - seen.incidence_max, seen.incidence_min - degrees})};
}

}  // namespace resweep
