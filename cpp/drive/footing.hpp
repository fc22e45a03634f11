// The ground under a vehicle's four wheels.
#pragma once

#include <cstddef>

#include "drive/ground_labels.hpp"
#include "scene/scene.hpp"

namespace resweep {

// How wheels look for ground: from `step` metres above where they were to `drop` below, on surfaces whose normals have
// an absolute cosine of at least `upward` with the vertical. Without `labelled` any such surface is ground.
struct WheelSearch {
    double step, drop, skip;
    float upward;
    int deepest;  // surfaces hit on the way down
    bool labelled;
};

// Height of the ground below places (n, 2) near heights (n,); NaN where there is none. Where nothing below has a label
// of the ground, it is the lowest level surface. The geometry of the world lies around `origin`.
void find_heights(const Scene& scene, const double origin[3], const GroundLabels& labels, const WheelSearch& search,
                  const double* places, const double* near, std::size_t count, double* heights);

// Wheels of a vehicle (4, 2): rear right, rear left, front right, front left; and the steepest slope, as a tangent.
struct Wheels {
    const double* place;
    double wheelbase, track, steepest;
};

// Row-major 4x4 poses on the planes that fit the heights (n, 4) of the wheels best, at places (n, 2) with cosine and
// sine (n,) of the heading. NaN where two wheels have no ground, or where it is too steep; one wheel may hang.
void stand_on(const Wheels& wheels, const double* places, const double* cosine, const double* sine,
              const double* heights, std::size_t count, double* poses);

}  // namespace resweep
