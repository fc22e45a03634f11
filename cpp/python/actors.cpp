// What moves during a sweep.
#include "scene/actors.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <stdexcept>

#include "python/bindings.hpp"

namespace resweep::python {
namespace {

// A shape and the arrays it reads.
struct PyShape {
    KeptArrays arrays;
    std::unique_ptr<Shape> shape;
};

// An actor, and the Python objects of its shapes.
struct PyActor {
    nb::list kept;
    Actor actor;
};

PyShape* shape_of_triangles(nb::object source) {
    auto made = std::make_unique<PyShape>();
    made->shape = std::make_unique<Shape>(made->arrays.triangles(source));
    return made.release();
}

PyShape* shape_of_discs(nb::object source) {
    auto made = std::make_unique<PyShape>();
    made->shape = std::make_unique<Shape>(made->arrays.discs(source));
    return made.release();
}

void make_actor(PyActor* self, const nb::typed<nb::list, PyShape>& shapes, const Motion& motion, double radius,
                std::int32_t instance, std::int32_t label) {
    std::vector<const Shape*> natives;
    for (nb::handle shape : shapes) natives.push_back(nb::cast<PyShape&>(shape).shape.get());
    new (self) PyActor{shapes, {std::move(natives), motion, radius, instance, label}};
}

void make_actor_scene(PyActorScene* self, const nb::typed<nb::list, PyActor>& actors, double begin, double end,
                      std::array<double, 3> centre, double radius) {
    std::vector<const Actor*> natives;
    for (nb::handle actor : actors) natives.push_back(&nb::cast<PyActor&>(actor).actor);
    PyActorScene made{actors, {}};
    {
        nb::gil_scoped_release release;
        made.scene.emplace(natives, begin, end, Region{{centre[0], centre[1], centre[2]}, radius});
    }
    new (self) PyActorScene(std::move(made));
}

std::tuple<Out<double>, Out<double>, Out<double>> actor_poses(const PyActorScene& self, const Row<double>& times) {
    const auto& present = self.scene->present();
    if (times.shape(0) != present.size()) throw std::invalid_argument("times: expected one per actor that is present");
    Buffer<double> poses, linear, angular;
    poses.allocate(16 * present.size());
    linear.allocate(3 * present.size());
    angular.allocate(3 * present.size());
    for (std::size_t i = 0; i < present.size(); ++i) {
        const Motion& motion = nb::cast<PyActor&>(self.kept[static_cast<std::size_t>(present[i])]).actor.motion;
        poses_at(motion, times.data() + i, 1, &poses.data[16 * i]);
        motion.velocity(times.data()[i], &linear.data[3 * i], &angular.data[3 * i]);
    }
    return {give(std::move(poses), 4, 4), give(std::move(linear), 3), give(std::move(angular), 3)};
}

std::pair<Out<float>, Out<std::uint32_t>> return_velocities(const PyActorScene& self, const Row<std::int32_t>& instance,
                                                            const Row<double>& time, const Matrix3<float>& points,
                                                            const Motion& sensor) {
    const std::size_t count = instance.shape(0);
    if (time.shape(0) != count || points.shape(0) != count)
        throw std::invalid_argument("instance, time, points: expected one row per return");
    Buffer<float> velocity;
    velocity.allocate(3 * count);
    auto counts =
        self.scene->velocities({instance.data(), time.data(), points.data(), count}, sensor, velocity.data.get());
    return {give(std::move(velocity), 3), give(std::move(counts))};
}

}  // namespace

void bind_actors(nb::module_& m) {
    nb::class_<PyShape>(m, "Shape", "Triangles or discs in an actor's frame, built once.")
        .def_static("triangles", &shape_of_triangles, nb::arg("triangles"))
        .def_static("discs", &shape_of_discs, nb::arg("discs"));

    nb::class_<PyActor>(m, "Actor", "Shapes in one frame, and the motion of that frame.")
        .def("__init__", &make_actor, nb::kw_only(), nb::arg("shapes"), nb::arg("motion"), nb::arg("radius"),
             nb::arg("instance"), nb::arg("label"),
             "`radius`: metres from the origin of the frame to the farthest point. An `instance` of 0 and a `label` of "
             "-1 keep those of the shapes.");

    nb::class_<PyActorScene>(m, "ActorScene", "The actors of one sweep, each where it is at the time of every ray.")
        .def("__init__", &make_actor_scene, nb::arg("actors"), nb::arg("begin"), nb::arg("end"), nb::arg("centre"),
             nb::arg("radius"),
             "The sweep lasts from `begin` to `end`, seconds. Actors that stay farther than `radius` from `centre` are "
             "not traced.")
        .def(
            "present", [](const PyActorScene& self) { return give(std::vector(self.scene->present())); },
            "Rows (k,) of the actors that are present in the sweep.")
        .def("poses", &actor_poses, nb::arg("times"),
             "Poses (k, 4, 4) of the actors that are present, each at its own time, and their linear and angular "
             "velocities (k, 3).")
        .def(
            "velocities", &return_velocities, nb::arg("instance"), nb::arg("time"), nb::arg("points"),
            nb::arg("sensor"),
            "Velocities (n, 3), metres per second, of what returns were measured on, and the number of returns (k,) of "
            "each actor that is present. `points` (n, 3) are in the sensor's frame at the time of firing.");
}

}  // namespace resweep::python
