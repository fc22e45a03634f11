// The enums and structs of Embree 4's C API that Resweep uses, typed again so that no header of Embree is needed.
//
// Layouts and values are those of Embree 4.4 as the embreex wheel builds it: one level of instancing, instance arrays
// enabled. The assertions below hold every struct to them; tests/native compares with the official headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace resweep {

using Device = struct DeviceHandleType*;
using SceneHandle = struct SceneHandleType*;
using Geometry = struct GeometryHandleType*;

constexpr std::uint32_t kInvalidId = 0xFFFFFFFFu;

enum GeometryType : int { kTriangle = 0, kQuad = 1, kUser = 120, kInstance = 121, kInstanceArray = 122 };
enum BufferType : int { kIndexBuffer = 0, kVertexBuffer = 1, kTransformBuffer = 23 };
enum Format : int { kUint3 = 0x5003, kUint4 = 0x5004, kFloat3 = 0x9003, kFloat3x4RowMajor = 0x9134 };
enum BuildQuality : int { kLow = 0, kMedium = 1, kHigh = 2 };
enum SceneFlags : int { kNoSceneFlag = 0, kCompact = 1 << 1, kRobust = 1 << 2 };
enum QueryFlags : int { kIncoherent = 0, kCoherent = 1 << 16 };
enum DeviceProperty : int { kVersionMajor = 1, kVersionMinor = 2 };
enum ErrorCode : int { kNoError = 0 };

// RTCRayQueryContext
struct RayQueryContext {
    std::uint32_t instance_id[1] = {kInvalidId};
    std::uint32_t instance_primitive_id[1] = {kInvalidId};
};

// RTCIntersectArguments and RTCOccludedArguments. The last two fields are not in every build of Embree: they leave
// room for one that has a minimal width of curves, and for later fields.
struct IntersectArguments {
    int flags = kIncoherent;
    std::uint32_t feature_mask = 0xFFFFFFFFu;
    RayQueryContext* context = nullptr;
    void* filter = nullptr;
    void* intersect = nullptr;
    float min_width_distance_factor = 0.0f;
    float reserved[7] = {};
};

// RTCQuaternionDecomposition: a transform with the rotation apart, so that Embree interpolates it between time steps.
struct alignas(16) QuaternionTransform {
    float scale[3] = {1.0f, 1.0f, 1.0f}, skew[3] = {}, shift[3] = {};
    float rotation[4] = {1.0f, 0.0f, 0.0f, 0.0f};  // r, i, j, k
    float translation[3] = {};
};

// RTCRay, RTCRay8 and RTCRay16: N rays, one row a quantity.
template <int N> struct alignas(N == 1 ? 16 : 4 * N) RayPacket {
    float origin_x[N], origin_y[N], origin_z[N], t_near[N];
    float direction_x[N], direction_y[N], direction_z[N], time[N];
    float t_far[N];
    std::uint32_t mask[N], id[N], flags[N];
};

// RTCHit, RTCHit8 and RTCHit16
template <int N> struct alignas(N == 1 ? 16 : 4 * N) HitPacket {
    float normal_x[N], normal_y[N], normal_z[N], u[N], v[N];
    std::uint32_t primitive[N], geometry[N], instance[N], instance_primitive[N];
};

// RTCRayHit, RTCRayHit8 and RTCRayHit16
template <int N> struct RayHitPacket {
    RayPacket<N> ray;
    HitPacket<N> hit;
};

// Rows of RTCRayN, RTCHitN and RTCRayHitN: packets of a width that callbacks learn at run time. Row r of ray i of a
// packet of N is at r * N + i.
enum RayRow : std::uint32_t { kOriginRow = 0, kNearRow = 3, kDirectionRow = 4, kFarRow = 8, kRayIdRow = 10 };
enum HitRow : std::uint32_t { kNormalRow = 0, kURow = 3, kVRow = 4, kPrimitiveRow = 5, kGeometryRow = 6 };
enum InstanceRow : std::uint32_t { kInstanceRow = 7, kInstancePrimitiveRow = 8 };
constexpr std::uint32_t kFirstHitRow = 12;  // of RTCRayHitN

// RTCFilterFunctionNArguments: a hit of N rays, which a filter refuses by clearing `valid`.
struct FilterArguments {
    int* valid;
    void* user;
    RayQueryContext* context;
    float* ray;  // RTCRayN
    float* hit;  // RTCHitN
    std::uint32_t count;
};
using Filter = void (*)(const FilterArguments*);

// RTCBounds
struct alignas(16) Bounds {
    float lower[3], padding0, upper[3], padding1;
};

// RTCBoundsFunctionArguments
struct BoundsArguments {
    void* user;
    std::uint32_t primitive, time_step;
    Bounds* bounds;
};
using BoundsFunction = void (*)(const BoundsArguments*);

// RTCIntersectFunctionNArguments and RTCOccludedFunctionNArguments: N rays that may hit one primitive of a user
// geometry. `rays` is RTCRayHitN, or RTCRayN for occlusion.
struct UserArguments {
    int* valid;
    void* user;
    std::uint32_t primitive;
    RayQueryContext* context;
    float* rays;
    std::uint32_t count, geometry;
};
using UserFunction = void (*)(const UserArguments*);

#define RESWEEP_AT(type, field, offset) static_assert(offsetof(type, field) == (offset), #type "::" #field)

