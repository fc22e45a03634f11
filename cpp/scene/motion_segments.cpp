#include "scene/motion_segments.hpp"

#include <algorithm>
#include <cmath>

namespace resweep {
namespace {

constexpr double kTolerance = 2e-4;  // metres: largest error of interpolated poses
// Embree interpolates quaternions with full accuracy if the angle between them is at most this, in radians.
constexpr double kMaxAngle = 0.06;

// The unit quaternion of a rotation (row-major 3x3), from its largest component (Shepperd 1978).
void quaternion(const double m[9], double q[4]) {
    const double trace = m[0] + m[4] + m[8];
    const double squares[4] = {1.0 + trace, 1.0 + 2.0 * m[0] - trace, 1.0 + 2.0 * m[4] - trace,
                               1.0 + 2.0 * m[8] - trace};
    const auto largest = std::max_element(squares, squares + 4) - squares;
    // Four times the products of each two components.
    const double ri = m[7] - m[5], rj = m[2] - m[6], rk = m[3] - m[1];
    const double ij = m[1] + m[3], ik = m[2] + m[6], jk = m[5] + m[7];
    const double rows[4][4] = {
        {squares[0], ri, rj, rk}, {ri, squares[1], ij, ik}, {rj, ij, squares[2], jk}, {rk, ik, jk, squares[3]}};
    const double scale = 0.5 / std::sqrt(squares[largest]);
    for (int i = 0; i < 4; ++i) q[i] = rows[largest][i] * scale;
}

QuaternionPose pose_at(const Motion& motion, double time) {
    QuaternionPose pose;
    double rotation[9];
    motion.at(time, rotation, pose.position);
    quaternion(rotation, pose.rotation);
    return pose;
}

double dot(const double a[4], const double b[4]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]; }

// Metres, at `radius` from the origin, between the motion at `time` and the pose at `share` from `a` to `b`.
double interpolation_error(const Motion& motion, double time, const QuaternionPose& a, const QuaternionPose& b,
                           double share, double radius) {
    const QuaternionPose truth = pose_at(motion, time);
    double q[4], squared = 0.0;
    interpolate_rotation(a, b, share, q);
    for (int i = 0; i < 3; ++i) {
        const double d = truth.position[i] - (1.0 - share) * a.position[i] - share * b.position[i];
        squared += d * d;
    }
    const double cosine = std::min(1.0, std::fabs(dot(q, truth.rotation)));
    return std::sqrt(squared) + 2.0 * radius * std::acos(cosine);
}

// Whether one segment from `a` to `b` follows the motion at all knots between them, where its error is largest.
bool one_segment_suffices(const Motion& motion, const QuaternionPose& a, const QuaternionPose& b, double from,
                          double to, const double* first_knot, const double* last_knot, double radius) {
    return rotation_angle(a, b) <= kMaxAngle && std::all_of(first_knot, last_knot, [&](double knot) {
               return interpolation_error(motion, knot, a, b, (knot - from) / (to - from), radius) <= kTolerance;
           });
}

}  // namespace

double rotation_angle(const QuaternionPose& a, const QuaternionPose& b) {
    return 2.0 * std::acos(std::min(1.0, std::fabs(dot(a.rotation, b.rotation))));
}

void interpolate_rotation(const QuaternionPose& a, const QuaternionPose& b, double share, double q[4]) {
    const double other = dot(a.rotation, b.rotation) < 0.0 ? -share : share;
    for (int i = 0; i < 4; ++i) q[i] = (1.0 - share) * a.rotation[i] + other * b.rotation[i];
    const double scale = 1.0 / std::sqrt(dot(q, q));
    for (int i = 0; i < 4; ++i) q[i] *= scale;
}

std::vector<MotionSegment> motion_segments(const Motion& motion, double from, double to, double radius) {
    const QuaternionPose first = pose_at(motion, from);
    if (motion.still() || to <= from) return {{from, to, first, first}};
    const auto& knots = motion.times();
    const auto inner = std::upper_bound(knots.begin(), knots.end(), from);
    std::vector<double> ends(inner, std::lower_bound(inner, knots.end(), to));
    ends.push_back(to);
    std::vector<MotionSegment> segments;
    for (std::size_t next = 0; next < ends.size();) {
        const double begin = next ? ends[next - 1] : from;
        const QuaternionPose start = pose_at(motion, begin);
        std::size_t last = next;  // as far as one segment suffices, searched in ever smaller leaps
        for (std::size_t leap = ends.size(); leap > 0; leap /= 2)
            if (last + leap < ends.size() &&
                one_segment_suffices(motion, start, pose_at(motion, ends[last + leap]), begin, ends[last + leap],
                                     ends.data() + next, ends.data() + last + leap, radius))
                last += leap;
        const double end = ends[last];
        // A fast rotation between two knots is cut into pieces, so that quaternions are interpolated well.
        double linear[3], angular[3];
        motion.velocity(begin, linear, angular);
        const double angle = last > next ? 0.0 : std::hypot(angular[0], angular[1], angular[2]) * (end - begin);
        const auto pieces = static_cast<int>(std::max(1.0, std::ceil(angle / kMaxAngle)));
        for (int k = 0; k < pieces; ++k) {
            const double a = begin + (end - begin) * k / pieces;
            const double b = k + 1 == pieces ? end : begin + (end - begin) * (k + 1) / pieces;
            segments.push_back({a, b, pose_at(motion, a), pose_at(motion, b)});
        }
        next = last + 1;
    }
    return segments;
}

}  // namespace resweep
