#include "core/motion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/multiversion.hpp"
#include "core/small_angles.hpp"

namespace resweep {
namespace {

void matrix_to_rotvec(const double m[9], double axis[3], double& angle) {
    const double sine[3] = {m[7] - m[5], m[2] - m[6], m[3] - m[1]};
    const double s = 0.5 * std::sqrt(sine[0] * sine[0] + sine[1] * sine[1] + sine[2] * sine[2]);
    const double c = 0.5 * (m[0] + m[4] + m[8] - 1.0);
    angle = std::atan2(s, c);
    if (s > 1e-12) {
        for (int i = 0; i < 3; ++i) axis[i] = sine[i] / (2.0 * s);
        return;
    }
    axis[0] = 1.0;
    axis[1] = axis[2] = 0.0;
    if (c < 0.0) {  // half a turn: the axis is the longest column of R + I
        int best = 0;
        for (int i = 1; i < 3; ++i)
            if (m[4 * i] > m[4 * best]) best = i;
        double column[3];
        for (int i = 0; i < 3; ++i) column[i] = m[3 * i + best] + (i == best ? 1.0 : 0.0);
        const double length = std::hypot(column[0], column[1], column[2]);
        for (int i = 0; i < 3; ++i) axis[i] = column[i] / length;
    }
}

}  // namespace

Motion::Motion(const double* times, const double* poses, std::size_t count)
    : times_(times, times + count), knots_(count) {
    for (std::size_t k = 0; k < count; ++k) {
        const double* pose = poses + 16 * k;
        for (int row = 0; row < 3; ++row) {
            for (int column = 0; column < 3; ++column) knots_[k].rotation[3 * row + column] = pose[4 * row + column];
            knots_[k].position[row] = pose[4 * row + 3];
        }
    }
    for (std::size_t k = 0; k + 1 < count; ++k) {
        double relative[9];  // transpose(R_k) R_k+1
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) {
                relative[3 * i + j] = 0.0;
                for (int l = 0; l < 3; ++l)
                    relative[3 * i + j] += knots_[k].rotation[3 * l + i] * knots_[k + 1].rotation[3 * l + j];
            }
        matrix_to_rotvec(relative, knots_[k].axis, knots_[k].angle);
    }
}

std::size_t Motion::knot_before(double time) const {
    if (times_.size() < 3) return 0;
    return static_cast<std::size_t>(std::upper_bound(times_.begin() + 1, times_.end() - 1, time) - times_.begin() - 1);
}

void Motion::at(double time, double rotation[9], double position[3]) const {
    const std::size_t k = knot_before(time);
    const Knot& knot = knots_[k];
    if (still()) {
        for (int i = 0; i < 9; ++i) rotation[i] = knot.rotation[i];
        for (int i = 0; i < 3; ++i) position[i] = knot.position[i];
        return;
    }
    const Knot& next = knots_[k + 1];
    double share = (time - times_[k]) / (times_[k + 1] - times_[k]);
    share = share < 0.0 ? 0.0 : share > 1.0 ? 1.0 : share;
    for (int i = 0; i < 3; ++i) position[i] = (1.0 - share) * knot.position[i] + share * next.position[i];
    const double angle = share * knot.angle;
    const bool small = knot.angle <= kSmallAngle;
    const double s = small ? small_sine(angle) : std::sin(angle), c = small ? small_cosine(angle) : std::cos(angle);
    const double t = 1.0 - c;
    const double *a = knot.axis, x = a[0], y = a[1], z = a[2];
    const double turn[9] = {t * x * x + c,     t * x * y - s * z, t * x * z + s * y, t * x * y + s * z, t * y * y + c,
                            t * y * z - s * x, t * x * z - s * y, t * y * z + s * x, t * z * z + c};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            rotation[3 * i + j] = 0.0;
            for (int l = 0; l < 3; ++l) rotation[3 * i + j] += knot.rotation[3 * i + l] * turn[3 * l + j];
        }
}

