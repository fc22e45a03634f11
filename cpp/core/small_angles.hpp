// Sine and cosine of small angles, as loops over vectors can compute them.
#pragma once

namespace resweep {

constexpr double kSmallAngle = 0.02;  // radians; up to it the series below are as exact as a double

inline double small_sine(double angle) {
    const double square = angle * angle;
    return angle - angle * square * (1.0 / 6.0 - square * (1.0 / 120.0 - square * (1.0 / 5040.0)));
}

inline double small_cosine(double angle) {
    const double square = angle * angle;
    return 1.0 - square * (0.5 - square * (1.0 / 24.0 - square * (1.0 / 720.0)));
}

}  // namespace resweep