static_assert(sizeof(RayQueryContext) == 8 && alignof(RayQueryContext) == 4);
RESWEEP_AT(RayQueryContext, instance_id, 0);
RESWEEP_AT(RayQueryContext, instance_primitive_id, 4);

static_assert(sizeof(void*) == 8, "the layouts are those of 64-bit systems");
static_assert(sizeof(IntersectArguments) == 64 && alignof(IntersectArguments) == 8);
RESWEEP_AT(IntersectArguments, flags, 0);
RESWEEP_AT(IntersectArguments, feature_mask, 4);
RESWEEP_AT(IntersectArguments, context, 8);
RESWEEP_AT(IntersectArguments, filter, 16);
RESWEEP_AT(IntersectArguments, intersect, 24);
RESWEEP_AT(IntersectArguments, min_width_distance_factor, 32);

static_assert(sizeof(QuaternionTransform) == 64 && alignof(QuaternionTransform) == 16);
RESWEEP_AT(QuaternionTransform, scale, 0);
RESWEEP_AT(QuaternionTransform, skew, 12);
RESWEEP_AT(QuaternionTransform, shift, 24);
RESWEEP_AT(QuaternionTransform, rotation, 36);
RESWEEP_AT(QuaternionTransform, translation, 52);

// A packet is rows of N numbers, and a single ray is padded to its alignment.
template <int N> constexpr bool has_layout_of_embree() {
    using Ray = RayPacket<N>;
    using Hit = HitPacket<N>;
    using RayHit = RayHitPacket<N>;
    constexpr std::size_t row = sizeof(float) * N;
    constexpr std::size_t alignment = N == 1 ? 16 : row;
    static_assert(sizeof(Ray) == 12 * row && alignof(Ray) == alignment);
    RESWEEP_AT(Ray, origin_x, kOriginRow * row);
    RESWEEP_AT(Ray, origin_y, (kOriginRow + 1) * row);
    RESWEEP_AT(Ray, origin_z, (kOriginRow + 2) * row);
    RESWEEP_AT(Ray, t_near, kNearRow * row);
    RESWEEP_AT(Ray, direction_x, kDirectionRow * row);
    RESWEEP_AT(Ray, direction_y, (kDirectionRow + 1) * row);
    RESWEEP_AT(Ray, direction_z, (kDirectionRow + 2) * row);
    RESWEEP_AT(Ray, time, 7 * row);
    RESWEEP_AT(Ray, t_far, kFarRow * row);
    RESWEEP_AT(Ray, mask, 9 * row);
    RESWEEP_AT(Ray, id, kRayIdRow * row);
    RESWEEP_AT(Ray, flags, 11 * row);
    static_assert(sizeof(Hit) == (9 * row + alignment - 1) / alignment * alignment && alignof(Hit) == alignment);
    RESWEEP_AT(Hit, normal_x, kNormalRow * row);
    RESWEEP_AT(Hit, normal_y, (kNormalRow + 1) * row);
    RESWEEP_AT(Hit, normal_z, (kNormalRow + 2) * row);
    RESWEEP_AT(Hit, u, kURow * row);
    RESWEEP_AT(Hit, v, kVRow * row);
    RESWEEP_AT(Hit, primitive, kPrimitiveRow * row);
    RESWEEP_AT(Hit, geometry, kGeometryRow * row);
    RESWEEP_AT(Hit, instance, kInstanceRow * row);
    RESWEEP_AT(Hit, instance_primitive, kInstancePrimitiveRow * row);
    static_assert(sizeof(RayHit) == sizeof(Ray) + sizeof(Hit) && alignof(RayHit) == alignment);
    RESWEEP_AT(RayHit, ray, 0);
    RESWEEP_AT(RayHit, hit, kFirstHitRow * row);
    return true;
}
static_assert(has_layout_of_embree<1>() && has_layout_of_embree<8>() && has_layout_of_embree<16>());

static_assert(sizeof(FilterArguments) == 48 && alignof(FilterArguments) == 8);
RESWEEP_AT(FilterArguments, valid, 0);
RESWEEP_AT(FilterArguments, user, 8);
RESWEEP_AT(FilterArguments, context, 16);
RESWEEP_AT(FilterArguments, ray, 24);
RESWEEP_AT(FilterArguments, hit, 32);
RESWEEP_AT(FilterArguments, count, 40);

static_assert(sizeof(Bounds) == 32 && alignof(Bounds) == 16);
RESWEEP_AT(Bounds, lower, 0);
RESWEEP_AT(Bounds, upper, 16);

static_assert(sizeof(BoundsArguments) == 24 && alignof(BoundsArguments) == 8);
RESWEEP_AT(BoundsArguments, user, 0);
RESWEEP_AT(BoundsArguments, primitive, 8);
RESWEEP_AT(BoundsArguments, time_step, 12);
RESWEEP_AT(BoundsArguments, bounds, 16);

static_assert(sizeof(UserArguments) == 48 && alignof(UserArguments) == 8);
RESWEEP_AT(UserArguments, valid, 0);
RESWEEP_AT(UserArguments, user, 8);
RESWEEP_AT(UserArguments, primitive, 16);
RESWEEP_AT(UserArguments, context, 24);
RESWEEP_AT(UserArguments, rays, 32);
RESWEEP_AT(UserArguments, count, 40);
RESWEEP_AT(UserArguments, geometry, 44);

#undef RESWEEP_AT

}  // namespace resweep
