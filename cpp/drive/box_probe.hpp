// Whether anything stands within a vehicle's box: rays through it, along and across.
#pragma once

#include <cstddef>
#include <optional>

#include "drive/ground_labels.hpp"
#include "scene/scene.hpp"

namespace resweep {

// Rays in the vehicle's frame: origins and unit directions (r, 3), and lengths (r,), metres.
struct BoxRays {
    const double *begin, *along, *length;
    std::size_t count;
};

// The first pose at which something is within the box: its number, where in the world the first ray hit it, and what.
struct BoxStrike {
    std::size_t pose;
    double place[3];
    std::int32_t label, instance;
};

// `poses` are `count` row-major 4x4 matrices in the world, whose geometry lies around `origin`. Ground is no obstacle;
// what has no label is ground where rays graze it, with an absolute cosine of incidence below `side_on`.
std::optional<BoxStrike> find_strike(const Scene& scene, const double origin[3], const GroundLabels& labels,
                                     const BoxRays& rays, float side_on, const double* poses, std::size_t count);

}  // namespace resweep
