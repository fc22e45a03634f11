// The part of Embree 4's C API that Resweep uses, resolved at run time from a shared library.
//
// The struct layouts and enum values are those of the public headers of Embree 4.4 (one level of
// instancing, instance arrays enabled). Nothing is linked: `load_embree` opens the library that the
// Python side found and checks its version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace resweep {

using Device = struct DeviceHandle*;
using SceneHandle = struct SceneHandleType*;
using Geometry = struct GeometryHandle*;

constexpr std::uint32_t kInvalidId = 0xFFFFFFFFu;

enum GeometryType : int { kTriangle = 0, kQuad = 1, kUser = 120, kInstance = 121, kInstanceArray = 122 };
enum BufferType : int { kIndexBuffer = 0, kVertexBuffer = 1, kTransformBuffer = 23 };
enum Format : int { kUint3 = 0x5003, kUint4 = 0x5004, kFloat3 = 0x9003, kFloat3x4RowMajor = 0x9134 };
enum BuildQuality : int { kLow = 0, kMedium = 1, kHigh = 2 };
enum SceneFlags : int { kNoSceneFlag = 0, kCompact = 1 << 1, kRobust = 1 << 2 };
enum QueryFlags : int { kIncoherent = 0, kCoherent = 1 << 16 };
enum DeviceProperty : int { kVersionMajor = 1, kVersionMinor = 2, kNativeRay8 = 33, kNativeRay16 = 34 };

struct RayQueryContext {
    std::uint32_t instance_id[1] = {kInvalidId};
    std::uint32_t instance_primitive_id[1] = {kInvalidId};
};

struct IntersectArguments {
    int flags = kIncoherent;
    std::uint32_t feature_mask = 0xFFFFFFFFu;
    RayQueryContext* context = nullptr;
    void* filter = nullptr;
    void* intersect = nullptr;
    float min_width_distance_factor = 0.0f;
    float reserved[7] = {};
};

// A transform whose rotation is kept apart, so that it turns between two steps of time: RTCQuaternionDecomposition.
struct alignas(16) QuaternionTransform {
    float scale[3] = {1.0f, 1.0f, 1.0f}, skew[3] = {}, shift[3] = {};
    float rotation[4] = {1.0f, 0.0f, 0.0f, 0.0f};  // r, i, j, k
    float translation[3] = {};
};

// A packet of N rays without hit, as RTCRayN lays it out. N = 1 is the single ray.
template <int N> struct alignas(N == 1 ? 16 : 4 * N) RayPacket {
    float origin_x[N], origin_y[N], origin_z[N], t_near[N];
    float direction_x[N], direction_y[N], direction_z[N], time[N];
    float t_far[N];
    std::uint32_t mask[N], id[N], flags[N];
};

template <int N> struct alignas(N == 1 ? 16 : 4 * N) HitPacket {
    float normal_x[N], normal_y[N], normal_z[N], u[N], v[N];
    std::uint32_t primitive[N], geometry[N], instance[N], instance_primitive[N];
};

template <int N> struct RayHitPacket {
    RayPacket<N> ray;
    HitPacket<N> hit;
};

// What a filter function is called with: a hit of N rays that it may refuse by clearing `valid`.
struct FilterArguments {
    int* valid;
    void* user;
    RayQueryContext* context;
    float* ray;  // RTCRayN: 12 rows of N
    float* hit;  // RTCHitN: 9 rows of N
    std::uint32_t count;
};
using Filter = void (*)(const FilterArguments*);

// What the bounds function of a user geometry is called with: `bounds` takes lower x, y, z, _, upper x, y, z, _.
struct BoundsArguments {
    void* user;
    std::uint32_t primitive, time_step;
    float* bounds;
};
using BoundsFunction = void (*)(const BoundsArguments*);

// What a user geometry is asked with: whether N rays meet one primitive. `rays` is RTCRayHitN (12 rows of rays,
// then 9 of hits), or RTCRayN where only occlusion is asked for.
struct UserArguments {
    int* valid;
    void* user;
    std::uint32_t primitive;
    RayQueryContext* context;
    float* rays;
    std::uint32_t count, geometry;
};
using UserFunction = void (*)(const UserArguments*);

struct Embree {
    Device (*new_device)(const char*);
    void (*release_device)(Device);
    std::ptrdiff_t (*device_property)(Device, int);
    int (*device_error)(Device);
    const char* (*device_error_message)(Device);
    SceneHandle (*new_scene)(Device);
    void (*release_scene)(SceneHandle);
    void (*set_scene_flags)(SceneHandle, int);
    void (*set_scene_quality)(SceneHandle, int);
    void (*commit_scene)(SceneHandle);
    std::uint32_t (*attach)(SceneHandle, Geometry);
    Geometry (*new_geometry)(Device, int);
    void (*release_geometry)(Geometry);
    void (*commit_geometry)(Geometry);
    void* (*new_buffer)(Geometry, int, std::uint32_t, int, std::size_t, std::size_t);
    void (*share_buffer)(Geometry, int, std::uint32_t, int, const void*, std::size_t, std::size_t, std::size_t);
    void (*set_user_data)(Geometry, void*);
    void (*set_intersect_filter)(Geometry, Filter);
    void (*set_occluded_filter)(Geometry, Filter);
    void (*set_user_count)(Geometry, std::uint32_t);
    void (*set_bounds)(Geometry, BoundsFunction, void*);
    void (*set_intersect)(Geometry, UserFunction);
    void (*set_occluded)(Geometry, UserFunction);
    void (*set_instanced_scene)(Geometry, SceneHandle);
    void (*set_transform)(Geometry, std::uint32_t, int, const void*);
    void (*set_turn)(Geometry, std::uint32_t, const QuaternionTransform*);
    void (*set_time_steps)(Geometry, std::uint32_t);
    void (*set_time_range)(Geometry, float, float);
    void (*intersect1)(SceneHandle, RayHitPacket<1>*, IntersectArguments*);
    void (*intersect8)(const int*, SceneHandle, RayHitPacket<8>*, IntersectArguments*);
    void (*intersect16)(const int*, SceneHandle, RayHitPacket<16>*, IntersectArguments*);
    void (*occluded1)(SceneHandle, RayPacket<1>*, IntersectArguments*);
    void (*occluded8)(const int*, SceneHandle, RayPacket<8>*, IntersectArguments*);
    void (*occluded16)(const int*, SceneHandle, RayPacket<16>*, IntersectArguments*);
};

// Open the library at `path` (once a process); throws std::runtime_error that says what is wrong.
void load_embree(const std::string& path);

// The loaded API; throws if `load_embree` has not been called.
const Embree& embree();

// The one device of the process, created on first use.
Device embree_device();

// Throws if the device has an error pending; `doing` says what was tried.
void check_embree(const char* doing);

}  // namespace resweep
