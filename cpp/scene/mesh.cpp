#include "scene/mesh.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <tuple>

namespace resweep {

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
        if (i == 0 || key != last) {  // neighbours mostly have the same attributes
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

OwnedGeometry triangle_geometry(const Triangles& triangles) {
    OwnedGeometry geometry = new_geometry(kTriangle);
    // Embree reads 16 bytes per vertex, past the end of a shared array. So it gets a padded buffer of its own.
    void* vertices = embree().new_buffer(geometry.get(), kVertexBuffer, 0, kFloat3, 12, triangles.n_vertices);
    check_embree("allocating vertices");
    std::memcpy(vertices, triangles.vertices, 12 * triangles.n_vertices);
    embree().share_buffer(geometry.get(), kIndexBuffer, 0, kUint3, triangles.faces, 0, 12, triangles.n_faces);
    embree().commit_geometry(geometry.get());
    check_embree("adding triangles");
    return geometry;
}

void instanced_normal(const Hit& hit, const float* m, float n[3]) {
    // Normals transform with the cofactors of the linear part, which need no inverse.
    const float x = hit.normal[0], y = hit.normal[1], z = hit.normal[2];
    n[0] = x * (m[5] * m[10] - m[6] * m[9]) + y * (m[6] * m[8] - m[4] * m[10]) + z * (m[4] * m[9] - m[5] * m[8]);
    n[1] = x * (m[2] * m[9] - m[1] * m[10]) + y * (m[0] * m[10] - m[2] * m[8]) + z * (m[1] * m[8] - m[0] * m[9]);
    n[2] = x * (m[1] * m[6] - m[2] * m[5]) + y * (m[2] * m[4] - m[0] * m[6]) + z * (m[0] * m[5] - m[1] * m[4]);
}

float instanced_cosine(const Hit& hit, const float* m) {
    float n[3];
    instanced_normal(hit, m, n);
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
