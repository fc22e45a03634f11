#include "map/implicit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace resweep {
namespace {

// Call `visit(row, corner, offset, square)` for every corner within reach of every point.
template <class Visit> void for_pairs(const OrientedPoints& points, double reach, std::int32_t side, Visit&& visit) {
    const auto pad = static_cast<std::int32_t>(std::ceil(reach)) + 1;
    for (std::size_t row = 0; row < points.count; ++row) {
        const std::int32_t* cube = points.cube + 3 * row;
        const double* part = points.part + 3 * row;
        std::int32_t low[3], high[3];
        for (int axis = 0; axis < 3; ++axis) {
            low[axis] = std::max(-pad, -cube[axis]);
            high[axis] = std::min(pad, side - 1 - cube[axis]);
        }
        for (std::int32_t x = low[0]; x <= high[0]; ++x) {
            const double dx = x - part[0];
            for (std::int32_t y = low[1]; y <= high[1]; ++y) {
                const double dy = y - part[1];
                const double flat = dx * dx + dy * dy;
                if (flat > reach * reach) continue;
                const std::size_t line = (static_cast<std::size_t>(cube[0] + x) * side + (cube[1] + y)) * side;
                for (std::int32_t z = low[2]; z <= high[2]; ++z) {
                    const double dz = z - part[2];
                    const double square = flat + dz * dz;
                    if (square > reach * reach) continue;
                    visit(row, line + (cube[2] + z), std::array<double, 3>{dx, dy, dz}, square);
                }
            }
        }
    }
}

double dot(const double* normal, const std::array<double, 3>& offset) {
    return normal[0] * offset[0] + normal[1] * offset[1] + normal[2] * offset[2];
}

double difference2(const double* normal, const std::array<double, 3>& slope) {
    const double x = normal[0] - slope[0], y = normal[1] - slope[1], z = normal[2] - slope[2];
    return x * x + y * y + z * z;
}

void imls(const OrientedPoints& points, const ImplicitSettings& settings, std::int32_t side, float* value,
          std::uint8_t* known) {
    const std::size_t count = static_cast<std::size_t>(side) * side * side;
    std::vector<double> weight(count), distance(count);
    const double sharp = 1.0 / (settings.sigma * settings.sigma), end = settings.truncation * settings.truncation;
    std::fill(known, known + count, std::uint8_t{0});
    for_pairs(points, settings.reach, side,
              [&](std::size_t row, std::size_t corner, const auto& offset, double square) {
                  const double theta = std::exp(-square * sharp);  // C, eq. 3
                  weight[corner] += theta;
                  distance[corner] += theta * dot(points.normal + 3 * row, offset);
                  if (square <= end) known[corner] = 1;
              });
    for (std::size_t i = 0; i < count; ++i) value[i] = weight[i] > 0 ? static_cast<float>(distance[i] / weight[i]) : 0;
}

struct Sums {
    double w, wf;
    std::array<double, 3> wn, gw, gwf;  // of weighted normals, of gradients of weights, and of these times f
    std::int32_t count;
};

void rimls(const OrientedPoints& points, const ImplicitSettings& settings, std::int32_t side, float* value,
           std::uint8_t* known) {
    const std::size_t count = static_cast<std::size_t>(side) * side * side;
    const double shrink = 1.0 / (settings.reach * settings.reach);
    const double strict = 1.0 / (settings.sigma_normal * settings.sigma_normal);
    // Most corners of a tile have no point within reach: only the others have sums.
    std::vector<std::int32_t> slot(count, -1);
    std::int32_t used = 0;
    for_pairs(points, settings.reach, side, [&](std::size_t, std::size_t corner, const auto&, double) {
        if (slot[corner] < 0) slot[corner] = used++;
    });
    std::vector<Sums> sums(used);
    std::vector<std::array<double, 3>> slope(used);
    for (int turn = 0; turn <= settings.refits; ++turn) {
        std::fill(sums.begin(), sums.end(), Sums{});
        for_pairs(points, settings.reach, side,
                  [&](std::size_t row, std::size_t corner, const auto& offset, double square) {
                      const double* normal = points.normal + 3 * row;
                      const double left = std::max(0.0, 1.0 - square * shrink), f = dot(normal, offset);
                      double alpha = 1.0;
                      if (turn > 0) alpha = std::exp(-difference2(normal, slope[slot[corner]]) * strict);
                      const double w = alpha * left * left * left * left;
                      const double steep = -8.0 * shrink * alpha * left * left * left;
                      Sums& sum = sums[slot[corner]];
                      sum.w += w;
                      sum.wf += w * f;
                      ++sum.count;
                      for (int axis = 0; axis < 3; ++axis) {
                          sum.wn[axis] += w * normal[axis];
                          sum.gw[axis] += steep * offset[axis];
                          sum.gwf[axis] += steep * offset[axis] * f;
                      }
                  });
        for (std::int32_t i = 0; i < used; ++i) {
            const Sums& sum = sums[i];
            if (!(sum.w > 0)) continue;
            for (int axis = 0; axis < 3; ++axis)
                slope[i][axis] = (sum.wn[axis] + sum.gwf[axis] - sum.wf / sum.w * sum.gw[axis]) / sum.w;
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        known[i] = slot[i] >= 0 && sums[slot[i]].w > 0 && sums[slot[i]].count >= settings.min_points;
        value[i] = known[i] ? static_cast<float>(sums[slot[i]].wf / sums[slot[i]].w) : 0;
    }
}

}  // namespace

void signed_distances(const OrientedPoints& points, const ImplicitSettings& settings, std::int32_t side, float* value,
                      std::uint8_t* known) {
    (settings.method == ImplicitMethod::kRimls ? rimls : imls)(points, settings, side, value, known);
}

}  // namespace resweep
