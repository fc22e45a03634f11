#include "scene/scene.hpp"

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

Scene::Scene() : top_(new_scene(kRobust, kHigh)) {}

// Put a geometry of the next layer into the scene; returns its id.
std::uint32_t Scene::attach(OwnedGeometry geometry) {
    const std::uint32_t id = embree().attach(top_.get(), geometry.get());
    layer_of_.resize(std::max<std::size_t>(layer_of_.size(), id + 1));
    layer_of_[id] = static_cast<std::uint32_t>(layers_.size());
    return id;
}

void Scene::add_kind(PrimitiveKind kind) {
    one_kind_ = layers_.empty() || (one_kind_ && kind == kind_);
    kind_ = kind;
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
    layers_.push_back(Layer{Faces(triangles)});
}

void Scene::add(const InstanceArray& instances) {
    add_kind(PrimitiveKind::kMesh);
    const int flags = (instances.n_instances <= kWatertightCopies ? kRobust : kNoSceneFlag) |
                      (instances.triangles.n_faces > kCompactFaces ? kCompact : kNoSceneFlag);
    instanced_.push_back(prototype_scene(triangle_geometry(instances.triangles), flags));
    const SceneHandle prototype = instanced_.back().get();
    Layer layer{Faces(instances.triangles)};
    layer.transforms = instances.transforms;
    layer.instance = instances.instance;
    layer.label = instances.label;
    layer.array = instances.n_instances > kSeparateInstances;
    if (layer.array) {
        OwnedGeometry geometry = new_geometry(kInstanceArray);
        embree().set_instanced_scene(geometry.get(), prototype);
        void* transforms =
            embree().new_buffer(geometry.get(), kTransformBuffer, 0, kFloat3x4RowMajor, 48, instances.n_instances);
        check_embree("allocating instances");
        std::memcpy(transforms, instances.transforms, 48 * instances.n_instances);
        embree().commit_geometry(geometry.get());
        layer.first = attach(std::move(geometry));
    } else {
        for (std::size_t copy = 0; copy < instances.n_instances; ++copy) {
            const std::uint32_t id = attach(place_scene(prototype, instances.transforms + 12 * copy));
            if (copy == 0) layer.first = id;
        }
    }
    check_embree("adding instances");
    layers_.push_back(std::move(layer));
}

void Scene::add(const Discs& discs) {
    add_kind(PrimitiveKind::kSplats);
    discs_.push_back(std::make_unique<Discs>(discs));
    gathers_ = gathers_ || discs.depth > 1;
    instanced_.push_back(prototype_scene(disc_geometry(*discs_.back()), kNoSceneFlag));
    attach(place_scene(instanced_.back().get(), kIdentity));
    check_embree("adding splats");
    Layer layer;
    layer.discs = discs_.back().get();
    layers_.push_back(std::move(layer));
}

void Scene::add(Volumes volumes) {
    add_kind(PrimitiveKind::kVolumes);
    volumes.first =
        volumes_.empty() ? 0 : volumes_.back()->first + static_cast<std::uint32_t>(volumes_.back()->volume.size());
    volumes_.push_back(std::make_unique<Volumes>(std::move(volumes)));
    attach(volume_geometry(*volumes_.back()));
    Layer layer;
    layer.volumes = volumes_.back().get();
    layers_.push_back(std::move(layer));
}

void Scene::commit() { commit_scene(top_, "building the hierarchy over the scene"); }

}  // namespace resweep
