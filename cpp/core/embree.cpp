#include "core/embree.hpp"

#include <memory>
#include <mutex>
#include <stdexcept>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace resweep {
namespace {

void* open_library(const std::string& path) {
#ifdef _WIN32
    void* library = reinterpret_cast<void*>(
        LoadLibraryExA(path.c_str(), nullptr, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR));
    if (!library) throw std::runtime_error("cannot load Embree from '" + path + "'");
#else
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char* reason = dlerror();
        throw std::runtime_error("cannot load Embree from '" + path + "': " + (reason ? reason : "unknown reason"));
    }
#endif
    return library;
}

template <class Function> void resolve(void* library, const char* name, Function& target) {
#ifdef _WIN32
    void* symbol = reinterpret_cast<void*>(GetProcAddress(reinterpret_cast<HMODULE>(library), name));
#else
    void* symbol = dlsym(library, name);
#endif
    if (!symbol) throw std::runtime_error(std::string("the library has no function ") + name + ": it is not Embree 4");
    target = reinterpret_cast<Function>(symbol);
}

std::unique_ptr<Embree> api;
Device device = nullptr;
std::mutex loading;

}  // namespace

void load_embree(const std::string& path, const std::string& config) {
    std::lock_guard lock(loading);
    if (api) return;
    void* library = open_library(path);
    auto loaded = std::make_unique<Embree>();
    resolve(library, "rtcNewDevice", loaded->new_device);
    resolve(library, "rtcReleaseDevice", loaded->release_device);
    resolve(library, "rtcGetDeviceProperty", loaded->device_property);
    resolve(library, "rtcGetDeviceError", loaded->device_error);
    resolve(library, "rtcGetDeviceLastErrorMessage", loaded->device_error_message);
    resolve(library, "rtcNewScene", loaded->new_scene);
    resolve(library, "rtcReleaseScene", loaded->release_scene);
    resolve(library, "rtcSetSceneFlags", loaded->set_scene_flags);
    resolve(library, "rtcSetSceneBuildQuality", loaded->set_scene_quality);
    resolve(library, "rtcCommitScene", loaded->commit_scene);
    resolve(library, "rtcAttachGeometry", loaded->attach);
    resolve(library, "rtcNewGeometry", loaded->new_geometry);
    resolve(library, "rtcReleaseGeometry", loaded->release_geometry);
    resolve(library, "rtcCommitGeometry", loaded->commit_geometry);
    resolve(library, "rtcSetNewGeometryBuffer", loaded->new_buffer);
    resolve(library, "rtcSetSharedGeometryBuffer", loaded->share_buffer);
    resolve(library, "rtcSetGeometryUserData", loaded->set_user_data);
    resolve(library, "rtcSetGeometryIntersectFilterFunction", loaded->set_intersect_filter);
    resolve(library, "rtcSetGeometryOccludedFilterFunction", loaded->set_occluded_filter);
    resolve(library, "rtcSetGeometryUserPrimitiveCount", loaded->set_user_count);
    resolve(library, "rtcSetGeometryBoundsFunction", loaded->set_bounds);
    resolve(library, "rtcSetGeometryIntersectFunction", loaded->set_intersect);
    resolve(library, "rtcSetGeometryOccludedFunction", loaded->set_occluded);
    resolve(library, "rtcSetGeometryInstancedScene", loaded->set_instanced_scene);
    resolve(library, "rtcSetGeometryTransform", loaded->set_transform);
    resolve(library, "rtcSetGeometryTransformQuaternion", loaded->set_quaternion_transform);
    resolve(library, "rtcSetGeometryTimeStepCount", loaded->set_time_steps);
    resolve(library, "rtcSetGeometryTimeRange", loaded->set_time_range);
    resolve(library, "rtcIntersect1", loaded->intersect1);
    resolve(library, "rtcIntersect8", loaded->intersect8);
    resolve(library, "rtcIntersect16", loaded->intersect16);
    resolve(library, "rtcOccluded1", loaded->occluded1);
    resolve(library, "rtcOccluded8", loaded->occluded8);
    resolve(library, "rtcOccluded16", loaded->occluded16);

    Device created = loaded->new_device(config.c_str());
    if (!created)
        throw std::runtime_error("Embree could not start a device on this processor (it needs SSE4.2 or NEON)");
    const auto major = loaded->device_property(created, kVersionMajor);
    const auto minor = loaded->device_property(created, kVersionMinor);
    if (major != 4 || minor < 4) {
        loaded->release_device(created);
        throw std::runtime_error("the library is Embree " + std::to_string(major) + "." + std::to_string(minor) +
                                 ", Resweep needs 4.4 or a later 4.x");
    }
    device = created;
    api = std::move(loaded);
}

bool has_avx2() {
#ifdef _WIN32
    return IsProcessorFeaturePresent(PF_AVX2_INSTRUCTIONS_AVAILABLE);
#elif defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

const Embree& embree() {
    if (!api) throw std::runtime_error("Embree is not loaded");
    return *api;
}

Device embree_device() {
    embree();
    return device;
}

void check_embree(const char* action) {
    if (embree().device_error(device) == kNoError) return;
    const char* message = embree().device_error_message(device);
    throw std::runtime_error(std::string("Embree failed while ") + action + ": " +
                             (message ? message : "unknown error"));
}

OwnedScene new_scene(int flags, int quality) {
    OwnedScene scene(embree().new_scene(embree_device()));
    embree().set_scene_flags(scene.get(), flags);
    embree().set_scene_quality(scene.get(), quality);
    return scene;
}

OwnedGeometry new_geometry(int type) { return OwnedGeometry(embree().new_geometry(embree_device(), type)); }

void commit_scene(OwnedScene& scene, const char* action) {
    embree().commit_scene(scene.get());
    try {
        check_embree(action);
    } catch (...) {
        // Where Embree could not start a thread, it left tasks behind: to release the scene would end the process.
        static_cast<void>(scene.release());
        throw;
    }
}

OwnedGeometry new_instance(SceneHandle scene) {
    OwnedGeometry geometry = new_geometry(kInstance);
    embree().set_instanced_scene(geometry.get(), scene);
    return geometry;
}

}  // namespace resweep
