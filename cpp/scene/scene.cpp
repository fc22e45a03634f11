#include "scene/scene.hpp"

#include "scene/cells.hpp"

#include <algorithm>
#include <cstring>

namespace resweep {
namespace {

// Larger meshes get a compact hierarchy, which takes less memory and is slower to trace.
constexpr std::size_t kCompactFaces = 8'000'000;

// Up to this many copies get an Embree instance each, which keeps its inverse transform ready. More copies share one
// instance array, which keeps 48 bytes per copy and inverts while tracing.
constexpr std::size_t kSeparateInstances = 65'536;

// Watertight tracing lets no ray slip through the common edge of two triangles, and is somewhat slower: worth
// it for walls and cars. A model with more copies than this is grass or leaves, where such a gap cannot be seen.
constexpr std::size_t kWatertightCopies = 1000;

constexpr float kIdentity[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};

// A copy of a scene at a row-major 3x4 transform.
OwnedGeometry place_scene(SceneHandle scene, const float* transform) {
    OwnedGeometry geometry = new_instance(scene);
    embree().set_transform(geometry.get(), 0, kFloat3x4RowMajor, transform);
    embree().commit_geometry(geometry.get());
    return geometry;
}

}  // namespace

OwnedScene prototype_scene(OwnedGeometry geometry, int flags) {
    OwnedScene scene = new_scene(flags, kMedium);
    embree().attach(scene.get(), geometry.get());
    commit_scene(scene, "building a hierarchy");
    return scene;
}

Prototype::Prototype(const Triangles& triangles, std::size_t n_copies)
    : scene(prototype_scene(triangle_geometry(triangles),
                            (n_copies <= kWatertightCopies ? kRobust : kNoSceneFlag) |
                                (triangles.n_faces > kCompactFaces ? kCompact : kNoSceneFlag))),
      faces(triangles),
      array(n_copies > kSeparateInstances) {}

Scene::Scene(bool cell) : top_(new_scene(kRobust, kHigh)), cell_(cell) {}

// Put a geometry of the next layer into the scene; returns its id.
std::uint32_t Scene::attach(OwnedGeometry geometry) {
    const std::uint32_t id = embree().attach(top_.get(), geometry.get());
    layer_of_.resize(std::max<std::size_t>(layer_of_.size(), id + 1));
    layer_of_[id] = static_cast<std::uint32_t>(layers_.size());
    return id;
}

void Scene::add_kind(PrimitiveKind kind) {
    one_kind_ = n_declared_ == 0 || (one_kind_ && kind == kind_);
    kind_ = kind;
    draws_ = draws_ || kind == PrimitiveKind::kVolumes;
    ++n_declared_;
}

void Scene::add(const Triangles& triangles) {
    if (triangles.n_faces > kCompactFaces) {
        // A compact hierarchy is a property of a whole scene, so a huge mesh becomes a scene of its own.
        static const std::int32_t keep_instance = 0, keep_label = -1;
        add(InstanceArray{triangles, kIdentity, 1, {&keep_instance, 0}, {&keep_label, 0}});
        return;
    }
    add_kind(PrimitiveKind::kMesh);
    attach(triangle_geometry(triangles));
    layers_.push_back(Layer{nullptr, Faces(triangles)});
}

void Scene::add(const InstanceArray& instances) {
    add(instances, std::make_shared<const Prototype>(instances.triangles, instances.n_instances));
}

void Scene::add(const InstanceArray& instances, std::shared_ptr<const Prototype> prototype) {
    add_kind(PrimitiveKind::kMesh);
    Layer layer;
    layer.prototype = std::move(prototype);
    const SceneHandle copied = layer.prototype->scene.get();
    layer.transforms = instances.transforms;
    layer.instance = instances.instance;
    layer.label = instances.label;
    layer.array = layer.prototype->array;
    if (layer.array) {
        OwnedGeometry geometry = new_geometry(kInstanceArray);
        embree().set_instanced_scene(geometry.get(), copied);
        void* transforms =
            embree().new_buffer(geometry.get(), kTransformBuffer, 0, kFloat3x4RowMajor, 48, instances.n_instances);
        check_embree("allocating instances");
        std::memcpy(transforms, instances.transforms, 48 * instances.n_instances);
        embree().commit_geometry(geometry.get());
        layer.first = attach(std::move(geometry));
    } else {
        for (std::size_t copy = 0; copy < instances.n_instances; ++copy) {
            const std::uint32_t id = attach(place_scene(copied, instances.transforms + 12 * copy));
            if (copy == 0) layer.first = id;
        }
    }
    check_embree("adding instances");
    layers_.push_back(std::move(layer));
}

void Scene::add(const Discs& discs) {
    add_kind(PrimitiveKind::kSplats);
    discs_.push_back(std::make_unique<Discs>(discs));
    if (discs.group < 0) discs_.back()->group = static_cast<int>(layers_.size());
    gathers_ = gathers_ || discs.depth > 1;
    draws_ = draws_ || discs.permeability.data;
    if (cell_) {  // nothing else is in it, so it needs no instance to have flags of its own
        top_ = new_scene(kNoSceneFlag, kMedium);
        attach(disc_geometry(*discs_.back()));
    } else {
        instanced_.push_back(prototype_scene(disc_geometry(*discs_.back()), kNoSceneFlag));
        attach(place_scene(instanced_.back().get(), kIdentity));
    }
    check_embree("adding splats");
    Layer layer;
    layer.discs = discs_.back().get();
    layers_.push_back(std::move(layer));
}

void Scene::add(Volumes volumes) {
    add_kind(PrimitiveKind::kVolumes);
    if (!volumes_.empty())
        volumes.first = volumes_.back()->first + static_cast<std::uint32_t>(volumes_.back()->volume.size());
    volumes_.push_back(std::make_unique<Volumes>(std::move(volumes)));
    attach(volume_geometry(*volumes_.back()));
    Layer layer;
    layer.volumes = volumes_.back().get();
    layers_.push_back(std::move(layer));
}

void Scene::declare(PrimitiveKind kind, bool gathers, bool permeable) {
    add_kind(kind);
    gathers_ = gathers_ || gathers;
    draws_ = draws_ || permeable;
}

void Scene::divide(const float* boxes, std::size_t count) {
    cells_ = std::make_unique<Cells>();
    cells_->box.resize(count);
    cells_->scene = std::make_unique<std::atomic<const Scene*>[]>(count);
    for (std::size_t i = 0; i < count; ++i) {
        std::copy_n(boxes + 6 * i, 3, cells_->box[i].lower);
        std::copy_n(boxes + 6 * i + 3, 3, cells_->box[i].upper);
    }
    embree().attach(top_.get(), cell_geometry(*cells_).get());
}

void Scene::put(std::size_t cell, const Scene* scene) { cells_->scene[cell].store(scene, std::memory_order_release); }

void Scene::commit() {
    commit_scene(top_, "building the hierarchy over the scene");
    plain_ = !cells_ && std::all_of(layers_.begin(), layers_.end(), [](const Layer& layer) {
        return !layer.prototype && !layer.discs && !layer.volumes && layer.own.diffuse();
    });
    faces_.clear();
    if (plain_)
        for (const std::uint32_t layer : layer_of_) faces_.push_back(&layers_[layer].own);
}

}  // namespace resweep
