#include "drive/flat_boxes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace resweep {
namespace {

// Lowest and highest corner along an axis.
void project(const FlatBox& box, const double axis[2], double& low, double& high) {
    low = std::numeric_limits<double>::infinity();
    high = -low;
    for (const auto& corner : box.corner) {
        const double along = corner[0] * axis[0] + corner[1] * axis[1];
        low = std::min(low, along);
        high = std::max(high, along);
    }
}

// The least distance of the corners of one box from another.
double from_corners(const FlatBox& one, const FlatBox& box) {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& corner : one.corner) {
        const double arm[2] = {corner[0] - box.place[0], corner[1] - box.place[1]}, *h = box.heading;
        const double at[2] = {arm[0] * h[0] + arm[1] * h[1], arm[1] * h[0] - arm[0] * h[1]};
        double beyond[2];
        for (int axis = 0; axis < 2; ++axis)
            beyond[axis] = std::max({box.low[axis] - at[axis], at[axis] - box.high[axis], 0.0});
        least = std::min(least, std::sqrt(beyond[0] * beyond[0] + beyond[1] * beyond[1]));
    }
    return least;
}

}  // namespace

FlatBox make_flat_box(const double* box, const double rotation[9], const double position[3]) {
    FlatBox made;
    const double length = std::sqrt(rotation[0] * rotation[0] + rotation[3] * rotation[3]);
    made.heading[0] = rotation[0] / length;
    made.heading[1] = rotation[3] / length;
    const double across[2] = {-made.heading[1], made.heading[0]};
    constexpr int kAlong[4] = {0, 1, 1, 0}, kAcross[4] = {0, 0, 1, 1};
    for (int axis = 0; axis < 2; ++axis) {
        made.place[axis] = position[axis];
        made.low[axis] = box[axis];
        made.high[axis] = box[3 + axis];
        for (int k = 0; k < 4; ++k)
            made.corner[k][axis] =
                position[axis] + box[3 * kAlong[k]] * made.heading[axis] + box[3 * kAcross[k] + 1] * across[axis];
    }
    made.bottom = position[2] + box[2];
    made.top = position[2] + box[5];
    return made;
}

bool overlap(const FlatBox& one, const FlatBox& two) {
    if (!(one.bottom <= two.top && two.bottom <= one.top)) return false;
    for (const double* h : {one.heading, two.heading}) {
        const double axes[2][2] = {{h[0], h[1]}, {-h[1], h[0]}};
        for (const auto& axis : axes) {
            double low, high, lower, higher;
            project(one, axis, low, high);
            project(two, axis, lower, higher);
            if (!(low <= higher && lower <= high)) return false;
        }
    }
    return true;
}

double distance(const FlatBox& one, const FlatBox& two) {
    return std::min(from_corners(one, two), from_corners(two, one));
}

}  // namespace resweep
