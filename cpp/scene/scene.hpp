// The native scene: the few kinds of geometry that the tracer knows, and what a hit on them means.
#pragma once

#include <atomic>
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

// What copies of triangles share: their hierarchy and the attributes of their faces. The arrays belong to the caller.
// `n_copies` is how many there are in the whole world: it decides how they are traced.
struct Prototype {
    Prototype(const Triangles& triangles, std::size_t n_copies);

    OwnedScene scene;
    Faces faces;
    bool array;
};

// Either a scene of whole layers; or one cell, a scene with a part of one layer; or a divided scene, which looks into
// cells. A divided scene keeps the boxes of all cells, also of those that are not at hand. So a ray visits its cells in
// the same order, and hits the same, whichever others are at hand.
class Scene {
  public:
    explicit Scene(bool cell = false);

    void add(const Triangles& triangles);
    void add(const InstanceArray& instances);
    void add(const InstanceArray& instances, std::shared_ptr<const Prototype> prototype);
    void add(const Discs& discs);
    void add(Volumes volumes);
    void commit();

    // Declare that a divided scene has a layer of this kind, whose rays gather discs or do not, and whose discs are
    // permeable or not.
    void declare(PrimitiveKind kind, bool gathers, bool permeable);

    // Divide the scene into cells with these boxes (n, 6): lowest and highest corner. None is at hand yet.
    void divide(const float* boxes, std::size_t count);

    // Set what lies in a cell, which outlives its use here; null if it is not at hand. Rays that are being traced must
    // not need the cell.
    void put(std::size_t cell, const Scene* scene);

    std::size_t n_cells() const { return cells_ ? cells_->box.size() : 0; }

    // Whether a ray entered a cell that is not at hand, since this was asked last.
    bool take_missing() const { return cells_ && cells_->missing.exchange(false); }

    // Whether rays gather discs, and whether volumes or permeable discs draw random numbers: a ray query then needs
    // room for that.
    bool gathers() const { return gathers_; }
    bool draws() const { return draws_; }

    // Whether all primitives are of one kind, and which.
    bool one_kind() const { return one_kind_; }
    PrimitiveKind kind() const { return kind_; }

    // Whether all that rays can hit are diffuse triangles in the frame of the world; then the face decides all of a
    // hit.
    bool plain() const { return plain_; }
    const Face& face(std::uint32_t geometry, std::uint32_t primitive) const { return (*faces_[geometry])[primitive]; }

    SceneHandle handle() const { return top_.get(); }

    // The event of one hit, as if the ray carried the whole beam.
    Event event(const Hit& hit) const;

    // Ask for what `event` will read of a hit on a disc, so that the reads of several hits wait together.
    void prefetch(std::uint32_t geometry, std::uint32_t instance, std::uint32_t primitive) const {
        if (cells_) return;
        const Discs* discs = layers_[layer_of_[instance != kInvalidId ? instance : geometry]].discs;
        if (discs) discs->prefetch(primitive / 2);
    }

    // The normal at a hit in the frame of the world, of any length.
    void find_normal(const Hit& hit, float normal[3]) const;

    // Whether a hit is on an opaque disc of a layer that gathers. Such a hit only ends the ray behind the gathered
    // discs.
    bool gathers(const Hit& hit) const {
        if (cells_) return cells_->at(hit.cell).gathers(hit);
        const Discs* discs = layers_[layer_of_[hit.instance != kInvalidId ? hit.instance : hit.geometry]].discs;
        return discs && discs->depth > 1 && discs->pass_of(hit.primitive / 2) <= 0.0f;
    }

    // The cells of a divided scene, as Embree's callbacks see them.
    struct Cells {
        std::vector<Bounds> box;
        std::unique_ptr<std::atomic<const Scene*>[]> scene;
        std::atomic<bool> missing = false;

        const Scene& at(std::uint32_t cell) const { return *scene[cell].load(std::memory_order_acquire); }
    };

  private:
    struct Layer {
        std::shared_ptr<const Prototype> prototype;  // of copies
        Faces own;                                   // of triangles in the world's frame
        const Discs* discs = nullptr;                // of a layer of splats, which has no faces
        const Volumes* volumes = nullptr;            // of a layer of volumes
        const float* transforms = nullptr;           // null where the triangles are in the world's frame
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
    std::unique_ptr<Cells> cells_;
    std::size_t n_declared_ = 0;
    std::vector<const Faces*> faces_;  // of a plain scene, by geometry id
    bool plain_ = false;
    bool cell_, gathers_ = false, draws_ = false, one_kind_ = true;
    PrimitiveKind kind_ = PrimitiveKind::kMesh;
};

inline Event Scene::event(const Hit& hit) const {
    if (cells_) return cells_->at(hit.cell).event(hit);
    const bool instanced = hit.instance != kInvalidId;
    const Layer& layer = layers_[layer_of_[instanced ? hit.instance : hit.geometry]];
    if (layer.discs) return disc_event(hit, *layer.discs);
    if (layer.volumes) return volume_event(hit, *layer.volumes);
    if (!instanced) return face_event(hit, layer.own, hit.cosine);
    const std::size_t copy = layer.array ? hit.instance_primitive : hit.instance - layer.first;
    Event event = face_event(hit, layer.prototype->faces, instanced_cosine(hit, layer.transforms + 12 * copy));
    const std::int32_t label = layer.label[copy], instance = layer.instance[copy];
    if (label >= 0) event.label = label;
    if (instance != 0) event.instance = instance;
    return event;
}

}  // namespace resweep
