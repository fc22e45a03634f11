// Normals of what rays hit, in the frame of the world.
#include <algorithm>

#include "scene/actors.hpp"

namespace resweep {

void Scene::find_normal(const Hit& hit, float normal[3]) const {
    if (cells_) return cells_->at(hit.cell).find_normal(hit, normal);
    const bool instanced = hit.instance != kInvalidId;
    const Layer& layer = layers_[layer_of_[instanced ? hit.instance : hit.geometry]];
    if (!instanced || !layer.transforms) {
        std::copy_n(hit.normal, 3, normal);
        return;
    }
    const std::size_t copy = layer.array ? hit.instance_primitive : hit.instance - layer.first;
    instanced_normal(hit, layer.transforms + 12 * copy, normal);
}

void ActorScene::turn_normal(std::uint32_t placement, float time, float normal[3]) const {
    // The axes of the world in the actor's frame are the rows of the rotation to the world.
    float turned[3];
    for (int axis = 0; axis < 3; ++axis) {
        const float unit[3] = {axis == 0 ? 1.0f : 0.0f, axis == 1 ? 1.0f : 0.0f, axis == 2 ? 1.0f : 0.0f};
        float row[3];
        placements_[placement].to_local(time, unit, row);
        turned[axis] = row[0] * normal[0] + row[1] * normal[1] + row[2] * normal[2];
    }
    std::copy_n(turned, 3, normal);
}

}  // namespace resweep
