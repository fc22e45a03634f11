// From a pulse to its rays in the world: where the sensor is, where it aims, how the beam spreads.
#pragma once

#include <array>
#include <cmath>
#include <map>
#include <utility>
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

    // Draw the offsets of a pulse's rays, where they are drawn at all; they hold until the next draw.
    void draw(std::uint32_t beam);

    // Put one ray of a pulse into row `row` of `rays`.
    void put(const Pulse& pulse, std::size_t ray, std::size_t row, Rays& rays) const {
        rays.origin_x[row] = pulse.origin[0];
        rays.origin_y[row] = pulse.origin[1];
        rays.origin_z[row] = pulse.origin[2];
        const float h = h_[ray], v = v_[ray], scale = scale_[ray];
        rays.direction_x[row] = (pulse.d[0] + h * pulse.h[0] + v * pulse.v[0]) * scale;
        rays.direction_y[row] = (pulse.d[1] + h * pulse.h[1] + v * pulse.v[1]) * scale;
        rays.direction_z[row] = (pulse.d[2] + h * pulse.h[2] + v * pulse.v[2]) * scale;
    }

  private:
    const Beam& beam_;
    const Philox& random_;
    double half_h_, half_v_;
    std::vector<float> h_, v_, scale_;
};

// The order in which the rays of a chunk of pulses are traced: from side to side, so that a packet
// of them is as narrow as can be. Spots that overlap share packets.
class RayOrder {
  public:
    struct Place {
        std::uint32_t pulse, ray;
    };

    explicit RayOrder(const Beam& beam) : beam_(beam) {}

    // The order for `count` pulses that lie `spacing` radians apart, leftwards.
    const std::vector<Place>& of(std::size_t count, double spacing);

  private:
    const Beam& beam_;
    std::map<std::pair<std::size_t, int>, std::vector<Place>> known_;
};

// Mean angle from one pulse to the next, leftwards, of the chunk's pulses first..last-1.
double pulse_spacing(const Firing& firing, std::size_t first, std::size_t last);

}  // namespace resweep
