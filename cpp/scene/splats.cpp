#include "scene/splats.hpp"

#include <algorithm>
#include <cmath>

namespace resweep {
namespace {

// Rows of a packet of N rays and hits, as Embree lays them out.
constexpr std::uint32_t kFarRow = 8, kIdRow = 10, kURow = 3, kVRow = 4, kPrimitiveRow = 5, kInstanceRow = 7;

// Both triangles of a square have their right angle at a corner, so that (2u - 1, 2v - 1) is where the hit
// lies in the square, up to a turn.
bool outside_disc(float u, float v) {
    const float x = 2.0f * u - 1.0f, y = 2.0f * v - 1.0f;
    return x * x + y * y > 1.0f;
}

void cut_corners(const FilterArguments* arguments) {
    const std::uint32_t n = arguments->count;
    for (std::uint32_t i = 0; i < n; ++i)
        if (arguments->valid[i] == -1 && outside_disc(arguments->hit[kURow * n + i], arguments->hit[kVRow * n + i]))
            arguments->valid[i] = 0;
}

// Put a disc among the nearest of its ray; true if it, and so all beyond it, cannot count.
bool gather(const Discs& layer, DiscHits& hits, float range, std::uint32_t disc, std::uint32_t instance) {
    for (int i = 0; i < hits.count; ++i)  // its other triangle, or another leaf that holds it
        if (hits.disc[i] == disc && hits.layer[i] == &layer && hits.instance[i] == instance) return false;
    const int depth = layer.depth;
    if (hits.count >= depth && range >= hits.range[depth - 1]) return true;
    if (hits.count > 0 && range > hits.range[0] + layer.gap * static_cast<float>(depth - 1)) return true;
    int place = std::min(hits.count, kMaxDepth - 1);
    for (; place > 0 && hits.range[place - 1] > range; --place) {
        hits.range[place] = hits.range[place - 1];
        hits.disc[place] = hits.disc[place - 1];
        hits.layer[place] = hits.layer[place - 1];
        hits.instance[place] = hits.instance[place - 1];
    }
    hits.range[place] = range;
    hits.disc[place] = disc;
    hits.layer[place] = &layer;
    hits.instance[place] = instance;
    hits.count = std::min(hits.count + 1, kMaxDepth);
    return false;
}

// Gather the disc and refuse the hit, so that the traversal goes on behind it, until one lies too far
// behind the first to count: that one is taken, and ends the ray.
void gather_discs(const FilterArguments* arguments) {
    const std::uint32_t n = arguments->count;
    const auto& layer = *static_cast<const Discs*>(arguments->user);
    DiscHits* hits = reinterpret_cast<QueryContext*>(arguments->context)->hits;
    const auto* ids = reinterpret_cast<const std::uint32_t*>(arguments->ray) + kIdRow * n;
    const auto* primitives = reinterpret_cast<const std::uint32_t*>(arguments->hit) + kPrimitiveRow * n;
    const auto* instances = reinterpret_cast<const std::uint32_t*>(arguments->hit) + kInstanceRow * n;
    for (std::uint32_t i = 0; i < n; ++i) {
        if (arguments->valid[i] != -1) continue;
        if (outside_disc(arguments->hit[kURow * n + i], arguments->hit[kVRow * n + i])) {
            arguments->valid[i] = 0;
            continue;
        }
        const float range = arguments->ray[kFarRow * n + i];
        if (!gather(layer, hits[ids[i]], range, primitives[i] / 2, instances[i])) arguments->valid[i] = 0;
    }
}

// Corners of the square around a disc: its centre and two edges' halves in its plane.
void square(const float* centre, const float* normal, float radius, float corners[4][3]) {
    const float* n = normal;
    // A frame without square roots or special directions (Duff et al. 2017, "Building an orthonormal basis").
    const float sign = std::copysign(1.0f, n[2]), a = -1.0f / (sign + n[2]), b = n[0] * n[1] * a;
    const float x[3] = {1.0f + sign * n[0] * n[0] * a, sign * b, -sign * n[0]};
    const float y[3] = {b, sign + n[1] * n[1] * a, -n[1]};
    for (int i = 0; i < 3; ++i) {
        corners[0][i] = centre[i] - radius * (x[i] + y[i]);
        corners[1][i] = centre[i] + radius * (x[i] - y[i]);
        corners[2][i] = centre[i] - radius * (x[i] - y[i]);
        corners[3][i] = centre[i] + radius * (x[i] + y[i]);
    }
}

}  // namespace

Geometry disc_quads(const float* centre, const float* normal, const float* radius, std::size_t n) {
    Geometry geometry = embree().new_geometry(embree_device(), kQuad);
    auto* vertices = static_cast<float*>(embree().new_buffer(geometry, kVertexBuffer, 0, kFloat3, 12, 4 * n));
    auto* faces = static_cast<std::uint32_t*>(embree().new_buffer(geometry, kIndexBuffer, 0, kUint4, 16, n));
    check_embree("allocating splats");
    for (std::size_t i = 0; i < n; ++i) {
        float corners[4][3];
        square(centre + 3 * i, normal + 3 * i, radius[i], corners);
        std::copy(&corners[0][0], &corners[0][0] + 12, vertices + 12 * i);
        const auto first = static_cast<std::uint32_t>(4 * i);
        const std::uint32_t index[4] = {first, first + 1, first + 3, first + 2};
        std::copy(index, index + 4, faces + 4 * i);
    }
    return geometry;
}

Geometry disc_geometry(const Discs& discs) {
    Geometry geometry = embree().new_geometry(embree_device(), kTriangle);
    auto* vertices =
        static_cast<float*>(embree().new_buffer(geometry, kVertexBuffer, 0, kFloat3, 12, 4 * discs.n_discs));
    auto* faces =
        static_cast<std::uint32_t*>(embree().new_buffer(geometry, kIndexBuffer, 0, kUint3, 12, 2 * discs.n_discs));
    check_embree("allocating splats");
    for (std::size_t i = 0; i < discs.n_discs; ++i) {
        float corners[4][3];
        square(discs.centre + 3 * i, discs.normal + 3 * i, discs.radius[i], corners);
        std::copy(&corners[0][0], &corners[0][0] + 12, vertices + 12 * i);
        const auto first = static_cast<std::uint32_t>(4 * i);
        const std::uint32_t index[6] = {first, first + 1, first + 2, first + 3, first + 2, first + 1};
        std::copy(index, index + 6, faces + 6 * i);
    }
    embree().set_user_data(geometry, const_cast<Discs*>(&discs));
    embree().set_intersect_filter(geometry, discs.depth > 1 ? gather_discs : cut_corners);
    embree().set_occluded_filter(geometry, cut_corners);
    embree().commit_geometry(geometry);
    check_embree("adding splats");
    return geometry;
}

bool read_discs(const DiscHits& hits, const float direction[3], float limit, DiscReading& reading) {
    if (hits.count == 0 || hits.range[0] >= limit) return false;
    const Discs& layer = *hits.layer[0];
    const auto label = [&](int i) { return layer.label[hits.disc[i] * layer.label_stride]; };
    int count = 1;
    while (count < std::min(hits.count, layer.depth) && hits.range[count] < limit && hits.layer[count] == &layer &&
           hits.instance[count] == hits.instance[0] && label(count) == label(0) &&
           hits.range[count] - hits.range[count - 1] <= layer.gap)
        ++count;
    double weights = 0.0, range = 0.0, cosine = 0.0, reflectance = 0.0;
    const double half = 0.5 * count;
    for (int i = 0; i < count; ++i) {
        const double weight = std::exp(-std::fabs(i + 1 - half) / half);  // C, eq. 17
        const float* n = layer.normal + 3 * std::size_t{hits.disc[i]};
        weights += weight;
        range += weight * hits.range[i];
        cosine += weight * std::fabs(n[0] * direction[0] + n[1] * direction[1] + n[2] * direction[2]);
        reflectance += weight * layer.reflectance[hits.disc[i] * layer.reflectance_stride];
    }
    reading.range = static_cast<float>(range / weights);  // C, eq. 16
    reading.cosine = std::min(1.0f, static_cast<float>(cosine / weights));
    reading.reflectance = static_cast<float>(reflectance / weights);
    reading.label = label(0);
    reading.instance = layer.instance[hits.disc[0] * layer.instance_stride];
    return true;
}

}  // namespace resweep
