// Cameras, and what they see in a scene.
#include "trace/camera.hpp"

#include <nanobind/stl/pair.h>

#include <algorithm>
#include <stdexcept>

#include "python/bindings.hpp"

namespace resweep::python {
namespace {

using Pose = In<double, nb::shape<4, 4>, nb::c_contig>;

void make_camera(Camera* self, Projection projection, int width, int height, float half_across, float half_up,
                 const Pose& pose) {
    if (width < 1 || height < 1) throw std::invalid_argument("width, height: expected at least one pixel");
    if (!(half_across > 0.0f) || !(half_up > 0.0f))
        throw std::invalid_argument("half_across, half_up: must be above 0");
    Camera camera{projection, width, height, half_across, half_up, {}, {}};
    for (int row = 0; row < 3; ++row) {
        for (int column = 0; column < 3; ++column) camera.rotation[3 * row + column] = pose.data()[4 * row + column];
        camera.position[row] = static_cast<float>(pose.data()[4 * row + 3]);
    }
    new (self) Camera(camera);
}

Columns view(const PyScene& self, const Camera& camera, float range_max, const PyActorScene* actors, double second,
             int threads) {
    View seen;
    {
        nb::gil_scoped_release release;
        const ActorScene* moving = actors ? &*actors->scene : nullptr;
        seen = take_view(self.scene, moving, camera, range_max, moving ? moving->ray_time(second) : 0.0f, threads);
    }
    if (self.scene.take_missing()) throw std::runtime_error("rays entered a part of the world that is not loaded");
    Columns columns;
    columns["range"] = give(std::move(seen.range));
    columns["normal"] = give(std::move(seen.normal), 3);
    columns["reflected"] = give(std::move(seen.reflected));
    columns["label"] = give(std::move(seen.label));
    columns["instance"] = give(std::move(seen.instance));
    columns["kind"] = give(std::move(seen.kind));
    return columns;
}

}  // namespace

void bind_camera(nb::module_& m) {
    nb::enum_<Projection>(m, "Projection", "How a camera maps directions to pixels.")
        .value("PINHOLE", Projection::kPinhole)
        .value("PANORAMIC", Projection::kPanoramic)
        .value("PARALLEL", Projection::kParallel);
    nb::class_<Camera>(m, "Camera", "Where a camera stands and what it sees; its axes are x forward, y left, z up.")
        .def("__init__", &make_camera, nb::kw_only(), nb::arg("projection"), nb::arg("width"), nb::arg("height"),
             nb::arg("half_across"), nb::arg("half_up"), nb::arg("pose"),
             "Half of what it sees: tangents of a pinhole, radians of a panorama, metres of parallel rays. `pose` (4, "
             "4) is that of the camera around the world's origin.")
        .def(
            "rays",
            [](const Camera& self) {
                std::vector<float> origins, directions;
                camera_rays(self, origins, directions);
                return std::make_pair(give(std::move(origins), 3), give(std::move(directions), 3));
            },
            "Origins and directions (n, 3) of the rays of all pixels, row by row from the upper left.");
    m.def("view", &view, nb::arg("scene"), nb::arg("camera"), nb::kw_only(), nb::arg("range_max"),
          nb::arg("actors").none() = nb::none(), nb::arg("second") = 0.0, nb::arg("threads") = 0,
          "What a camera sees, by pixel: `range` (n,) metres along the ray, infinity for a miss, `normal` (n, 3) "
          "towards the camera, `reflected`, `label`, `instance` and `kind` (n,). Actors are where they are at "
          "`second`.");
}

}  // namespace resweep::python
