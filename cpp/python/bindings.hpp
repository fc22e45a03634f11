// What the files of this folder share: one function per subject that binds it, and the types that several bind.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "python/arrays.hpp"
#include "python/geometry.hpp"
#include "scene/actors.hpp"
#include "scene/scene.hpp"
#include "trace/pulses.hpp"

namespace resweep::python {

// A native scene, the arrays it reads, and the scenes of its cells.
struct PyScene {
    explicit PyScene(bool cell) : scene(cell) {}

    KeptArrays arrays;
    std::vector<nb::object> cells;
    Scene scene;
};

// What copies of triangles share, and the arrays it reads.
struct PyPrototype {
    KeptArrays arrays;
    std::shared_ptr<const Prototype> prototype;
};

// The actors of one sweep, and the Python objects that own them.
struct PyActorScene {
    nb::list kept;
    std::optional<ActorScene> scene;
};

// The pulses of a sweep, and the arrays they read.
struct PyFiring {
    Matrix3<float> reported;
    std::optional<Matrix3<float>> origin;
    std::optional<Row<std::int32_t>> ring;
    Firing firing;
};

void bind_motion(nb::module_& m);
void bind_plan(nb::module_& m);
void bind_pulses(nb::module_& m);
void bind_actors(nb::module_& m);
void bind_observed(nb::module_& m);
void bind_scene(nb::module_& m);
void bind_camera(nb::module_& m);
void bind_neighbours(nb::module_& m);
void bind_map(nb::module_& m);
void bind_references(nb::module_& m);
void bind_refine(nb::module_& m);
void bind_portable(nb::module_& m);
void bind_visibility(nb::module_& m);
void bind_drive(nb::module_& m);
void bind_scatter(nb::module_& m);

}  // namespace resweep::python
