// The voxels that a ray crosses, one after the other.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace resweep {

// The largest whole number that is not above a value: `std::floor` is a call where the processor is not known to have
// it.
inline std::int64_t floor_of(double value) {
    const auto whole = static_cast<std::int64_t>(value);
    return whole - (value < static_cast<double>(whole));
}

// A ray on its way from voxel to voxel (Amanatides and Woo 1987): it is in the voxel `at`, and leaves it along each
// axis at the range `next`.
struct VoxelWalk {
    static constexpr std::int64_t kHalf = 1 << 20;   // of the places that 21 bits can tell apart
    static constexpr double kMaxVoxels = 100'000.0;  // along one beam; one that crosses more has no true length

    std::int64_t at[3];
    int step[3];
    double origin[3], inverse[3], next[3], stride[3], voxel;

    // False if the ray has no true place or direction.
    bool begin(const float from[3], const float direction[3], double size) {
        voxel = size;
        for (int axis = 0; axis < 3; ++axis) {
            origin[axis] = from[axis];
            const double along = direction[axis];
            if (!std::isfinite(origin[axis]) || !std::isfinite(along) ||
                std::fabs(origin[axis]) > 4.0 * (kHalf - 1) * voxel)
                return false;
            at[axis] = floor_of(origin[axis] / voxel);
            step[axis] = along > 0.0 ? 1 : -1;
            inverse[axis] = along != 0.0 ? 1.0 / along : std::numeric_limits<double>::infinity();
            stride[axis] = voxel * std::fabs(inverse[axis]);
            next[axis] = range_to(axis, at[axis] + (step[axis] > 0));
        }
        return true;
    }

    // The range at which the ray crosses the border below voxel `border` along an axis.
    double range_to(int axis, std::int64_t border) const {
        if (std::isinf(inverse[axis])) return inverse[axis];
        return (static_cast<double>(border) * voxel - origin[axis]) * inverse[axis];
    }

    double leaves_at() const { return std::min({next[0], next[1], next[2]}); }

    // Without branches: which axis comes next is not predictable.
    void advance() {
        const bool before = next[0] < next[1], first = before && next[0] < next[2],
                   second = !before && next[1] < next[2];
        const bool moves[3] = {first, second, !first && !second};
        for (int axis = 0; axis < 3; ++axis) {
            at[axis] += moves[axis] ? step[axis] : 0;
            next[axis] += moves[axis] ? stride[axis] : 0.0;
        }
    }

    // The range at which the ray leaves the block that it is in, and along which axis.
    double leaves_block_at(int& axis) const {
        double nearest = std::numeric_limits<double>::infinity();
        axis = 0;
        for (int i = 0; i < 3; ++i) {
            const double range = range_to(i, ((at[i] >> 3) + (step[i] > 0)) * 8);
            if (range < nearest) {
                nearest = range;
                axis = i;
            }
        }
        return nearest;
    }

    // Go on to where the ray leaves its block.
    void leave_block(double range, int axis) {
        for (int i = 0; i < 3; ++i) {
            const std::int64_t first = (at[i] >> 3) * 8;
            if (i == axis)
                at[i] = step[i] > 0 ? first + 8 : first - 1;
            else if (!std::isinf(inverse[i]))
                at[i] = std::clamp(floor_of((origin[i] + range / inverse[i]) / voxel), first, first + 7);
            next[i] = range_to(i, at[i] + (step[i] > 0));
        }
    }
};

// Whether a beam can be followed as far as that.
inline bool is_length(double length, double voxel) { return length > 0.0 && length < VoxelWalk::kMaxVoxels * voxel; }

}  // namespace resweep
