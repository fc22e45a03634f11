// Triangles and copies of them, and what a hit on one sends back.
#pragma once

#include <cstdint>
#include <vector>

#include "core/columns.hpp"
#include "core/embree.hpp"
#include "scene/event.hpp"

namespace resweep {

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

// Copies of triangles: row-major 3x4 transforms, and an id and a label per copy.
struct InstanceArray {
    Triangles triangles;
    const float* transforms;
    std::size_t n_instances;
    Column<std::int32_t> instance, label;
};

// The attributes of one face.
struct Face {
    std::int32_t label, instance;
    float reflectance;
    MaterialRow material;
};

// The faces' attributes as the hot path reads them: a palette of the few different faces, and a small index per
// triangle. That stays in the cache, where one array per attribute would not.
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

// Embree's geometry of triangles.
OwnedGeometry triangle_geometry(const Triangles& triangles);

// Light that a material sends back beyond the diffuse part.
float beyond_diffuse(const MaterialRow& material, float cosine);

// The normal at a hit on a copy with this row-major 3x4 transform, in the frame of the world, of any length.
void instanced_normal(const Hit& hit, const float* transform, float normal[3]);

// Cosine of incidence on a copy with this row-major 3x4 transform.
float instanced_cosine(const Hit& hit, const float* transform);

// The event of a hit on a face, at this cosine of incidence.
inline Event face_event(const Hit& hit, const Faces& faces, float cosine) {
    const Face& face = faces[hit.primitive];
    if (!(cosine >= 0.0f)) cosine = 0.0f;  // a triangle without area has no normal
    Event event{hit.range,           1.0f, cosine, face.reflectance * cosine, face.label, face.instance,
                PrimitiveKind::kMesh};  // B, eq. 1
    if (!faces.diffuse()) event.reflected += beyond_diffuse(face.material, cosine);
    return event;
}

}  // namespace resweep
