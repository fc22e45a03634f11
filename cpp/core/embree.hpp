// Embree 4's C API, resolved at run time from a shared library. Nothing is linked: the Python side finds the library,
// `load_embree` opens it and checks its version.
#pragma once

#include <memory>
#include <string>

#include "core/embree_types.hpp"

namespace resweep {

// The functions that Resweep uses; embree.cpp has the name of each in the library.
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
    void (*set_quaternion_transform)(Geometry, std::uint32_t, const QuaternionTransform*);
    void (*set_time_steps)(Geometry, std::uint32_t);
    void (*set_time_range)(Geometry, float, float);
    void (*intersect1)(SceneHandle, RayHitPacket<1>*, IntersectArguments*);
    void (*intersect8)(const int*, SceneHandle, RayHitPacket<8>*, IntersectArguments*);
    void (*intersect16)(const int*, SceneHandle, RayHitPacket<16>*, IntersectArguments*);
    void (*occluded1)(SceneHandle, RayPacket<1>*, IntersectArguments*);
    void (*occluded8)(const int*, SceneHandle, RayPacket<8>*, IntersectArguments*);
    void (*occluded16)(const int*, SceneHandle, RayPacket<16>*, IntersectArguments*);
};

// How the device is made by default. Embree's kernels for other processors round differently, and build other trees:
// with those for AVX2 on every processor that has it, the same rays give the same bytes.
constexpr const char* kDeviceConfig = "max_isa=avx2";

// Open the library at `path`, once a process, and make the device with `config`, a string as rtcNewDevice takes it;
// throws std::runtime_error with the problem.
void load_embree(const std::string& path, const std::string& config = kDeviceConfig);

// Whether the processor has AVX2 and fused multiply-adds. Without them Embree and the C library take other paths, and
// bytes may be others.
bool has_avx2();

// The loaded API; throws if `load_embree` has not been called.
const Embree& embree();

// The one device of the process, created by `load_embree`.
Device embree_device();

// Throws if the device has an error pending; `action` names what was tried.
void check_embree(const char* action);

// Handles that release what they own.
struct ReleaseScene {
    void operator()(SceneHandle scene) const { embree().release_scene(scene); }
};
struct ReleaseGeometry {
    void operator()(Geometry geometry) const { embree().release_geometry(geometry); }
};
using OwnedScene = std::unique_ptr<SceneHandleType, ReleaseScene>;
using OwnedGeometry = std::unique_ptr<GeometryHandleType, ReleaseGeometry>;

// A new scene with these flags and this quality, and a new geometry of this type.
OwnedScene new_scene(int flags, int quality);
OwnedGeometry new_geometry(int type);

// Build the hierarchy over a scene; throws if that fails, and `action` names what was tried.
void commit_scene(OwnedScene& scene, const char* action);

// Trace a packet of rays in a scene: closest hits, or whether there is any.
inline void intersect_packet(SceneHandle scene, const int*, RayHitPacket<1>& packet, IntersectArguments& arguments) {
    embree().intersect1(scene, &packet, &arguments);
}
inline void intersect_packet(SceneHandle scene, const int* valid, RayHitPacket<8>& packet,
                             IntersectArguments& arguments) {
    embree().intersect8(valid, scene, &packet, &arguments);
}
inline void intersect_packet(SceneHandle scene, const int* valid, RayHitPacket<16>& packet,
                             IntersectArguments& arguments) {
    embree().intersect16(valid, scene, &packet, &arguments);
}

inline void occlude_packet(SceneHandle scene, const int*, RayPacket<1>& rays, IntersectArguments& arguments) {
    embree().occluded1(scene, &rays, &arguments);
}
inline void occlude_packet(SceneHandle scene, const int* valid, RayPacket<8>& rays, IntersectArguments& arguments) {
    embree().occluded8(valid, scene, &rays, &arguments);
}
inline void occlude_packet(SceneHandle scene, const int* valid, RayPacket<16>& rays, IntersectArguments& arguments) {
    embree().occluded16(valid, scene, &rays, &arguments);
}

// A geometry of copies of a scene; its transform is still to be set.
OwnedGeometry new_instance(SceneHandle scene);

}  // namespace resweep
