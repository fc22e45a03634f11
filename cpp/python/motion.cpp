// Poses over time.
#include "core/motion.hpp"

#include <stdexcept>

#include "python/bindings.hpp"

namespace resweep::python {
namespace {

void make_motion(Motion* self, const Row<double>& times, const Poses& poses) {
    if (poses.shape(0) != times.shape(0) || times.shape(0) == 0)
        throw std::invalid_argument("motion: expected one pose per time, and at least one");
    new (self) Motion(times.data(), poses.data(), times.shape(0));
}

Out<double> poses_at_times(const Motion& self, const Row<double>& times) {
    Buffer<double> poses;
    poses.allocate(16 * times.shape(0));
    poses_at(self, times.data(), times.shape(0), poses.data.get());
    return give(std::move(poses), 4, 4);
}

Out<double> deviations_of(const Poses& poses) {
    Buffer<double> result;
    result.allocate(poses.shape(0));
    rigid_deviations(poses.data(), poses.shape(0), result.data.get());
    return give(std::move(result));
}

template <class Real>
Out<Real> vectors_to_world(const Motion& self, const Row<double>& times, const Matrix3<Real>& vectors,
                           bool directions) {
    const std::size_t count = times.shape(0);
    if (vectors.shape(0) != count) throw std::invalid_argument("times, vectors: expected one row each");
    Buffer<Real> result;
    result.allocate(3 * count);
    {
        nb::gil_scoped_release release;
        to_world(self, times.data(), vectors.data(), count, directions, result.data.get());
    }
    return give(std::move(result), 3);
}

}  // namespace

void bind_motion(nb::module_& m) {
    m.def("rigid_deviations", &deviations_of, nb::arg("poses"),
          "How far poses (n, 4, 4) are from rigid motions (n,): infinity for a mirrored one, NaN for one with a number "
          "that is not finite.");
    const char* to_world_doc =
        "Points (n, 3) of the moving frame, each at its own time, in the frame of the poses; or directions, which are "
        "rotated only.";
    nb::class_<Motion>(m, "Motion", "Poses over time: knots, with constant velocity and rotation rate between them.")
        .def("__init__", &make_motion, nb::arg("times"), nb::arg("poses"))
        .def("at", &poses_at_times, nb::arg("times"), "Poses (n, 4, 4) at times.")
        .def("to_world", &vectors_to_world<double>, nb::arg("times"), nb::arg("vectors"), nb::arg("directions") = false,
             to_world_doc)
        .def("to_world_float", &vectors_to_world<float>, nb::arg("times"), nb::arg("vectors"),
             nb::arg("directions") = false, to_world_doc);
}

}  // namespace resweep::python
