// The pulses of a sweep, and the rays they become.
#include "trace/pulses.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <stdexcept>

#include "python/bindings.hpp"
#include "trace/trace.hpp"

namespace resweep::python {
namespace {

using OptionalVectors = std::optional<Matrix3<float>>;

void make_firing(PyFiring* self, const Matrix3<float>& direction, const Row<double>& time,
                 const Row<std::int32_t>& order, const Row<std::int32_t>& chunk, const OptionalVectors& reported,
                 const OptionalVectors& origin, const std::optional<Row<std::int32_t>>& ring) {
    const std::size_t n_beams = direction.shape(0);
    if (time.shape(0) != n_beams || (reported && reported->shape(0) != n_beams) ||
        (origin && origin->shape(0) != n_beams) || (ring && ring->shape(0) != n_beams))
        throw std::invalid_argument("direction, time, reported, origin, ring: expected one row per beam");
    const Matrix3<float>& as_reported = reported ? *reported : direction;
    const BeamColumns beams{direction.data(),
                            time.data(),
                            as_reported.data(),
                            origin ? origin->data() : nullptr,
                            n_beams,
                            ring ? ring->data() : nullptr};
    new (self)
        PyFiring{as_reported, origin, ring, Firing(beams, order.data(), order.shape(0), chunk.data(), chunk.shape(0))};
}

std::pair<Out<float>, Out<float>> rays_of_pulses(const Plan& plan, const PyFiring& firing, const Motion& motion,
                                                 double start, std::uint64_t seed, std::uint64_t index) {
    std::vector<float> origins, directions;
    pulse_rays(plan, {firing.firing, motion, start, Philox(seed, index)}, origins, directions);
    return {give(std::move(origins), 3), give(std::move(directions), 3)};
}

}  // namespace

void bind_pulses(nb::module_& m) {
    nb::class_<PyFiring>(m, "Firing", "The pulses of a sweep, in the order in which they are traced.")
        .def(
            "__init__", &make_firing, nb::kw_only(), nb::arg("direction"), nb::arg("time"), nb::arg("order"),
            nb::arg("chunk"), nb::arg("reported").none() = nb::none(), nb::arg("origin").none() = nb::none(),
            nb::arg("ring").none() = nb::none(),
            "`direction` (b, 3) and `time` (b,) are those of the beams; `order` (n,) are the rows of the beams to "
            "fire, "
            "each at most once, and `chunk` (c + 1,) the bounds of chunks of neighbours in it. Beams that are not in "
            "`order` are dropped. `reported` (b, 3): directions as the sensor reports them, if other than `direction`; "
            "`origin` (b, 3): where pulses begin in the sensor's frame, if not at its origin; `ring` (b,): the laser "
            "of "
            "each beam, where lasers differ.");
    m.def("pulse_rays", &rays_of_pulses, nb::arg("plan"), nb::arg("firing"), nb::arg("motion"), nb::kw_only(),
          nb::arg("start") = 0.0, nb::arg("seed"), nb::arg("index"),
          "The rays that `Scene.trace` traces, in its order: origins and directions (n, 3).");
}

}  // namespace resweep::python
