// The native scene: the few kinds of geometry that the tracer knows, and what a hit on them means.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/columns.hpp"
#include "core/embree.hpp"
#include "scene/event.hpp"
#include "scene/mesh.hpp"
#include "scene/splats.hpp"
#include "scene/volumes.hpp"

namespace resweep {

// A committed scene of one geometry, to be instanced.
OwnedScene prototype_scene(OwnedGeometry geometry, int flags);

class Scene {
  public:
    Scene();

    void add(const Triangles& triangles);
    void add(const InstanceArray& instances);
    void add(const Discs& discs);
    void add(Volumes volumes);
    void commit();

    // Whether rays gather discs, and whether volumes draw random numbers: a ray query then needs room for that.
    bool gathers() const { return gathers_; }
    bool draws() const { return !volumes_.empty(); }

    // Whether all primitives are of one kind, and which.
    bool one_kind() const { return one_kind_; }
    PrimitiveKind kind() const { return kind_; }

    SceneHandle handle() const { return top_.get(); }

    // The event of one hit, as if the ray carried the whole beam.
    Event event(const Hit& hit) const;

    // Whether a hit is on a layer that gathers. Such a hit only ends the ray behind the gathered discs.
    bool gathers(const Hit& hit) const {
        const Discs* discs = layers_[layer_of_[hit.instance != kInvalidId ? hit.instance : hit.geometry]].discs;
        return discs && discs->depth > 1;
    }

  private:
    struct Layer {
        Faces faces;
        const Discs* discs = nullptr;       // of a layer of splats, which has no faces
        const Volumes* volumes = nullptr;   // of a layer of volumes
        const float* transforms = nullptr;  // null where the triangles are in the world's frame
        Column<std::int32_t> instance = {}, label = {};
        std::uint32_t first = 0;  // geometry id of the first copy, if each copy is a geometry
        bool array = false;
    };

    std::uint32_t attach(OwnedGeometry geometry);
    void add_kind(PrimitiveKind kind);

    OwnedScene top_;
    std::vector<OwnedScene> instanced_;
    std::vector<Layer> layers_;
    std::vector<std::uint32_t> layer_of_;  // by geometry id in the top scene
    std::vector<std::unique_ptr<Discs>> discs_;
    std::vector<std::unique_ptr<Volumes>> volumes_;
    bool gathers_ = false, one_kind_ = true;
    PrimitiveKind kind_ = PrimitiveKind::kMesh;
};

inline Event Scene::event(const Hit& hit) const {
    const bool instanced = hit.instance != kInvalidId;
    const Layer& layer = layers_[layer_of_[instanced ? hit.instance : hit.geometry]];
    if (layer.discs) return disc_event(hit, *layer.discs);
    if (layer.volumes) return volume_event(hit, *layer.volumes);
    if (!instanced) return face_event(hit, layer.faces, hit.cosine);
    const std::size_t copy = layer.array ? hit.instance_primitive : hit.instance - layer.first;
    Event event = face_event(hit, layer.faces, instanced_cosine(hit, layer.transforms + 12 * copy));
    const std::int32_t label = layer.label[copy], instance = layer.instance[copy];
    if (label >= 0) event.label = label;
    if (instance != 0) event.instance = instance;
    return event;
}

}  // namespace resweep
