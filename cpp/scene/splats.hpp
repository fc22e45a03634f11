// Splats: oriented discs, traced as squares of two triangles whose corners a filter cuts off, and the
// accumulation of overlapping ones along a ray (C, 6.3.4) in one traversal.
#pragma once

#include <array>
#include <cstdint>

#include "core/embree.hpp"
#include "scene/callback_context.hpp"

namespace resweep {

constexpr int kMaxDepth = 8;

// The discs of one layer. The arrays belong to the caller and outlive the scene.
struct Discs {
    const float* centre;  // (n, 3)
    const float* normal;  // (n, 3) unit
    const float* radius;  // (n,)
    std::size_t n_discs;
    const std::int32_t* label;
    std::size_t label_stride;
    const std::int32_t* instance;
    std::size_t instance_stride;
    const float* reflectance;
    std::size_t reflectance_stride;
    int depth;            // discs of one label that a ray gathers
    float gap;            // metres from one to the next, at the most
    bool moving = false;  // in an actor's frame: their normals turn with it
};

// The nearest discs that one ray met, in order of range.
struct DiscHits {
    int count = 0;
    std::array<float, kMaxDepth> range;
    std::array<std::uint32_t, kMaxDepth> disc;
    std::array<const Discs*, kMaxDepth> layer;
    std::array<std::uint32_t, kMaxDepth> instance;  // which copy of the layer
};

// Triangles for the discs, with the filter in place. `discs` must stay where it is.
Geometry disc_geometry(const Discs& discs);

// Squares around discs, one quad each and not yet committed: half the primitives of `disc_geometry`, and slower to
// trace in narrow packets.
Geometry disc_quads(const float* centre, const float* normal, const float* radius, std::size_t n);

// What the gathered discs read as one surface: weighted means (C, eqs. 16 and 17).
struct DiscReading {
    float range, cosine, reflectance;
    std::int32_t label, instance;
};

// Read the discs that lie before `limit`; false if there is none. `direction` is in the frame of the nearest one.
bool read_discs(const DiscHits& hits, const float direction[3], float limit, DiscReading& reading);

}  // namespace resweep
