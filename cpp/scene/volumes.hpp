// Permeable volumes: Gaussians that stop a ray with some probability (A, sections III and IV).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/embree.hpp"
#include "scene/event.hpp"

namespace resweep {

// One volume, in one line of the cache.
struct Volume {
    float mean[3];
    float precision[6];  // inverse of the covariance: xx, xy, xz, yy, yz, zz
    float half[3];       // half the size of the box around the isosurface
    float log_pass;      // log of the probability to pass; with extinction, per metre of exposure
    float reflectance;
    std::int32_t label, instance;
};
static_assert(sizeof(Volume) == 64);

// The volumes of one layer.
struct Volumes {
    std::vector<Volume> volume;
    float tau = 2.0f;                         // Mahalanobis distance up to which a ray crosses a volume (A, III-C)
    bool extinction = false;                  // the probability to pass falls with the exposure of the ray
    float element = 0.01f;                    // metres: rays of a pulse that cross within this hit the same leaf
    std::uint32_t first = 0;                  // number of the first one among all volumes of the scene
    std::vector<std::uint32_t> numbers = {};  // in the whole world, if these are not all of it
    std::vector<Seen> seen = {};              // how each was seen; empty if that is not known

    // The number of a volume in the world, which its random bits depend on.
    std::uint64_t number(std::uint32_t index) const {
        return numbers.empty() ? std::uint64_t{first} + index : numbers[index];
    }
};

// How a ray crosses a volume (A, eqs. 1 to 3). The range has mean `centre` and standard deviation `sigma`; `offset2` is
// the smallest squared Mahalanobis distance along the ray, `half` half of the chord within the isosurface.
struct Crossing {
    const Volumes* layer;
    std::uint32_t volume;
    float centre, sigma, offset2, half;
};

// How much matter a ray crosses in a volume, relative to a ray through its centre, in metres.
inline float exposure(const Crossing& crossing) { return crossing.sigma * std::exp(-0.5f * crossing.offset2); }

// How much more often a beam of this width hits leaves of this size than a ray without width does (a Boolean model
// of square leaves).
inline float widening(float width, float element) {
    const float ratio = 1.0f + width / element;
    return ratio * ratio;
}

// Log of the probability that a ray passes. `slope` is the width of the beam at 1 m, if one ray stands for all of it.
inline float log_pass(const Crossing& crossing, float slope) {
    const Volumes& layer = *crossing.layer;
    const float rate = layer.volume[crossing.volume].log_pass;
    if (!layer.extinction) return rate;
    return rate * exposure(crossing) * widening(slope * std::max(crossing.centre, 0.0f), layer.element);
}

// The crossing of a ray (unit direction) with a volume; false if it stays farther away than tau.
inline bool cross(const Volumes& layer, std::uint32_t index, const float origin[3], const float direction[3],
                  Crossing& crossing) {
    const Volume& volume = layer.volume[index];
    const float *a = volume.precision, *d = direction;
    const float x = volume.mean[0] - origin[0], y = volume.mean[1] - origin[1], z = volume.mean[2] - origin[2];
    const float u = a[0] * d[0] + a[1] * d[1] + a[2] * d[2], v = a[1] * d[0] + a[3] * d[1] + a[4] * d[2],
                w = a[2] * d[0] + a[4] * d[1] + a[5] * d[2];
    const float squared = u * d[0] + v * d[1] + w * d[2];
    const float centre = (u * x + v * y + w * z) / squared;
    // Measured from the nearest point, not from the origin: differences of large squares would lose all digits.
    const float p = centre * d[0] - x, q = centre * d[1] - y, r = centre * d[2] - z;
    const float offset2 =
        p * (a[0] * p + 2.0f * (a[1] * q + a[2] * r)) + q * (a[3] * q + 2.0f * a[4] * r) + a[5] * r * r;
    const float tau2 = layer.tau * layer.tau;
    if (!(offset2 < tau2)) return false;
    const float sigma = 1.0f / std::sqrt(squared);
    crossing = {&layer, index, centre, sigma, offset2, sigma * std::sqrt(tau2 - offset2)};
    return true;
}

// The 64 random bits that a ray of the pulse with this key draws in a volume. Rays that cross it in the same cell, of
// the size of a leaf, draw the same bits.
std::uint64_t volume_draw(std::uint64_t key, const Crossing& crossing, const float origin[3], const float direction[3]);

// The measured range if the draw stops the ray: A, eqs. 2 and 3.
float drawn_range(const Crossing& crossing, std::uint64_t draw);

// Whether the draw lets the ray pass: its first 24 bits, as many as a float32 holds.
inline bool passes(std::uint64_t draw, float log_pass) {
    return static_cast<float>(draw >> 40) * (1.0f / 16777216.0f) < std::exp(log_pass);
}

// User geometry for the volumes. Embree keeps the address of `volumes`.
OwnedGeometry volume_geometry(const Volumes& volumes);

// The event of a hit in a volume. A volume has no side, so all of its light comes back.
Event volume_event(const Hit& hit, const Volumes& volumes);

}  // namespace resweep
