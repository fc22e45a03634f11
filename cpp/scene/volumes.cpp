#include "scene/volumes.hpp"

#include <algorithm>

#include "scene/callback_context.hpp"
#include "core/random.hpp"

namespace resweep {
namespace {

// Rows of a packet of N rays and hits, as Embree lays them out.
enum Row : std::uint32_t { kOrigin = 0, kNear = 3, kDirection = 4, kFar = 8, kId = 10, kHit = 12 };
enum HitRow : std::uint32_t { kNormal = 12, kU = 15, kPrimitive = 17, kGeometry = 18, kInstance = 19 };

void bound_volume(const BoundsArguments* arguments) {
    const Volume& volume = static_cast<const Volumes*>(arguments->user)->volume[arguments->primitive];
    for (int axis = 0; axis < 3; ++axis) {
        arguments->bounds[axis] = volume.mean[axis] - volume.half[axis];
        arguments->bounds[4 + axis] = volume.mean[axis] + volume.half[axis];
    }
}

// Calls `use(lane, ray, crossing)` for each valid ray that crosses the volume within its bounds; `rays` has the
// rows of RTCRayN.
template <class Use> void for_crossings(const UserArguments* arguments, const float* rays, const Use& use) {
    const std::uint32_t n = arguments->count;
    const auto& layer = *static_cast<const Volumes*>(arguments->user);
    for (std::uint32_t i = 0; i < n; ++i) {
        if (arguments->valid[i] != -1) continue;
        float origin[3], direction[3];
        for (std::uint32_t axis = 0; axis < 3; ++axis) {
            origin[axis] = rays[(kOrigin + axis) * n + i];
            direction[axis] = rays[(kDirection + axis) * n + i];
        }
        Crossing crossing;
        if (!cross(layer, arguments->primitive, origin, direction, crossing)) continue;
        if (crossing.centre + crossing.half < rays[kNear * n + i] ||
            crossing.centre - crossing.half > rays[kFar * n + i])
            continue;
        use(i, origin, direction, crossing);
    }
}

// Draw whether the volume stops each ray. Embree keeps the nearest that does, by the drawn range held within the
// chord, since the boxes around volumes end there; the hit's u keeps the range as drawn.
void meet_volume(const UserArguments* arguments) {
    const auto& context = *reinterpret_cast<const QueryContext*>(arguments->context);
    const std::uint32_t n = arguments->count;
    float* rays = arguments->rays;
    const auto* ids = reinterpret_cast<const std::uint32_t*>(rays) + kId * n;
    if (context.crossings) {
        for_crossings(arguments, rays, [&](std::uint32_t i, const float*, const float*, const Crossing& crossing) {
            context.crossings[ids[i]].push_back(crossing);
        });
        return;
    }
    for_crossings(arguments, rays, [&](std::uint32_t i, const float* o, const float* d, const Crossing& crossing) {
        const std::uint64_t draw = volume_draw(context.keys[ids[i]], crossing, o, d);
        if (passes(draw, log_pass(crossing, context.slope))) return;
        const float range = drawn_range(crossing, draw);
        const float kept = std::clamp(range, std::max(crossing.centre - crossing.half, rays[kNear * n + i]),
                                      crossing.centre + crossing.half);
        if (kept >= rays[kFar * n + i]) return;
        rays[kFar * n + i] = kept;
        for (std::uint32_t axis = 0; axis < 3; ++axis) rays[(kNormal + axis) * n + i] = -d[axis];
        rays[kU * n + i] = std::max(range, 0.0f);
        auto* words = reinterpret_cast<std::uint32_t*>(rays);
        words[kPrimitive * n + i] = arguments->primitive;
        words[kGeometry * n + i] = arguments->geometry;
        words[kInstance * n + i] = context.embree.instance_id[0];
        words[(kInstance + 1) * n + i] = context.embree.instance_primitive_id[0];
    });
}

// The same draw for rays that ask only whether anything stops them.
void hide_behind_volume(const UserArguments* arguments) {
    const auto& context = *reinterpret_cast<const QueryContext*>(arguments->context);
    const std::uint32_t n = arguments->count;
    const auto* ids = reinterpret_cast<const std::uint32_t*>(arguments->rays) + kId * n;
    for_crossings(arguments, arguments->rays,
                  [&](std::uint32_t i, const float* o, const float* d, const Crossing& crossing) {
                      const std::uint64_t draw = volume_draw(context.keys[ids[i]], crossing, o, d);
                      if (!passes(draw, log_pass(crossing, context.slope)))
                          arguments->rays[kFar * n + i] = -std::numeric_limits<float>::infinity();
                  });
}

// The finaliser of splitmix64 (Steele et al. 2014, "Fast splittable pseudorandom number generators").
std::uint64_t mixed(std::uint64_t word) {
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ull;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBull;
    return word ^ (word >> 31);
}

}  // namespace

std::uint64_t volume_draw(std::uint64_t key, const Crossing& crossing, const float origin[3],
                          const float direction[3]) {
    std::uint64_t cell = 0;
    const float size = crossing.layer->element;
    if (size < std::numeric_limits<float>::infinity())
        for (int axis = 0; axis < 3; ++axis) {
            const float at = std::floor((origin[axis] + crossing.centre * direction[axis]) / size);
            cell = cell * 0xD6E8FEB86659FD93ull + static_cast<std::uint32_t>(static_cast<std::int64_t>(at));
        }
    const std::uint64_t number = std::uint64_t{crossing.layer->first} + crossing.volume + 1;
    return mixed(mixed(key + 0x9E3779B97F4A7C15ull * number) ^ cell);
}

float drawn_range(const Crossing& crossing, std::uint64_t draw) {
    const double z = normal(static_cast<std::uint32_t>(mixed(draw)));
    return static_cast<float>(crossing.centre + crossing.sigma * z);
}

Geometry volume_geometry(const Volumes& volumes) {
    Geometry geometry = embree().new_geometry(embree_device(), kUser);
    embree().set_user_count(geometry, static_cast<std::uint32_t>(volumes.volume.size()));
    embree().set_user_data(geometry, const_cast<Volumes*>(&volumes));
    embree().set_bounds(geometry, bound_volume, nullptr);
    embree().set_intersect(geometry, meet_volume);
    embree().set_occluded(geometry, hide_behind_volume);
    embree().commit_geometry(geometry);
    check_embree("adding volumes");
    return geometry;
}

}  // namespace resweep
