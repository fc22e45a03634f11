// The native scene: the few kinds of geometry that the tracer knows, and what a hit on them means.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "embree.hpp"

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

// Copies of triangles: row-major 3x4 transforms, and an id and a label per copy.
struct InstanceArray {
    Triangles triangles;
    const float* transforms;
    std::size_t n_instances;
    Column<std::int32_t> instance, label;
};

// What light meets along a ray.
struct Event {
    float range;       // metres along the ray
    float share;       // part of the beam that this ray carries
    float cosine;      // of the incidence angle, 0 to 1
    float reflected;   // relative intensity sent back: B, eq. 1, and the material's other parts
    std::int32_t label;
    std::int32_t instance;
};

class Scene {
  public:
    explicit Scene(bool robust = false);
    ~Scene();
    Scene(const Scene&) = delete;
    Scene& operator=(const Scene&) = delete;

    void add(const Triangles& triangles);
    void add(const InstanceArray& instances);
    void commit();

    SceneHandle handle() const { return top_; }

    // The event of one hit; normal in the primitive's own frame, direction in the world's.
    Event event(std::uint32_t geometry, std::uint32_t primitive, std::uint32_t instance,
                std::uint32_t instance_primitive, const float normal[3], const float direction[3], float range,
                float share) const;

  private:
    struct Layer {
        Triangles triangles;
        const float* transforms = nullptr;  // null where the triangles stand in the world themselves
        Column<std::int32_t> instance, label;
        std::uint32_t first = 0;  // id of the first copy, for one geometry a copy
        bool array = false;
    };

    SceneHandle build_triangles(const Triangles& triangles) const;
    Geometry triangle_geometry(const Triangles& triangles) const;

    SceneHandle top_;
    std::vector<SceneHandle> instanced_;
    std::vector<Layer> layers_;
    std::vector<std::uint32_t> layer_of_;  // by geometry id in the top scene
    bool robust_;
};

}  // namespace resweep
