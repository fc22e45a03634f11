// How a sensor or an actor moves: its poses over time.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace resweep {

// Poses at knots, and between them. From knot to knot the rotation turns at a constant rate about one axis and the
// position moves at constant velocity. Before the first knot and after the last the motion stands still.
class Motion {
  public:
    // `poses` are `count` row-major 4x4 matrices at increasing `times`.
    Motion(const double* times, const double* poses, std::size_t count);

    // Rotation (row-major 3x3) and position at `time`.
    void at(double time, double rotation[9], double position[3]) const;

    // The same at many `times`, one array for each coefficient.
    void at(const double* times, std::size_t count, float* const rotation[9], double* const position[3]) const;

    // Linear velocity, metres per second, and angular velocity, radians per second, at `time`; both in the world's
    // frame.
    void velocity(double time, double linear[3], double angular[3]) const;

    bool still() const { return times_.size() == 1; }
    const std::vector<double>& times() const { return times_; }

  private:
    struct Knot {
        double rotation[9], position[3], axis[3], angle;
    };

    // The knot at which the interval around `time` begins.
    std::size_t knot_before(double time) const;

    std::vector<double> times_;
    std::vector<Knot> knots_;
};

// How far row-major 4x4 poses (n, 16) are from rigid motions: the largest deviation of R R^T from the identity and of
// the last row from 0 0 0 1. Infinity where the determinant is not positive, NaN where a number is not finite.
void rigid_deviations(const double* poses, std::size_t count, double* result);

// Row-major 4x4 poses (n, 16) at `times` (n,).
void poses_at(const Motion& motion, const double* times, std::size_t count, double* result);

// Vectors (n, 3) of the moving frame at `times` (n,), in the world's frame: as points, or as directions, which are
// rotated only.
template <class Real>
void to_world(const Motion& motion, const double* times, const Real* vectors, std::size_t count, bool directions,
              Real* result) {
    double rotation[9], position[3] = {}, known = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 0; i < count; ++i) {
        if (times[i] != known) {  // the channels of one firing share their time
            known = times[i];
            motion.at(known, rotation, position);
            if (directions) position[0] = position[1] = position[2] = 0.0;
        }
        const Real* v = vectors + 3 * i;
        for (int row = 0; row < 3; ++row) {
            const double* r = rotation + 3 * row;
            result[3 * i + row] = static_cast<Real>(r[0] * v[0] + r[1] * v[1] + r[2] * v[2] + position[row]);
        }
    }
}

}  // namespace resweep
