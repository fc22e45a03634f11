// The body of a vehicle in a closed loop: its wheels on the ground, what it strikes, and which actors come near.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <stdexcept>
#include <utility>

#include "drive/box_probe.hpp"
#include "drive/encounters.hpp"
#include "drive/footing.hpp"
#include "python/bindings.hpp"

namespace resweep::python {
namespace {

using Place = std::array<double, 3>;
using Ids = std::vector<std::int32_t>;
using Box = In<double, nb::shape<2, 3>, nb::c_contig>;
using Boxes = In<double, nb::shape<-1, 2, 3>, nb::c_contig>;

// The surfaces of a world that carry or stop a vehicle, and which of them are ground.
struct PySolid {
    nb::object kept;
    const Scene* scene;
    Place origin;
    GroundLabels labels;
};

void make_solid(PySolid* self, nb::object scene, const Place& origin, Ids ground, Ids unlabelled) {
    const Scene* native = &nb::cast<PyScene&>(scene).scene;
    new (self) PySolid{std::move(scene), native, origin, {std::move(ground), std::move(unlabelled)}};
}

using Strike = std::tuple<std::size_t, Place, std::int32_t, std::int32_t>;

std::optional<Strike> strike(const PySolid& self, const Poses& poses, const Matrix3<double>& begin,
                             const Matrix3<double>& along, const Row<double>& length, float side_on) {
    if (along.shape(0) != begin.shape(0) || length.shape(0) != begin.shape(0) || begin.shape(0) == 0)
        throw std::invalid_argument("begin, along, length: expected one row per ray, and at least one");
    const auto found =
        find_strike(*self.scene, self.origin.data(), self.labels,
                    {begin.data(), along.data(), length.data(), begin.shape(0)}, side_on, poses.data(), poses.shape(0));
    if (!found) return std::nullopt;
    return Strike{found->pose, {found->place[0], found->place[1], found->place[2]}, found->label, found->instance};
}

Out<double> heights(const PySolid& self, const In<double, nb::shape<-1, 2>, nb::c_contig>& places,
                    const Row<double>& near, double step, double drop, double skip, float upward, int deepest,
                    bool labelled) {
    if (near.shape(0) != places.shape(0)) throw std::invalid_argument("places, near: expected one row each");
    Buffer<double> result;
    result.allocate(near.shape(0));
    find_heights(*self.scene, self.origin.data(), self.labels, {step, drop, skip, upward, deepest, labelled},
                 places.data(), near.data(), near.shape(0), result.data.get());
    return give(std::move(result));
}

Out<double> standing_poses(const In<double, nb::shape<4, 2>, nb::c_contig>& wheels, double wheelbase, double track,
                           double steepest, const In<double, nb::shape<-1, 2>, nb::c_contig>& places,
                           const Row<double>& cosine, const Row<double>& sine,
                           const In<double, nb::shape<-1, 4>, nb::c_contig>& heights) {
    const std::size_t count = places.shape(0);
    if (cosine.shape(0) != count || sine.shape(0) != count || heights.shape(0) != count)
        throw std::invalid_argument("places, cosine, sine, heights: expected one row each");
    Buffer<double> poses;
    poses.allocate(16 * count);
    stand_on({wheels.data(), wheelbase, track, steepest}, places.data(), cosine.data(), sine.data(), heights.data(),
             count, poses.data.get());
    return give(std::move(poses), 4, 4);
}

std::pair<double, double> find_first_contact(const Motion& vehicle, const Box& box, const Motion& actor,
                                             const Box& actor_box, double from, double to) {
    const Contact found = find_contact({vehicle, box.data()}, {actor, actor_box.data()}, from, to);
    return {found.time, found.distance};
}

// Contact, distance and time to collision of an actor; None if it is not there.
using Watched = std::optional<std::tuple<double, double, double>>;

std::vector<Watched> watch_all(const Motion& vehicle, const Box& box, const nb::typed<nb::list, Motion>& actors,
                               const Boxes& boxes, const Row<double>& radii, double reach, double near,
                               double horizon) {
    const std::size_t count = actors.size();
    if (boxes.shape(0) != count || radii.shape(0) != count)
        throw std::invalid_argument("actors, boxes, radii: expected one each");
    std::vector<Watched> result;
    for (std::size_t i = 0; i < count; ++i) {
        const MovingBox actor{nb::cast<const Motion&>(actors[i]), boxes.data() + 6 * i};
        const Encounter found = watch({vehicle, box.data()}, actor, radii.data()[i], {reach, near, horizon});
        result.push_back(found.present ? Watched({found.contact.time, found.contact.distance, found.time_to_collision})
                                       : std::nullopt);
    }
    return result;
}

}  // namespace

void bind_drive(nb::module_& m) {
    nb::class_<PySolid>(m, "Solid", "Surfaces that carry or stop a vehicle.")
        .def("__init__", &make_solid, nb::arg("scene"), nb::arg("origin"), nb::arg("ground"), nb::arg("unlabelled"),
             "`ground` are the ids of the classes of the ground, `unlabelled` those that stand for no class.")
        .def("strike", &strike, nb::arg("poses"), nb::arg("begin"), nb::arg("along"), nb::arg("length"),
             nb::arg("side_on"),
             "The first of poses (n, 4, 4) at which a ray (r, 3) of the vehicle's frame hits something that is no "
             "ground within its length: its number, where in the world, label and instance; None if none does. What "
             "has no label is ground where it is hit with a cosine below `side_on`.")
        .def("heights", &heights, nb::arg("places"), nb::arg("near"), nb::kw_only(), nb::arg("step"), nb::arg("drop"),
             nb::arg("skip"), nb::arg("upward"), nb::arg("deepest"), nb::arg("labelled"),
             "Height (n,) of the ground below places (n, 2), near heights (n,); NaN where there is none.");
    m.def("stand_on", &standing_poses, nb::arg("wheels"), nb::arg("wheelbase"), nb::arg("track"), nb::arg("steepest"),
          nb::arg("places"), nb::arg("cosine"), nb::arg("sine"), nb::arg("heights"),
          "Poses (n, 4, 4) of a vehicle with its wheels (4, 2) at heights (n, 4); NaN where it cannot stand.");
    m.def("find_contact", &find_first_contact, nb::arg("vehicle"), nb::arg("box"), nb::arg("actor"),
          nb::arg("actor_box"), nb::arg("start"), nb::arg("end"),
          "The second of the first contact of two moving boxes (2, 3), NaN if none, and the least distance before it.");
    m.def("watch_actors", &watch_all, nb::arg("vehicle"), nb::arg("box"), nb::arg("actors"), nb::arg("boxes"),
          nb::arg("radii"), nb::kw_only(), nb::arg("reach"), nb::arg("near"), nb::arg("horizon"),
          "Of each actor along the motion of a vehicle: contact and distance as `find_contact` gives them, infinity "
          "where it stays farther than `near`, and the time to collision; None if it is not there.");
}

}  // namespace resweep::python
