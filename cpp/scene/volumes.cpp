#include "scene/volumes.hpp"

#include <algorithm>
#include <limits>

#include "core/random.hpp"
#include "scene/callback_context.hpp"

namespace resweep {
namespace {

void bound_volume(const BoundsArguments* arguments) {
    const Volume& volume = static_cast<const Volumes*>(arguments->user)->volume[arguments->primitive];
    for (int axis = 0; axis < 3; ++axis) {
        arguments->bounds->lower[axis] = volume.mean[axis] - volume.half[axis];
        arguments->bounds->upper[axis] = volume.mean[axis] + volume.half[axis];
    }
}

// Call `use(lane, origin, direction, crossing)` for each valid ray that crosses the volume within its bounds. `rays`
// has the rows of RTCRayN.
template <class Use> void for_crossings(const UserArguments* arguments, const float* rays, const Use& use) {
    const std::uint32_t n = arguments->count;
    const auto& layer = *static_cast<const Volumes*>(arguments->user);
    for (std::uint32_t i = 0; i < n; ++i) {
        if (arguments->valid[i] != -1) continue;
        float origin[3], direction[3];
        for (std::uint32_t axis = 0; axis < 3; ++axis) {
            origin[axis] = rays[(kOriginRow + axis) * n + i];
            direction[axis] = rays[(kDirectionRow + axis) * n + i];
        }
        Crossing crossing;
        if (!cross(layer, arguments->primitive, origin, direction, crossing)) continue;
        if (crossing.centre + crossing.half < rays[kNearRow * n + i] ||
            crossing.centre - crossing.half > rays[kFarRow * n + i])
            continue;
        use(i, origin, direction, crossing);
    }
}

// Draw whether the volume stops each ray. Embree keeps the nearest volume that does. It compares the drawn range
// clamped to the chord, since the boxes around volumes end there; the u of the hit keeps the range as drawn.
void intersect_volume(const UserArguments* arguments) {
    const auto& context = *reinterpret_cast<const CallbackContext*>(arguments->context);
    const std::uint32_t n = arguments->count;
    float* rays = arguments->rays;
    const auto* ids = reinterpret_cast<const std::uint32_t*>(rays) + kRayIdRow * n;
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
        const float kept = std::clamp(range, std::max(crossing.centre - crossing.half, rays[kNearRow * n + i]),
                                      crossing.centre + crossing.half);
        const float far = rays[kFarRow * n + i];
        StoppedBy& last = context.stopped[ids[i]];
        const std::uint64_t number = crossing.layer->number(crossing.volume);
        // Of volumes that stop a ray at the same range, as all around the sensor do, the first in the world counts.
        if (kept > far || (kept == far && !(last.range == far && number < last.number))) return;
        last = {kept, number};
        rays[kFarRow * n + i] = kept;
        float* hits = rays + kFirstHitRow * n;
        for (std::uint32_t axis = 0; axis < 3; ++axis) hits[(kNormalRow + axis) * n + i] = -d[axis];
        hits[kURow * n + i] = std::max(range, 0.0f);
        auto* hit_ids = reinterpret_cast<std::uint32_t*>(hits);
        hit_ids[kPrimitiveRow * n + i] = arguments->primitive;
        hit_ids[kGeometryRow * n + i] = arguments->geometry;
        hit_ids[kInstanceRow * n + i] = context.embree.instance_id[0];
        hit_ids[kInstancePrimitiveRow * n + i] = context.embree.instance_primitive_id[0];
    });
}

// The same draw for occlusion queries.
void occlude_by_volume(const UserArguments* arguments) {
    const auto& context = *reinterpret_cast<const CallbackContext*>(arguments->context);
    const std::uint32_t n = arguments->count;
    const auto* ids = reinterpret_cast<const std::uint32_t*>(arguments->rays) + kRayIdRow * n;
    for_crossings(arguments, arguments->rays,
                  [&](std::uint32_t i, const float* o, const float* d, const Crossing& crossing) {
                      const std::uint64_t draw = volume_draw(context.keys[ids[i]], crossing, o, d);
                      if (!passes(draw, log_pass(crossing, context.slope)))
                          arguments->rays[kFarRow * n + i] = -std::numeric_limits<float>::infinity();
                  });
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
    const std::uint64_t number = crossing.layer->number(crossing.volume) + 1;
    return mix64(mix64(key + 0x9E3779B97F4A7C15ull * number) ^ cell);
}

float drawn_range(const Crossing& crossing, std::uint64_t draw) {
    const double z = normal(static_cast<std::uint32_t>(mix64(draw)));
    return static_cast<float>(crossing.centre + crossing.sigma * z);
}

Event volume_event(const Hit& hit, const Volumes& volumes) {
    const Volume& volume = volumes.volume[hit.primitive];
    const Seen seen = volumes.seen.empty() ? 0 : volumes.seen[hit.primitive];
    return {hit.u, 1.0f, 1.0f, volume.reflectance, volume.label, volume.instance, PrimitiveKind::kVolumes, seen};
}

OwnedGeometry volume_geometry(const Volumes& volumes) {
    OwnedGeometry owned = new_geometry(kUser);
    const Geometry geometry = owned.get();
    embree().set_user_count(geometry, static_cast<std::uint32_t>(volumes.volume.size()));
    embree().set_user_data(geometry, const_cast<Volumes*>(&volumes));
    embree().set_bounds(geometry, bound_volume, nullptr);
    embree().set_intersect(geometry, intersect_volume);
    embree().set_occluded(geometry, occlude_by_volume);
    embree().commit_geometry(geometry);
    check_embree("adding volumes");
    return owned;
}

}  // namespace resweep
