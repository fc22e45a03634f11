// How a sensor or an actor moves: poses over time, from the world's origin.
#pragma once

#include <cstddef>
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

}  // namespace resweep
