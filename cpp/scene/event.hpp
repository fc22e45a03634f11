// What a ray hits, and what that sends back.
#pragma once

#include <cstdint>
#include <limits>

#include "scene/seen.hpp"

namespace resweep {

// The range of a ray that hits nothing.
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Which kind of primitive sent light back.
enum class PrimitiveKind : std::uint8_t { kMesh = 1, kSplats = 2, kVolumes = 3 };

// What a ray hits along its way.
struct Event {
    float range;      // metres along the ray
    float share;      // part of the beam that this ray carries
    float cosine;     // of the incidence angle, 0 to 1
    float reflected;  // relative intensity sent back: B, eq. 1, and the specular and retro-reflective parts
    std::int32_t label;
    std::int32_t instance;
    PrimitiveKind kind;
    Seen seen = 0;  // of the primitive
};

// A hit as Embree reports it. The normal is in the frame of the primitive, the direction in that of the world;
// the cosine between the two is that of the incidence only where both frames are the same.
struct Hit {
    float normal[3], direction[3], range, cosine, u;
    std::uint32_t primitive, geometry, instance, instance_primitive;
    std::uint32_t cell = 0;  // of a divided scene, which it was hit in
};

}  // namespace resweep