namespace {

// How far along an interval each time is, from 0 to 1; positions then, and angles turned.
RESWEEP_MULTIVERSION void advance(const double* times, std::size_t count, double from, double to, const double* first,
                                  const double* last, double angle, double* x, double* y, double* z, double* turned) {
    const double duration = to - from;
    for (std::size_t i = 0; i < count; ++i) {
        double share = (times[i] - from) / duration;
        share = share < 0.0 ? 0.0 : share > 1.0 ? 1.0 : share;
        x[i] = (1.0 - share) * first[0] + share * last[0];
        y[i] = (1.0 - share) * first[1] + share * last[1];
        z[i] = (1.0 - share) * first[2] + share * last[2];
        turned[i] = share * angle;
    }
}

// Row `k` (3,) of a knot's rotation, times the turn by small angles about its axis.
RESWEEP_MULTIVERSION void turn_row(const double* k, const double* axis, const double* angles, std::size_t count,
                                   float* a, float* b, float* d) {
    const double x = axis[0], y = axis[1], z = axis[2], k0 = k[0], k1 = k[1], k2 = k[2];
    for (std::size_t i = 0; i < count; ++i) {
        const double s = small_sine(angles[i]), c = small_cosine(angles[i]), t = 1.0 - c;
        a[i] = static_cast<float>(k0 * (t * x * x + c) + k1 * (t * x * y + s * z) + k2 * (t * x * z - s * y));
        b[i] = static_cast<float>(k0 * (t * x * y - s * z) + k1 * (t * y * y + c) + k2 * (t * y * z + s * x));
        d[i] = static_cast<float>(k0 * (t * x * z + s * y) + k1 * (t * y * z - s * x) + k2 * (t * z * z + c));
    }
}

}  // namespace

void Motion::at(const double* times, std::size_t count, float* const rotation[9], double* const position[3]) const {
    constexpr std::size_t kMaxTimes = 128;  // times at once
    double angles[kMaxTimes];
    for (std::size_t first = 0; first < count;) {
        const std::size_t k = knot_before(times[first]);
        std::size_t last = first + 1;
        while (!still() && last < count && last - first < kMaxTimes && knot_before(times[last]) == k) ++last;
        if (still() || knots_[k].angle > kSmallAngle) {
            double turn[9], place[3];
            last = first + 1;
            at(times[first], turn, place);
            for (int i = 0; i < 9; ++i) rotation[i][first] = static_cast<float>(turn[i]);
            for (int i = 0; i < 3; ++i) position[i][first] = place[i];
        } else {
            const Knot &knot = knots_[k], &next = knots_[k + 1];
            advance(times + first, last - first, times_[k], times_[k + 1], knot.position, next.position, knot.angle,
                    position[0] + first, position[1] + first, position[2] + first, angles);
            for (int row = 0; row < 3; ++row)
                turn_row(knot.rotation + 3 * row, knot.axis, angles, last - first, rotation[3 * row] + first,
                         rotation[3 * row + 1] + first, rotation[3 * row + 2] + first);
        }
        first = last;
    }
}

void Motion::velocity(double time, double linear[3], double angular[3]) const {
    for (int i = 0; i < 3; ++i) linear[i] = angular[i] = 0.0;
    if (still() || time < times_.front() || time > times_.back()) return;
    const std::size_t k = knot_before(time);
    const Knot &knot = knots_[k], &next = knots_[k + 1];
    const double duration = times_[k + 1] - times_[k];
    for (int i = 0; i < 3; ++i) {
        linear[i] = (next.position[i] - knot.position[i]) / duration;
        for (int j = 0; j < 3; ++j) angular[i] += knot.rotation[3 * i + j] * knot.axis[j] * knot.angle / duration;
    }
}

void rigid_deviations(const double* poses, std::size_t count, double* result) {
    for (std::size_t k = 0; k < count; ++k) {
        const double* m = poses + 16 * k;
        if (!std::all_of(m, m + 16, [](double value) { return std::isfinite(value); })) {
            result[k] = std::numeric_limits<double>::quiet_NaN();
            continue;
        }
        double worst = std::max({std::fabs(m[12]), std::fabs(m[13]), std::fabs(m[14]), std::fabs(m[15] - 1.0)});
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) {
                const double product = m[4 * i] * m[4 * j] + m[4 * i + 1] * m[4 * j + 1] + m[4 * i + 2] * m[4 * j + 2];
                worst = std::max(worst, std::fabs(product - (i == j ? 1.0 : 0.0)));
            }
        const double determinant = m[0] * (m[5] * m[10] - m[6] * m[9]) - m[1] * (m[4] * m[10] - m[6] * m[8]) +
                                   m[2] * (m[4] * m[9] - m[5] * m[8]);
        result[k] = determinant > 0.0 ? worst : std::numeric_limits<double>::infinity();
    }
}

void poses_at(const Motion& motion, const double* times, std::size_t count, double* result) {
    double rotation[9], position[3];
    for (std::size_t i = 0; i < count; ++i) {
        motion.at(times[i], rotation, position);
        double* pose = result + 16 * i;
        for (int row = 0; row < 3; ++row) {
            std::copy_n(rotation + 3 * row, 3, pose + 4 * row);
            pose[4 * row + 3] = position[row];
        }
        std::fill_n(pose + 12, 3, 0.0);
        pose[15] = 1.0;
    }
}

}  // namespace resweep
