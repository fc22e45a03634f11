#include "scene/scene.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>

namespace resweep {
namespace {

// Meshes above this keep a compact hierarchy, which takes less memory and is slower to trace.
constexpr std::size_t kCompactFaces = 8'000'000;

// Up to this many copies get an Embree instance each, whose inverse transform is kept ready; more
// share one instance array, which keeps 48 bytes a copy and inverts on the way.
constexpr std::size_t kSeparateInstances = 65'536;

// Watertight tracing lets no ray slip through the common edge of two triangles, and is somewhat slower: worth
// it for walls and cars. A model with more copies than this is grass or leaves, where such a gap cannot be seen.
constexpr std::size_t kWatertightCopies = 1000;

constexpr float kIdentity[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};

}  // namespace

Faces::Faces(const Triangles& triangles) {
    for (const MaterialRow& material : triangles.materials)
        if (material.specular > 0.0f || material.retro > 0.0f) diffuse_ = false;
    const auto face = [&](std::size_t i) {
        return Face{triangles.label[i], triangles.instance[i], triangles.reflectance[i],
                    triangles.materials[triangles.material[i]]};
    };
    if (triangles.label.stride + triangles.instance.stride + triangles.reflectance.stride + triangles.material.stride ==
        0) {
        palette_.push_back(face(0));
        return;
    }
    using Key = std::tuple<std::int32_t, std::int32_t, float, std::uint8_t>;
    std::map<Key, std::uint32_t> known;
    Key last;
    std::uint32_t index = 0;
    wide_.resize(triangles.n_faces);
    for (std::size_t i = 0; i < triangles.n_faces; ++i) {
        const Key key{triangles.label[i], triangles.instance[i], triangles.reflectance[i], triangles.material[i]};
        if (i == 0 || key != last) {  // neighbours are mostly alike
            const auto [found, fresh] = known.try_emplace(key, static_cast<std::uint32_t>(palette_.size()));
            if (fresh) palette_.push_back(face(i));
            index = found->second;
            last = key;
        }
        wide_[i] = index;
    }
    if (palette_.size() <= 65'536) {
        narrow_.assign(wide_.begin(), wide_.end());
        wide_ = {};
    }
}

Scene::Scene() : top_(embree().new_scene(embree_device())) {
    embree().set_scene_flags(top_, kRobust);
    embree().set_scene_quality(top_, kHigh);
}

Scene::~Scene() {
    embree().release_scene(top_);
    for (SceneHandle scene : instanced_) embree().release_scene(scene);
}

Geometry triangle_geometry(const Triangles& triangles) {
    Geometry geometry = embree().new_geometry(embree_device(), kTriangle);
    // Embree reads vertices 16 bytes at a time, past the end of a shared array: it keeps its own, padded copy.
    void* vertices = embree().new_buffer(geometry, kVertexBuffer, 0, kFloat3, 12, triangles.n_vertices);
    check_embree("allocating vertices");
    std::memcpy(vertices, triangles.vertices, 12 * triangles.n_vertices);
    embree().share_buffer(geometry, kIndexBuffer, 0, kUint3, triangles.faces, 0, 12, triangles.n_faces);
    embree().commit_geometry(geometry);
    check_embree("adding triangles");
    return geometry;
}

SceneHandle prototype_scene(Geometry geometry, int flags) {
    SceneHandle scene = embree().new_scene(embree_device());
    embree().set_scene_flags(scene, flags);
    embree().set_scene_quality(scene, kMedium);
    embree().attach(scene, geometry);
    embree().release_geometry(geometry);
    embree().commit_scene(scene);
    check_embree("building a hierarchy");
    return scene;
}

// Put a geometry into the scene, as one of the layer that comes next; its id.
std::uint32_t Scene::attach(Geometry geometry) {
    const std::uint32_t id = embree().attach(top_, geometry);
    embree().release_geometry(geometry);
    layer_of_.resize(std::max<std::size_t>(layer_of_.size(), id + 1));
    layer_of_[id] = static_cast<std::uint32_t>(layers_.size());
    return id;
}

void Scene::note(Kind kind) {
    one_kind_ = layers_.empty() || (one_kind_ && kind == kind_);
    kind_ = kind;
}

void Scene::add(const Triangles& triangles) {
    if (triangles.n_faces > kCompactFaces) {
        // A hierarchy's compactness is a property of a whole scene: a huge mesh becomes a scene of its own.
        static const std::int32_t keep_instance = 0, keep_label = -1;
        add(InstanceArray{triangles, kIdentity, 1, {&keep_instance, 0}, {&keep_label, 0}});
        return;
    }
    note(Kind::kMesh);
    attach(triangle_geometry(triangles));
    layers_.push_back(Layer{Faces(triangles)});
}

void Scene::add(const InstanceArray& instances) {
    note(Kind::kMesh);
    const int flags = (instances.n_instances <= kWatertightCopies ? kRobust : kNoSceneFlag) |
                      (instances.triangles.n_faces > kCompactFaces ? kCompact : kNoSceneFlag);
    SceneHandle prototype = prototype_scene(triangle_geometry(instances.triangles), flags);
    instanced_.push_back(prototype);
    Layer layer{Faces(instances.triangles)};
    layer.transforms = instances.transforms;
    layer.instance = instances.instance;
    layer.label = instances.label;
    layer.array = instances.n_instances > kSeparateInstances;
    if (layer.array) {
        Geometry geometry = embree().new_geometry(embree_device(), kInstanceArray);
        embree().set_instanced_scene(geometry, prototype);
        void* transforms =
            embree().new_buffer(geometry, kTransformBuffer, 0, kFloat3x4RowMajor, 48, instances.n_instances);
        check_embree("allocating instances");
        std::memcpy(transforms, instances.transforms, 48 * instances.n_instances);
        embree().commit_geometry(geometry);
        layer.first = attach(geometry);
    } else {
        for (std::size_t copy = 0; copy < instances.n_instances; ++copy) {
            Geometry geometry = embree().new_geometry(embree_device(), kInstance);
            embree().set_instanced_scene(geometry, prototype);
            embree().set_transform(geometry, 0, kFloat3x4RowMajor, instances.transforms + 12 * copy);
            embree().commit_geometry(geometry);
            const std::uint32_t id = attach(geometry);
            if (copy == 0) layer.first = id;
        }
    }
    check_embree("adding instances");
    layers_.push_back(std::move(layer));
}

void Scene::add(const Discs& discs) {
    note(Kind::kSplats);
    discs_.push_back(std::make_unique<Discs>(discs));
    gathers_ = gathers_ || discs.depth > 1;
    instanced_.push_back(prototype_scene(disc_geometry(*discs_.back()), kNoSceneFlag));
    Geometry geometry = embree().new_geometry(embree_device(), kInstance);
    embree().set_instanced_scene(geometry, instanced_.back());
    embree().set_transform(geometry, 0, kFloat3x4RowMajor, kIdentity);
    embree().commit_geometry(geometry);
    attach(geometry);
    check_embree("adding splats");
    Layer layer;
    layer.discs = discs_.back().get();
    layers_.push_back(std::move(layer));
}

void Scene::add(Volumes volumes) {
    note(Kind::kVolumes);
    volumes.first =
        volumes_.empty() ? 0 : volumes_.back()->first + static_cast<std::uint32_t>(volumes_.back()->volume.size());
    volumes_.push_back(std::make_unique<Volumes>(std::move(volumes)));
    attach(volume_geometry(*volumes_.back()));
    Layer layer;
    layer.volumes = volumes_.back().get();
    layers_.push_back(std::move(layer));
}

Event disc_event(const Hit& hit, const Discs& discs) {
    const std::size_t disc = hit.primitive / 2;
    return {hit.range,
            1.0f,
            hit.cosine,
            discs.reflectance[disc * discs.reflectance_stride] * hit.cosine,
            discs.label[disc * discs.label_stride],
            discs.instance[disc * discs.instance_stride],
            Kind::kSplats};
}

Event volume_event(const Hit& hit, const Volumes& volumes) {
    const Volume& volume = volumes.volume[hit.primitive];
    return {hit.u, 1.0f, 1.0f, volume.reflectance, volume.label, volume.instance, Kind::kVolumes};
}

void Scene::commit() {
    embree().commit_scene(top_);
    check_embree("building the hierarchy over the scene");
}

float instanced_cosine(const Hit& hit, const float* m) {
    // Normals turn with the cofactors of the linear part, which need no inverse.
    const float x = hit.normal[0], y = hit.normal[1], z = hit.normal[2];
    const float n[3] = {
        x * (m[5] * m[10] - m[6] * m[9]) + y * (m[6] * m[8] - m[4] * m[10]) + z * (m[4] * m[9] - m[5] * m[8]),
        x * (m[2] * m[9] - m[1] * m[10]) + y * (m[0] * m[10] - m[2] * m[8]) + z * (m[1] * m[8] - m[0] * m[9]),
        x * (m[1] * m[6] - m[2] * m[5]) + y * (m[2] * m[4] - m[0] * m[6]) + z * (m[0] * m[5] - m[1] * m[4])};
    const float along = n[0] * hit.direction[0] + n[1] * hit.direction[1] + n[2] * hit.direction[2];
    return std::min(1.0f, std::fabs(along) / std::sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]));
}

float beyond_diffuse(const MaterialRow& material, float cosine) {
    float light = material.retro;
    const float mirror = 2.0f * cosine * cosine - 1.0f;  // cos(2 theta)
    if (material.specular > 0.0f && mirror > 0.0f)
        light += material.specular * std::pow(mirror, material.specular_exponent);
    return light;
}

}  // namespace resweep
