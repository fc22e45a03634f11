// From a pulse to its rays in the world: where the sensor is, where it aims, how the beam spreads.
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "trace.hpp"

namespace resweep {

// A pulse in the world: its origin, its axis d and the axes h and v across it, all unit.
struct Pulse {
    float origin[3], d[3], h[3], v[3];
    std::uint32_t beam;
};

class PulseMaker {
  public:
    PulseMaker(const Firing& firing, const Motion& motion, double start, const Noise& noise, const Philox& random);

    // The pulse that stands at `place` in the order of tracing.
    Pulse pulse(std::size_t place);

  private:
    void aim(std::uint32_t beam, double direction[3]) const;
    void turn_to(double time);

    const Firing& firing_;
    const Motion& motion_;
    double start_;
    const Noise& noise_;
    const Philox& random_;
    bool aimed_;
    double position_[3];
    float rotation_[9];
};

// Rays side by side, one array a coordinate, as packets take them.
struct Rays {
    std::vector<float> origin_x, origin_y, origin_z, direction_x, direction_y, direction_z;
    void resize(std::size_t count);
};

// How rays are set off from a pulse's axis: fixed offsets with their normalising scale, or drawn.
class RaySpread {
  public:
    RaySpread(const Beam& beam, const Philox& random);

    // Put the rays of a pulse into `rays`, from the row `first` on.
    void spread(const Pulse& pulse, std::size_t first, Rays& rays);

  private:
    void draw(std::uint32_t beam);

    const Beam& beam_;
    const Philox& random_;
    double half_h_, half_v_;
    std::vector<float> h_, v_, scale_;
};

}  // namespace resweep
