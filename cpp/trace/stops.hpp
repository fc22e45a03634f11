// What may stop a ray before a surface does: volumes and permeable discs, in order.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "scene/splats.hpp"
#include "scene/volumes.hpp"

namespace resweep {

// Share of what clutter explains that returns, at any range alike; the rest does not return. Neither is known better.
constexpr double kClutterReturns = 0.5;

// One of them. Either `volume` or `disc` is null.
struct Stop {
    double range, sigma;  // of the return, if it stops the ray: Gaussian
    double pass;          // probability that it does not
    const Crossing* volume;
    const DiscCrossing* disc;
};

// Spread of the range of a surface that a ray hits at the incidence `cosine`: noise of the range, `sigma`, and that of
// the surface along its normal, `height`, which a grazing ray spreads. Metres.
inline double surface_sigma(float sigma, float height, float cosine) {
    constexpr float kGrazing = 0.02f;  // normals are no better
    return std::hypot(double{sigma}, double{height} / std::max(cosine, kGrazing));
}

// Set `stops` to those up to the range `limit`, ordered by range; `crossings` and `discs` are sorted on the way.
// `sigma` is the noise of ranges, `slope` the width of the beam at 1 m. A disc that was recorded twice counts once.
void order_stops(std::vector<Crossing>& crossings, std::vector<DiscCrossing>& discs, float limit, float sigma,
                 float slope, std::vector<Stop>& stops);

}  // namespace resweep
