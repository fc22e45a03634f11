// Splats: oriented discs. Each is traced as a square of two triangles, and a filter refuses hits outside the disc. The
// same filter gathers overlapping discs along a ray in one traversal (C, 6.3.4).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "core/columns.hpp"
#include "core/embree.hpp"
#include "scene/event.hpp"

namespace resweep {

constexpr int kMaxDepth = 8;

// The discs of one layer. The arrays belong to the caller and outlive the scene.
struct Discs {
    const float* centre;  // (n, 3)
    const float* normal;  // (n, 3) unit
    const float* radius;  // (n,)
    std::size_t n_discs;
    Column<std::int32_t> label, instance;
    Column<float> reflectance;
    int depth;               // how many discs of one label a ray gathers, at most
    float gap;               // metres from one of these to the next, at most
    bool moving = false;     // in an actor's frame: the normals rotate with it
    int group = -1;          // the layer of the world that these belong to; its discs blend, whichever cell they are in
    Column<Seen> seen = {};  // how each was seen; null if that is not known
    Column<float> permeability = {};  // share of rays that each lets pass; null if all are opaque
    float incidence_exponent = 1.0f;  // the light they send back falls as the cosine of incidence to this power

    // The share of the light that is sent back at this cosine. Grazing incidence counts as 84 degrees, as it does where
    // reflectance is estimated; the diffuse law is exact.
    float falloff(float cosine) const {
        return incidence_exponent == 1.0f ? cosine : std::pow(std::max(cosine, 0.1f), incidence_exponent);
    }

    void prefetch(std::size_t disc) const {
        label.prefetch(disc);
        instance.prefetch(disc);
        reflectance.prefetch(disc);
        if (seen.data) seen.prefetch(disc);
    }

    Seen seen_of(std::size_t disc) const { return seen.data ? seen[disc] : 0; }
    float pass_of(std::size_t disc) const { return permeability.data ? permeability[disc] : 0.0f; }
};

// A permeable disc that a ray crossed.
struct DiscCrossing {
    const Discs* layer;
    std::uint32_t disc;
    float range;
};

// The nearest discs that one ray hit, in order of range.
struct DiscHits {
    int count = 0;
    std::array<float, kMaxDepth> range;
    std::array<std::uint32_t, kMaxDepth> disc;
    std::array<const Discs*, kMaxDepth> layer;
    std::array<std::uint32_t, kMaxDepth> instance;  // which copy of the layer
};

// Triangles for the discs, with the filter set. Embree keeps the address of `discs`.
OwnedGeometry disc_geometry(const Discs& discs);

// Squares around discs, one quad each, not yet committed: half the primitives of `disc_geometry`, and slower to trace
// in narrow packets.
OwnedGeometry disc_quads(const float* centre, const float* normal, const float* radius, std::size_t n);

// The 64 random bits that a ray of the pulse with this key draws on a permeable disc at `range`. They depend on where
// the disc is, not on its number. Rays that hit it in the same cell of 5 cm draw the same bits, as those in volumes
// do.
std::uint64_t disc_draw(std::uint64_t key, const float centre[3], const float origin[3], const float direction[3],
                        float range);

// The event of a hit on one disc.
Event disc_event(const Hit& hit, const Discs& discs);

// How many of the gathered discs, from the nearest on, make one surface that begins nearer than `limit`; and the weight
// of each, by its number from 0 on (C, eq. 17).
int blended(const DiscHits& hits, float limit);
double blend_weight(int at, int count);

// The gathered discs as one surface: weighted means (C, eqs. 16 and 17).
struct DiscSurface {
    float range, cosine, reflectance;
    std::int32_t label, instance;
    Seen seen;  // of the disc that was seen most often
};

// Combine the discs nearer than `limit`; false if there is none. `direction` is in the frame of the nearest disc.
bool combine_discs(const DiscHits& hits, const float direction[3], float limit, DiscSurface& surface);

}  // namespace resweep
