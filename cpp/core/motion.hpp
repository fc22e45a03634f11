// How a sensor or an actor moves: poses over time, from the world's origin.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace resweep {

// Knots of rotation and position. Between two of them the rotation turns at a constant rate about one axis, and the
// position moves at constant velocity; before the first and after the last it stands.
class Motion {
  public:
    // `poses` are `count` row-major 4x4 matrices at increasing `times`.
    Motion(const double* times, const double* poses, std::size_t count);

    // Rotation (row-major 3x3) and position at `time`.
    void at(double time, double rotation[9], double position[3]) const;

    // Metres and radians a second at `time`, in the frame that the motion is in; the angular one is about its axis.
    void rates(double time, double linear[3], double angular[3]) const;

    bool still() const { return times_.size() == 1; }
    const std::vector<double>& times() const { return times_; }

  private:
    struct Knot {
        double rotation[9], position[3], axis[3], angle;
    };

    // The knot from which the motion at `time` goes on.
    std::size_t before(double time) const;

    std::vector<double> times_;
    std::vector<Knot> knots_;
};

// Row-major 4x4 poses (n, 16) at times.
void poses_at(const Motion& motion, const double* times, std::size_t count, double* result);

// Vectors (n, 3) of the moving frame, each at its own time, in the frame that the motion is in: as points, or turned
// only.
template <class Real>
void carry(const Motion& motion, const double* times, const Real* vectors, std::size_t count, bool turned_only,
           Real* result) {
    double rotation[9], position[3] = {}, known = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 0; i < count; ++i) {
        if (times[i] != known) {  // the channels of one firing share their time
            known = times[i];
            motion.at(known, rotation, position);
            if (turned_only) position[0] = position[1] = position[2] = 0.0;
        }
        const Real* v = vectors + 3 * i;
        for (int row = 0; row < 3; ++row) {
            const double* r = rotation + 3 * row;
            result[3 * i + row] = static_cast<Real>(r[0] * v[0] + r[1] * v[1] + r[2] * v[2] + position[row]);
        }
    }
}

}  // namespace resweep
