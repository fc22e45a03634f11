// The native scene: the few kinds of geometry that the tracer knows, and what a hit on them means.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/embree.hpp"
#include "scene/splats.hpp"
#include "scene/volumes.hpp"

namespace resweep {

// A column of per-primitive values; a stride of 0 repeats one value for all of them.
template <class T> struct Column {
    const T* data = nullptr;
    std::size_t stride = 1;
    T operator[](std::size_t row) const { return data[row * stride]; }
};

struct MaterialRow {
    float specular, specular_exponent, retro;
};

// Triangles with one attribute row per face. The arrays belong to the caller and outlive the scene.
struct Triangles {
    const float* vertices;
    std::size_t n_vertices;
    const std::uint32_t* faces;
    std::size_t n_faces;
    Column<std::int32_t> label, instance;
    Column<float> reflectance;
    Column<std::uint8_t> material;
    std::vector<MaterialRow> materials;
};

// What a face is like, beyond its shape.
struct Face {
    std::int32_t label, instance;
    float reflectance;
    MaterialRow material;
};

// The faces' attributes as the hot path reads them: few different faces and a small index a triangle,
// which stays in the cache where one array an attribute would not.
class Faces {
  public:
    Faces() = default;
    explicit Faces(const Triangles& triangles);
    const Face& operator[](std::size_t primitive) const {
        if (!narrow_.empty()) return palette_[narrow_[primitive]];
        return palette_[wide_.empty() ? 0 : wide_[primitive]];
    }
    bool diffuse() const { return diffuse_; }

  private:
    std::vector<Face> palette_;
    std::vector<std::uint16_t> narrow_;  // up to 65,536 different faces
    std::vector<std::uint32_t> wide_;    // more
    bool diffuse_ = true;                // no material sends back more than B, eq. 1
};

// Copies of triangles: row-major 3x4 transforms, and an id and a label per copy.
struct InstanceArray {
    Triangles triangles;
    const float* transforms;
    std::size_t n_instances;
    Column<std::int32_t> instance, label;
};

// Which kind of primitive sent light back.
enum class Kind : std::uint8_t { kMesh = 1, kSplats = 2, kVolumes = 3 };

// What light meets along a ray.
struct Event {
    float range;      // metres along the ray
    float share;      // part of the beam that this ray carries
    float cosine;     // of the incidence angle, 0 to 1
    float reflected;  // relative intensity sent back: B, eq. 1, and the material's other parts
    std::int32_t label;
    std::int32_t instance;
    Kind kind;
};

// What Embree says of a hit. The normal is in the primitive's own frame, the direction in the world's;
// the cosine between the two holds where both frames are one.
struct Hit {
    float normal[3], direction[3], range, cosine, u;
    std::uint32_t primitive, geometry, instance, instance_primitive;
};

// Light that a material sends back beyond the diffuse part.
float beyond_diffuse(const MaterialRow& material, float cosine);

// Embree's geometry of triangles, and a scene of one geometry, to be instanced.
Geometry triangle_geometry(const Triangles& triangles);
SceneHandle prototype_scene(Geometry geometry, int flags);

// Cosine of incidence on a copy with this row-major 3x4 transform.
float instanced_cosine(const Hit& hit, const float* transform);

// The event of a hit on a face, at this cosine of incidence.
inline Event face_event(const Hit& hit, const Faces& faces, float cosine) {
    const Face& face = faces[hit.primitive];
    if (!(cosine >= 0.0f)) cosine = 0.0f;  // a triangle without area has no normal
    Event event{hit.range,  1.0f,          cosine,     face.reflectance * cosine,
                face.label, face.instance, Kind::kMesh};  // B, eq. 1
    if (!faces.diffuse()) event.reflected += beyond_diffuse(face.material, cosine);
    return event;
}

// The event of a hit on one disc.
Event disc_event(const Hit& hit, const Discs& discs);

// The event of a hit in a volume: it has no side, so all of its light comes back.
Event volume_event(const Hit& hit, const Volumes& volumes);

class Scene {
  public:
    Scene();
    ~Scene();
    Scene(const Scene&) = delete;
    Scene& operator=(const Scene&) = delete;

    void add(const Triangles& triangles);
    void add(const InstanceArray& instances);
    void add(const Discs& discs);
    void add(Volumes volumes);
    void commit();

    // Whether rays gather discs, and whether they draw in volumes: their queries need places for that.
    bool gathers() const { return gathers_; }
    bool draws() const { return !volumes_.empty(); }

    // Whether all primitives are of one kind, and which.
    bool one_kind() const { return one_kind_; }
    Kind kind() const { return kind_; }

    SceneHandle handle() const { return top_; }

    // The event of one hit, for the whole of the beam.
    Event event(const Hit& hit) const;

    // Whether a hit is on a layer that gathers: it then only ends the ray behind what was gathered.
    bool gathers(const Hit& hit) const {
        const Discs* discs = layers_[layer_of_[hit.instance != kInvalidId ? hit.instance : hit.geometry]].discs;
        return discs && discs->depth > 1;
    }

  private:
    struct Layer {
        Faces faces;
        const Discs* discs = nullptr;       // of a layer of splats, which has no faces
        const Volumes* volumes = nullptr;   // of a layer of volumes
        const float* transforms = nullptr;  // null where the triangles stand in the world themselves
        Column<std::int32_t> instance = {}, label = {};
        std::uint32_t first = 0;  // id of the first copy, for one geometry a copy
        bool array = false;
    };

    std::uint32_t attach(Geometry geometry);
    void note(Kind kind);

    SceneHandle top_;
    std::vector<SceneHandle> instanced_;
    std::vector<Layer> layers_;
    std::vector<std::uint32_t> layer_of_;  // by geometry id in the top scene
    std::vector<std::unique_ptr<Discs>> discs_;
    std::vector<std::unique_ptr<Volumes>> volumes_;
    bool gathers_ = false, one_kind_ = true;
    Kind kind_ = Kind::kMesh;
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
