#include "drive/box_probe.hpp"

#include <algorithm>
#include <cmath>

#include "trace/packet_tracer.hpp"

namespace resweep {
namespace {

constexpr std::size_t kLanes = 8;

// R v of a row-major 4x4 pose.
void rotate(const double* pose, const double* v, double out[3]) {
    for (int i = 0; i < 3; ++i) out[i] = v[0] * pose[4 * i] + v[1] * pose[4 * i + 1] + v[2] * pose[4 * i + 2];
}

}  // namespace

std::optional<BoxStrike> find_strike(const Scene& scene, const double origin[3], const GroundLabels& labels,
                                     const BoxRays& rays, float side_on, const double* poses, std::size_t count) {
    PacketTracer<kLanes> tracer(scene);
    const auto longest = static_cast<float>(*std::max_element(rays.length, rays.length + rays.count));
    double begin[kLanes][3], along[kLanes][3];
    float origins[3 * kLanes], directions[3 * kLanes];
    for (std::size_t at = 0; at < count; ++at)
        for (std::size_t first = 0; first < rays.count; first += kLanes) {
            const double* pose = poses + 16 * at;
            const std::size_t lanes = std::min(kLanes, rays.count - first);
            for (std::size_t lane = 0; lane < lanes; ++lane) {
                rotate(pose, rays.begin + 3 * (first + lane), begin[lane]);
                rotate(pose, rays.along + 3 * (first + lane), along[lane]);
                for (std::size_t i = 0; i < 3; ++i) {
                    begin[lane][i] += pose[4 * i + 3];
                    origins[3 * lane + i] = static_cast<float>(begin[lane][i] - origin[i]);
                    directions[3 * lane + i] = static_cast<float>(along[lane][i]);
                }
            }
            tracer.aim(origins, directions, static_cast<int>(lanes));
            tracer.trace(static_cast<int>(lanes), longest);
            std::optional<BoxStrike> found;
            tracer.events(static_cast<int>(lanes), [&](int lane, const Event& event) {
                if (found || event.range > rays.length[first + static_cast<std::size_t>(lane)]) return;
                const bool grazed = labels.is_unlabelled(event.label) && std::fabs(event.cosine) < side_on;
                if (grazed || labels.is_ground(event.label)) return;
                found = BoxStrike{at, {}, event.label, event.instance};
                for (int i = 0; i < 3; ++i) found->place[i] = begin[lane][i] + along[lane][i] * event.range;
            });
            if (found) return found;
        }
    return std::nullopt;
}

}  // namespace resweep
