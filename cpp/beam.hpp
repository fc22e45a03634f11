// From a pulse to its rays in the world: where the sensor is, where it aims, how the beam spreads.
#pragma once

#include "trace.hpp"

namespace resweep {

class RayMaker {
  public:
    RayMaker(const Firing& firing, const Motion& motion, double start, const Beam& beam, const Noise& noise,
             const Philox& random);

    // The pulse's origin, and unit directions (n_rays, 3), in the world.
    void rays(std::size_t pulse, float origin[3], float* directions);

  private:
    void aim(std::uint32_t pulse, double direction[3]) const;

    const Firing& firing_;
    const Motion& motion_;
    double start_;
    const Beam& beam_;
    const Noise& noise_;
    const Philox& random_;
    double rotation_[9], position_[3];
};

}  // namespace resweep
