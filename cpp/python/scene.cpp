// The native scene, and what is traced in it.
#include "scene/scene.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <stdexcept>

#include "python/bindings.hpp"
#include "trace/intersect.hpp"
#include "trace/packet_tracer.hpp"
#include "trace/predict.hpp"
#include "trace/raw_floor.hpp"
#include "trace/trace.hpp"

namespace resweep::python {
namespace {

void make_prototype(PyPrototype* self, nb::object triangles, std::size_t n_copies) {
    PyPrototype made;
    const Triangles native = made.arrays.triangles(triangles);
    made.prototype = std::make_shared<const Prototype>(native, n_copies);
    new (self) PyPrototype(std::move(made));
}

void declare(PyScene& self, int kind, bool gathers, bool permeable) {
    if (kind < 1 || kind > 3) throw std::invalid_argument("kind: expected 1, 2 or 3");
    self.scene.declare(static_cast<PrimitiveKind>(kind), gathers, permeable);
}

void divide(PyScene& self, const In<float, nb::shape<-1, 6>, nb::c_contig>& boxes) {
    if (self.scene.n_cells()) throw std::invalid_argument("scene: is divided already");
    self.scene.divide(boxes.data(), boxes.shape(0));
    self.cells.resize(boxes.shape(0));
}

void put(PyScene& self, std::size_t cell, nb::object scene) {
    if (cell >= self.scene.n_cells()) throw std::out_of_range("cell: there is no such cell");
    self.scene.put(cell, scene.is_none() ? nullptr : &nb::cast<PyScene&>(scene).scene);
    self.cells[cell] = std::move(scene);
}

void add_discs(PyScene& self, nb::object source, int group) {
    Discs native = self.arrays.discs(source);
    native.group = group;
    self.scene.add(native);
}

// Raise if rays entered a cell that was not at hand, where something may be.
void check_complete(const PyScene& self) {
    if (self.scene.take_missing()) throw std::runtime_error("rays entered a part of the world that is not loaded");
}

Columns trace(const PyScene& self, const Plan& plan, const PyFiring& firing, const Motion& motion, double start,
              std::uint64_t seed, std::uint64_t index, int threads, int packet, const PyActorScene* actors,
              const Record* record, bool beyond) {
    TracedReturns traced;
    {
        nb::gil_scoped_release release;
        traced = trace_pulses(self.scene, actors ? &*actors->scene : nullptr, plan,
                              {firing.firing, motion, start, Philox(seed, index)}, {threads, packet, record, beyond});
    }
    check_complete(self);
    Columns columns;
    columns["beam"] = give(std::move(traced.beam));
    columns["range"] = give(std::move(traced.range));
    columns["intensity"] = give(std::move(traced.intensity));
    columns["return_index"] = give(std::move(traced.return_index));
    columns["label"] = give(std::move(traced.label));
    columns["instance"] = give(std::move(traced.instance));
    columns["kind"] = give(std::move(traced.kind));
    columns["beam_status"] = give(std::move(traced.status));
    columns["points"] = give(std::move(traced.points), 3);
    if (record) {
        columns["seen_count"] = give(std::move(traced.seen_count));
        columns["range_ratio"] = give(std::move(traced.range_ratio));
        columns["incidence_off_deg"] = give(std::move(traced.incidence_off));
        columns["unknown_m"] = give(std::move(traced.unknown));
        columns["confidence"] = give(std::move(traced.confidence));
        columns["completed"] = give(std::move(traced.completed));
        columns["seen"] = give(std::move(traced.seen));
        columns["cosine"] = give(std::move(traced.cosine));
    }
    return columns;
}

Columns closest_hits(const PyScene& self, const Matrix3<float>& origins, const Matrix3<float>& directions,
                     float range_max, int threads) {
    if (directions.shape(0) != origins.shape(0))
        throw std::invalid_argument("origins, directions: expected one row per ray");
    RayHits hits;
    {
        nb::gil_scoped_release release;
        hits = intersect(self.scene, origins.data(), directions.data(), origins.shape(0), range_max, threads);
    }
    check_complete(self);
    Columns columns;
    columns["range"] = give(std::move(hits.range));
    columns["cosine"] = give(std::move(hits.cosine));
    columns["reflected"] = give(std::move(hits.reflected));
    columns["label"] = give(std::move(hits.label));
    columns["instance"] = give(std::move(hits.instance));
    return columns;
}

Columns predict_beams(const PyScene& self, const Matrix3<float>& origins, const Matrix3<float>& directions,
                      const std::optional<Row<float>>& measured, float sigma, float clutter, float window, float slope,
                      float range_max, float height, std::optional<float> reach, int threads) {
    if (directions.shape(0) != origins.shape(0) || (measured && measured->shape(0) != origins.shape(0)))
        throw std::invalid_argument("origins, directions, measured: expected one row per ray");
    Predictions predicted;
    {
        nb::gil_scoped_release release;
        predicted = predict(self.scene, origins.data(), directions.data(), measured ? measured->data() : nullptr,
                            origins.shape(0),
                            {sigma, clutter, window, slope, range_max, height, reach.value_or(range_max)}, threads);
    }
    check_complete(self);
    Columns columns;
    columns["range"] = give(std::move(predicted.range));
    columns["probability"] = give(std::move(predicted.probability));
    columns["returns"] = give(std::move(predicted.returns));
    columns["log_likelihood"] = give(std::move(predicted.log_likelihood));
    columns["reflected"] = give(std::move(predicted.reflected));
    columns["label"] = give(std::move(predicted.label));
    columns["instance"] = give(std::move(predicted.instance));
    columns["kind"] = give(std::move(predicted.kind));
    return columns;
}

std::pair<double, std::size_t> time_raw_floor(const PyScene& self, const Matrix3<float>& origins,
                                              const Matrix3<float>& directions, float range_max, int packet,
                                              int threads, int repeats) {
    if (directions.shape(0) != origins.shape(0))
        throw std::invalid_argument("origins, directions: expected one row per ray");
    nb::gil_scoped_release release;
    std::size_t hits = 0;
    const double seconds = raw_floor(self.scene, origins.data(), directions.data(), origins.shape(0), range_max, packet,
                                     threads, repeats, hits);
    return {seconds, hits};
}

}  // namespace

void bind_scene(nb::module_& m) {
    m.attr("BEYOND") = kBeyond;
    nb::class_<PyPrototype>(m, "Prototype", "Triangles that copies share, built once.")
        .def("__init__", &make_prototype, nb::arg("triangles"), nb::arg("n_copies"),
             "`n_copies`: how many there are in the whole world.");

    nb::class_<PyScene>(m, "Scene", "Native geometry, built once and traced many times.")
        .def(nb::init<bool>(), nb::kw_only(), nb::arg("cell") = false,
             "A scene of layers; with `cell`, one for a part of a layer that is put into a divided scene.")
        .def("declare", &declare, nb::arg("kind"), nb::kw_only(), nb::arg("gathers") = false,
             nb::arg("permeable") = false,
             "Declare that a divided scene has a layer of this kind: 1 mesh, 2 splats, 3 volumes.")
        .def("divide", &divide, nb::arg("boxes"),
             "Divide the scene into cells with these boxes (n, 6): lowest and highest corner.")
        .def("put", &put, nb::arg("cell"), nb::arg("scene").none(),
             "Set the scene of a cell, or None if it is not at hand. No ray that is being traced may need it.")
        .def(
            "add_triangles",
            [](PyScene& self, nb::object triangles) { self.scene.add(self.arrays.triangles(triangles)); },
            nb::arg("triangles"))
        .def(
            "add_instances",
            [](PyScene& self, nb::object instances, const PyPrototype* prototype) {
                const InstanceArray native = self.arrays.instances(instances);
                prototype ? self.scene.add(native, prototype->prototype) : self.scene.add(native);
            },
            nb::arg("instances"), nb::arg("prototype").none() = nb::none(), nb::keep_alive<1, 3>())
        .def("add_discs", &add_discs, nb::arg("discs"), nb::kw_only(), nb::arg("group") = -1,
             "`group`: the layer of the world that the discs of a cell belong to.")
        .def(
            "add_volumes", [](PyScene& self, nb::object source) { self.scene.add(volumes(source)); },
            nb::arg("volumes"))
        .def(
            "commit",
            [](PyScene& self) {
                nb::gil_scoped_release release;
                self.scene.commit();
            },
            "Build the hierarchy over all that was added; before anything is traced.")
        .def(
            "trace", &trace, nb::arg("plan"), nb::arg("firing"), nb::arg("motion"), nb::kw_only(),
            nb::arg("start") = 0.0, nb::arg("seed"), nb::arg("index"), nb::arg("threads") = 0, nb::arg("packet") = 8,
            nb::arg("actors").none() = nb::none(), nb::arg("record").none() = nb::none(), nb::arg("beyond") = true,
            "What a sensor measures with these pulses: columns of returns (n,), `points` (n, 3) in the sensor's frame "
            "when it fired, and `beam_status` (b,). `start`: seconds that are added to the times of the firing; `seed` "
            "and `index` of the sweep pick the random numbers; `packet`: 1, 8 or 16 rays per Embree call. With a "
            "`record` "
            "returns have columns on how their primitives were seen, and beams without return have a status for those "
            "that look "
            "where nothing was recorded. Without `beyond` no beam has the status of one that would have hit something "
            "beyond the maximum range: it hit nothing.")
        .def("intersect", &closest_hits, nb::arg("origins"), nb::arg("directions"), nb::arg("range_max"),
             nb::arg("threads") = 0,
             "Closest hits of rays (n, 3) with unit directions: range in metres, infinity for a miss.")
        .def("predict", &predict_beams, nb::arg("origins"), nb::arg("directions"), nb::arg("measured").none(),
             nb::kw_only(), nb::arg("sigma"), nb::arg("clutter"), nb::arg("window"), nb::arg("slope"),
             nb::arg("range_max"), nb::arg("height") = 0.0f, nb::arg("reach") = nb::none(), nb::arg("threads") = 0,
             "The most likely return of rays (n, 3), without random draws; none from farther than `reach`, metres.")
        .def("raw_floor", &time_raw_floor, nb::arg("origins"), nb::arg("directions"), nb::arg("range_max"),
             nb::arg("packet") = 8, nb::arg("threads") = 0, nb::arg("repeats") = 3,
             "Seconds that Embree alone needs for these rays, the best of `repeats`, and how many hit.");
}

}  // namespace resweep::python
