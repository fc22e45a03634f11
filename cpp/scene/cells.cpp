#include "scene/cells.hpp"

#include <algorithm>

#include "scene/callback_context.hpp"

namespace resweep {
namespace {

void bound_cell(const BoundsArguments* arguments) {
    *arguments->bounds = static_cast<const Scene::Cells*>(arguments->user)->box[arguments->primitive];
}

// The scene of the cell that rays enter; null if it is not at hand, which is noted.
const Scene* find_scene(const UserArguments* arguments) {
    auto& cells = *static_cast<Scene::Cells*>(arguments->user);
    const Scene* found = cells.scene[arguments->primitive].load(std::memory_order_acquire);
    if (!found) cells.missing.store(true, std::memory_order_relaxed);
    return found;
}

// Trace N rays on in a cell, and note for those that hit something there that it was there.
template <int N> void intersect_within(const UserArguments* arguments, const Scene& scene) {
    const auto& context = *reinterpret_cast<const CallbackContext*>(arguments->context);
    auto& packet = *reinterpret_cast<RayHitPacket<N>*>(arguments->rays);
    alignas(64) int valid[N];
    std::uint32_t before[N];
    for (int i = 0; i < N; ++i) {
        valid[i] = arguments->valid[i];
        before[i] = packet.hit.geometry[i];
        if (valid[i] == -1) packet.hit.geometry[i] = kInvalidId;
    }
    intersect_packet(scene.handle(), valid, packet, *context.arguments);
    for (int i = 0; i < N; ++i) {
        if (valid[i] != -1) continue;
        if (packet.hit.geometry[i] == kInvalidId)
            packet.hit.geometry[i] = before[i];
        else
            context.cells[packet.ray.id[i]] = arguments->primitive;
    }
}

template <int N> void occlude_within(const UserArguments* arguments, const Scene& scene) {
    const auto& context = *reinterpret_cast<const CallbackContext*>(arguments->context);
    alignas(64) int valid[N];
    std::copy_n(arguments->valid, N, valid);
    occlude_packet(scene.handle(), valid, *reinterpret_cast<RayPacket<N>*>(arguments->rays), *context.arguments);
}

void intersect_cell(const UserArguments* arguments) {
    const Scene* scene = find_scene(arguments);
    if (!scene) return;
    switch (arguments->count) {
        case 1: return intersect_within<1>(arguments, *scene);
        case 16: return intersect_within<16>(arguments, *scene);
        default: return intersect_within<8>(arguments, *scene);
    }
}

void occlude_by_cell(const UserArguments* arguments) {
    const Scene* scene = find_scene(arguments);
    if (!scene) return;
    switch (arguments->count) {
        case 1: return occlude_within<1>(arguments, *scene);
        case 16: return occlude_within<16>(arguments, *scene);
        default: return occlude_within<8>(arguments, *scene);
    }
}

}  // namespace

OwnedGeometry cell_geometry(const Scene::Cells& cells) {
    OwnedGeometry owned = new_geometry(kUser);
    const Geometry geometry = owned.get();
    embree().set_user_count(geometry, static_cast<std::uint32_t>(cells.box.size()));
    embree().set_user_data(geometry, const_cast<Scene::Cells*>(&cells));
    embree().set_bounds(geometry, bound_cell, nullptr);
    embree().set_intersect(geometry, intersect_cell);
    embree().set_occluded(geometry, occlude_by_cell);
    embree().commit_geometry(geometry);
    check_embree("adding cells");
    return owned;
}

}  // namespace resweep
