#include "scene/splats.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/random.hpp"
#include "scene/callback_context.hpp"

namespace resweep {
namespace {

// Both triangles of a square have their right angle at a corner. So (2u - 1, 2v - 1) is the position of the hit in the
// square, up to a rotation.
bool outside_disc(float u, float v) {
    const float x = 2.0f * u - 1.0f, y = 2.0f * v - 1.0f;
    return x * x + y * y > 1.0f;
}

// Filter: refuses hits outside the disc.
void cut_corners(const FilterArguments* arguments) {
    const std::uint32_t n = arguments->count;
    for (std::uint32_t i = 0; i < n; ++i)
        if (arguments->valid[i] == -1 && outside_disc(arguments->hit[kURow * n + i], arguments->hit[kVRow * n + i]))
            arguments->valid[i] = 0;
}

// Whether a gathered disc comes after one at `range`. Discs at the same range are ordered by their centres, so that it
// does not matter which was found first.
bool lies_behind(const DiscHits& hits, int i, float range, const Discs& layer, std::uint32_t disc) {
    if (hits.range[i] != range) return hits.range[i] > range;
    const float *one = hits.layer[i]->centre + 3 * std::size_t{hits.disc[i]},
                *other = layer.centre + 3 * std::size_t{disc};
    return std::lexicographical_compare(other, other + 3, one, one + 3);
}

// Insert a disc among the nearest of its ray; true if it lies too far behind them, as all beyond it do.
bool gather(const Discs& layer, DiscHits& hits, float range, std::uint32_t disc, std::uint32_t instance) {
    for (int i = 0; i < hits.count; ++i)  // by its other triangle, or from another leaf
        if (hits.disc[i] == disc && hits.layer[i] == &layer && hits.instance[i] == instance) return false;
    const int depth = layer.depth;
    if (hits.count >= depth && range >= hits.range[depth - 1]) return true;
    if (hits.count > 0 && range > hits.range[0] + layer.gap * static_cast<float>(depth - 1)) return true;
    int place = std::min(hits.count, kMaxDepth - 1);
    for (; place > 0 && lies_behind(hits, place - 1, range, layer, disc); --place) {
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

// A hit on a disc: the lane of its packet, the number of its ray, and what was hit.
struct DiscHit {
    std::uint32_t lane, ray, disc, instance;
    float range;
};

// Ask `accepts` of each hit within its disc; hits that it does not accept, and those outside, are refused.
template <class Accepts> void filter_discs(const FilterArguments* arguments, Accepts accepts) {
    const std::uint32_t n = arguments->count;
    const auto* ids = reinterpret_cast<const std::uint32_t*>(arguments->ray) + kRayIdRow * n;
    const auto* primitives = reinterpret_cast<const std::uint32_t*>(arguments->hit) + kPrimitiveRow * n;
    const auto* instances = reinterpret_cast<const std::uint32_t*>(arguments->hit) + kInstanceRow * n;
    for (std::uint32_t i = 0; i < n; ++i) {
        if (arguments->valid[i] != -1) continue;
        const DiscHit hit{i, ids[i], primitives[i] / 2, instances[i], arguments->ray[kFarRow * n + i]};
        const bool outside = outside_disc(arguments->hit[kURow * n + i], arguments->hit[kVRow * n + i]);
        if (outside || !accepts(hit)) arguments->valid[i] = 0;
    }
}

// Filter: gathers the disc and refuses the hit, so that the traversal continues behind it. A hit too far behind the
// first one is accepted, which ends the ray.
void gather_discs(const FilterArguments* arguments) {
    const auto& layer = *static_cast<const Discs*>(arguments->user);
    DiscHits* hits = reinterpret_cast<CallbackContext*>(arguments->context)->hits;
    filter_discs(arguments,
                 [&](const DiscHit& hit) { return gather(layer, hits[hit.ray], hit.range, hit.disc, hit.instance); });
}

// Filter for discs of which some are permeable. One that stops a ray is hit alone: it does not blend with others. Where
// a prediction records what rays cross, permeable discs let all pass. The rest are hit as opaque discs are.
void meet_permeable(const FilterArguments* arguments, bool gathers) {
    const std::uint32_t n = arguments->count;
    const auto& layer = *static_cast<const Discs*>(arguments->user);
    const auto& context = *reinterpret_cast<const CallbackContext*>(arguments->context);
    filter_discs(arguments, [&](const DiscHit& hit) {
        const float pass = layer.permeability[hit.disc];
        if (pass <= 0.0f) return !gathers || gather(layer, context.hits[hit.ray], hit.range, hit.disc, hit.instance);
        if (context.passed_discs) {
            context.passed_discs[hit.ray].push_back({&layer, hit.disc, hit.range});
            return false;
        }
        float origin[3], direction[3];
        for (std::uint32_t axis = 0; axis < 3; ++axis) {
            origin[axis] = arguments->ray[(kOriginRow + axis) * n + hit.lane];
            direction[axis] = arguments->ray[(kDirectionRow + axis) * n + hit.lane];
        }
        const std::uint64_t draw =
            disc_draw(context.keys[hit.ray], layer.centre + 3 * std::size_t{hit.disc}, origin, direction, hit.range);
        return static_cast<float>(draw >> 40) * (1.0f / 16777216.0f) >= pass;
    });
}

void meet_nearest(const FilterArguments* arguments) { meet_permeable(arguments, false); }
void meet_gathered(const FilterArguments* arguments) { meet_permeable(arguments, true); }

// Corners of the square around a disc, in its plane.
void square_corners(const float* centre, const float* normal, float radius, float corners[4][3]) {
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

OwnedGeometry disc_quads(const float* centre, const float* normal, const float* radius, std::size_t n) {
    OwnedGeometry geometry = new_geometry(kQuad);
    auto* vertices = static_cast<float*>(embree().new_buffer(geometry.get(), kVertexBuffer, 0, kFloat3, 12, 4 * n));
    auto* faces = static_cast<std::uint32_t*>(embree().new_buffer(geometry.get(), kIndexBuffer, 0, kUint4, 16, n));
    check_embree("allocating splats");
    for (std::size_t i = 0; i < n; ++i) {
        float corners[4][3];
        square_corners(centre + 3 * i, normal + 3 * i, radius[i], corners);
        std::copy(&corners[0][0], &corners[0][0] + 12, vertices + 12 * i);
        const auto first = static_cast<std::uint32_t>(4 * i);
        const std::uint32_t index[4] = {first, first + 1, first + 3, first + 2};
        std::copy(index, index + 4, faces + 4 * i);
    }
    return geometry;
}

OwnedGeometry disc_geometry(const Discs& discs) {
    OwnedGeometry geometry = new_geometry(kTriangle);
    auto* vertices =
        static_cast<float*>(embree().new_buffer(geometry.get(), kVertexBuffer, 0, kFloat3, 12, 4 * discs.n_discs));
    auto* faces = static_cast<std::uint32_t*>(
        embree().new_buffer(geometry.get(), kIndexBuffer, 0, kUint3, 12, 2 * discs.n_discs));
    check_embree("allocating splats");
    for (std::size_t i = 0; i < discs.n_discs; ++i) {
        float corners[4][3];
        square_corners(discs.centre + 3 * i, discs.normal + 3 * i, discs.radius[i], corners);
        std::copy(&corners[0][0], &corners[0][0] + 12, vertices + 12 * i);
        const auto first = static_cast<std::uint32_t>(4 * i);
        const std::uint32_t index[6] = {first, first + 1, first + 2, first + 3, first + 2, first + 1};
        std::copy(index, index + 6, faces + 6 * i);
    }
    embree().set_user_data(geometry.get(), const_cast<Discs*>(&discs));
    const bool opaque = discs.permeability.data == nullptr;
    embree().set_intersect_filter(geometry.get(), opaque ? (discs.depth > 1 ? gather_discs : cut_corners)
                                                         : (discs.depth > 1 ? meet_gathered : meet_nearest));
    embree().set_occluded_filter(geometry.get(), opaque ? cut_corners : meet_nearest);
    embree().commit_geometry(geometry.get());
    check_embree("adding splats");
    return geometry;
}

std::uint64_t disc_draw(std::uint64_t key, const float centre[3], const float origin[3], const float direction[3],
                        float range) {
    constexpr float kElement = 0.05f;  // metres: a leaf, a wire, a bar
    std::uint64_t where = 0, cell = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const float at = std::floor((origin[axis] + range * direction[axis]) / kElement);
        cell = cell * 0xD6E8FEB86659FD93ull + static_cast<std::uint32_t>(static_cast<std::int64_t>(at));
        where = mix64(where ^ std::bit_cast<std::uint32_t>(centre[axis]));
    }
    return mix64(mix64(key + 0x9E3779B97F4A7C15ull * (where + 1)) ^ cell);
}

Event disc_event(const Hit& hit, const Discs& discs) {
    const std::size_t disc = hit.primitive / 2;
    return {hit.range,
            1.0f,
            hit.cosine,
            discs.reflectance[disc] * discs.falloff(hit.cosine),
            discs.label[disc],
            discs.instance[disc],
            PrimitiveKind::kSplats,
            discs.seen_of(disc)};
}

int blended(const DiscHits& hits, float limit) {
    if (hits.count == 0 || hits.range[0] >= limit) return 0;
    const Discs& layer = *hits.layer[0];
    const auto label = [&](int i) { return hits.layer[i]->label[hits.disc[i]]; };
    const auto same_layer = [&](int i) {
        return hits.layer[i] == &layer ? hits.instance[i] == hits.instance[0]
                                       : layer.group >= 0 && hits.layer[i]->group == layer.group;
    };
    int count = 1;
    while (count < std::min(hits.count, layer.depth) && hits.range[count] < limit && same_layer(count) &&
           label(count) == label(0) && hits.range[count] - hits.range[count - 1] <= layer.gap)
        ++count;
    return count;
}

double blend_weight(int at, int count) {
    const double half = 0.5 * count;
    return std::exp(-std::fabs(at + 1 - half) / half);
}

bool combine_discs(const DiscHits& hits, const float direction[3], float limit, DiscSurface& surface) {
    const int count = blended(hits, limit);
    if (count == 0) return false;
    double weights = 0.0, range = 0.0, cosine = 0.0, reflectance = 0.0;
    surface.seen = 0;
    for (int i = 0; i < count; ++i) {
        const double weight = blend_weight(i, count);
        const float* n = hits.layer[i]->normal + 3 * std::size_t{hits.disc[i]};
        weights += weight;
        surface.seen = std::max(surface.seen, hits.layer[i]->seen_of(hits.disc[i]));
        range += weight * hits.range[i];
        cosine += weight * std::fabs(n[0] * direction[0] + n[1] * direction[1] + n[2] * direction[2]);
        reflectance += weight * hits.layer[i]->reflectance[hits.disc[i]];
    }
    surface.range = static_cast<float>(range / weights);  // C, eq. 16
    surface.cosine = std::min(1.0f, static_cast<float>(cosine / weights));
    surface.reflectance = static_cast<float>(reflectance / weights);
    surface.label = hits.layer[0]->label[hits.disc[0]];
    surface.instance = hits.layer[0]->instance[hits.disc[0]];
    return true;
}

}  // namespace resweep
