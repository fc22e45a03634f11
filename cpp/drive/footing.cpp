#include "drive/footing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "trace/packet_tracer.hpp"

namespace resweep {
namespace {

constexpr std::size_t kLanes = 8;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Heights of the four wheels, of which one without ground gets that of the plane through the others: the sums over
// the two diagonals of a rectangle are equal on a plane.
void fill_one(double height[4]) {
    constexpr int kOpposite[4] = {3, 2, 1, 0}, kSides[4][2] = {{1, 2}, {0, 3}, {0, 3}, {1, 2}};
    int lost = 0, last = 0;
    for (int wheel = 0; wheel < 4; ++wheel)
        if (std::isnan(height[wheel])) {
            ++lost;
            last = wheel;
        }
    if (lost == 1) height[last] = height[kSides[last][0]] + height[kSides[last][1]] - height[kOpposite[last]];
}

void normalise(double v[3]) {
    const double length = std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int i = 0; i < 3; ++i) v[i] /= length;
}

}  // namespace

void find_heights(const Scene& scene, const double origin[3], const GroundLabels& labels, const WheelSearch& search,
                  const double* places, const double* near, std::size_t count, double* heights) {
    PacketTracer<kLanes> tracer(scene);
    float origins[3 * kLanes], directions[3 * kLanes];
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        directions[3 * lane] = directions[3 * lane + 1] = 0.0f;
        directions[3 * lane + 2] = -1.0f;
    }
    const auto reach = static_cast<float>(search.step + search.drop);
    for (std::size_t first = 0; first < count; first += kLanes) {
        std::size_t active[kLanes], lanes = std::min(kLanes, count - first);
        double z[kLanes], other[kLanes];
        for (std::size_t i = 0; i < lanes; ++i) {
            active[i] = i;
            z[i] = near[first + i] + search.step;
            heights[first + i] = other[i] = kNone;
        }
        for (int surface = 0; surface < search.deepest && lanes > 0; ++surface) {
            for (std::size_t lane = 0; lane < lanes; ++lane) {
                const double* place = places + 2 * (first + active[lane]);
                origins[3 * lane] = static_cast<float>(place[0] - origin[0]);
                origins[3 * lane + 1] = static_cast<float>(place[1] - origin[1]);
                origins[3 * lane + 2] = static_cast<float>(z[active[lane]] - origin[2]);
            }
            tracer.aim(origins, directions, static_cast<int>(lanes));
            tracer.trace(static_cast<int>(lanes), reach);
            std::size_t left = 0;
            tracer.events(static_cast<int>(lanes), [&](int lane, const Event& event) {
                const std::size_t i = active[lane];
                const double height = z[i] - static_cast<double>(event.range);
                if (!std::isfinite(event.range) || height < near[first + i] - search.drop) return;
                const bool level = std::fabs(event.cosine) >= search.upward;
                const bool ground =
                    !search.labelled || labels.is_ground(event.label) || labels.is_unlabelled(event.label);
                if (level && ground) {
                    heights[first + i] = height;
                    return;
                }
                if (level) other[i] = height;
                z[i] = height - search.skip;
                active[left++] = i;
            });
            lanes = left;
        }
        for (std::size_t i = 0; i < std::min(kLanes, count - first); ++i)
            if (std::isnan(heights[first + i])) heights[first + i] = other[i];
    }
}

void stand_on(const Wheels& wheels, const double* places, const double* cosine, const double* sine,
              const double* heights, std::size_t count, double* poses) {
    const double* w = wheels.place;
    const double middle = (w[0] + w[2] + w[4] + w[6]) / 4.0;
    for (std::size_t at = 0; at < count; ++at) {
        double h[4], *pose = poses + 16 * at;
        std::copy_n(heights + 4 * at, 4, h);
        fill_one(h);
        const double along = (h[2] + h[3] - h[0] - h[1]) / (2 * wheels.wheelbase);
        const double across = (h[1] + h[3] - h[0] - h[2]) / (2 * wheels.track);
        const double level = (h[0] + h[1] + h[2] + h[3]) / 4.0 - along * middle;
        if (std::isnan(level) || along * along + across * across > wheels.steepest * wheels.steepest) {
            std::fill_n(pose, 16, kNone);
            continue;
        }
        double x[3] = {1.0, 0.0, along}, z[3] = {-along, -across, 1.0};
        normalise(x);
        normalise(z);
        const double y[3] = {z[1] * x[2] - z[2] * x[1], z[2] * x[0] - z[0] * x[2], z[0] * x[1] - z[1] * x[0]};
        const double c = cosine[at], s = sine[at], *const axes[3] = {x, y, z};
        for (int column = 0; column < 3; ++column) {
            const double* v = axes[column];
            pose[column] = c * v[0] - s * v[1];
            pose[4 + column] = s * v[0] + c * v[1];
            pose[8 + column] = v[2];
        }
        pose[3] = places[2 * at];
        pose[7] = places[2 * at + 1];
        pose[11] = level;
        std::fill_n(pose + 12, 3, 0.0);
        pose[15] = 1.0;
    }
}

}  // namespace resweep
