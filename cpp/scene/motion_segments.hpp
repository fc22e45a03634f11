// A motion as few segments that Embree interpolates: a pair of poses each, with the rotations as quaternions.
#pragma once

#include <vector>

#include "core/motion.hpp"

namespace resweep {

// A pose: a unit quaternion (r, i, j, k) and a position.
struct QuaternionPose {
    double rotation[4], position[3];
};

// A part of a motion, from one second to another, given by its first and its last pose.
struct MotionSegment {
    double from, to;
    QuaternionPose first, last;
};

// The motion from `from` to `to` as segments that end at its knots. A segment spans further knots as long as it misses
// them by less than a fifth of a millimetre, at `radius` metres from the origin of the moving frame.
std::vector<MotionSegment> motion_segments(const Motion& motion, double from, double to, double radius);

// The angle, radians, between the rotations of two poses.
double rotation_angle(const QuaternionPose& a, const QuaternionPose& b);

// The rotation at `share` of the way from `a` to `b`, which are near each other: a normalised mean.
void interpolate_rotation(const QuaternionPose& a, const QuaternionPose& b, double share, double q[4]);

}  // namespace resweep
