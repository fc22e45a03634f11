// From a pulse to its rays in the world: where the sensor is, where it aims, how the beam spreads.
#pragma once

#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "trace/trace.hpp"

namespace resweep {

// Neighbouring pulses in the world, one array a coordinate: origins, axes d and the axes h and v
// across them, all unit.
struct PulseBatch {
    std::vector<float> origin[3], d[3], h[3], v[3];
    std::vector<std::uint32_t> beam;
    std::size_t count = 0;
    bool one_origin = true;  // all origins are that of the first

    void resize(std::size_t count);
};

class PulseMaker {
  public:
    // `axial`: every ray lies on its pulse's axis, so that the axes across it are left out.
    PulseMaker(const Firing& firing, const Motion& motion, double start, const Noise& noise, const Philox& random,
               bool axial);

    // The pulses that stand at first..last-1 in the order of tracing.
    void make(std::size_t first, std::size_t last, PulseBatch& batch);

  private:
    void aim(std::uint32_t beam, double direction[3]) const;
    void place(std::size_t first, PulseBatch& batch);

    const Firing& firing_;
    const Motion& motion_;
    double start_;
    const Noise& noise_;
    const Philox& random_;
    bool aimed_, axial_;
};

// Unit directions of rays, one array a coordinate. Ray r of pulse p of a batch is row r * count + p.
struct Rays {
    std::vector<float> direction[3];
    void resize(std::size_t count);
};

// How rays are set off from a pulse's axis: fixed offsets with their normalising scale, or drawn.
class RaySpread {
  public:
    RaySpread(const Beam& beam, const Philox& random);
    void spread(const PulseBatch& batch, Rays& rays) const;

  private:
    void draw(std::uint32_t beam, std::uint32_t ray, float& h, float& v) const;

    const Beam& beam_;
    const Philox& random_;
    double half_h_, half_v_;
};

// The order in which the rays of a chunk of pulses are traced: from side to side, so that a packet
// of them is as narrow as can be. Spots that overlap share packets.
class RayOrder {
  public:
    // Where each ray stands in `Rays`, and which pulse it is of.
    struct Order {
        std::vector<std::uint32_t> row, pulse;
    };

    explicit RayOrder(const Beam& beam) : beam_(beam) {}

    // The order for `count` pulses that lie `spacing` radians apart, leftwards.
    const Order& of(std::size_t count, double spacing);

  private:
    const Beam& beam_;
    std::map<std::pair<std::size_t, int>, Order> known_;
};

// Mean angle from one pulse to the next, leftwards, of the chunk's pulses first..last-1.
double pulse_spacing(const Firing& firing, std::size_t first, std::size_t last);

}  // namespace resweep
