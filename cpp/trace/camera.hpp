// Views of a camera through the tracer that sensors use.
#pragma once

#include <cstdint>
#include <vector>

#include "scene/actors.hpp"
#include "scene/scene.hpp"

namespace resweep {

enum class Projection : std::uint8_t { kPinhole, kPanoramic, kParallel };

// Where a camera stands and what it sees. Its axes are x forward, y left, z up.
struct Camera {
    Projection projection;
    int width, height;   // pixels
    float half_across;   // pinhole: tangent of half the field of view; panoramic: half of it, radians; parallel: metres
    float half_up;       // the same, upwards
    double rotation[9];  // from the camera to the world, row-major
    float position[3];   // metres from the world's origin
};

// By pixel, row by row from the upper left: range along the ray (infinity for a miss), unit normal towards the camera,
// relative light sent back, label, instance, kind of primitive (0 for a miss).
struct View {
    std::vector<float> range, normal, reflected;
    std::vector<std::int32_t> label, instance;
    std::vector<std::uint8_t> kind;
};

// What the camera sees up to `range_max` metres; `time` is the ray time at which actors are seen. Volumes stop the same
// rays in every view: their leaves stand still.
View take_view(const Scene& scene, const ActorScene* actors, const Camera& camera, float range_max, float time,
               int threads);

// Origins and directions (n, 3) of the rays of all pixels, in the order of a view.
void camera_rays(const Camera& camera, std::vector<float>& origins, std::vector<float>& directions);

}  // namespace resweep
