// Statistics of recorded beams on the primitives of a world.
#include "refine/statistics.hpp"

#include <stdexcept>

#include "python/bindings.hpp"

namespace resweep::python {
namespace {

Columns add_beams(BeamStatistics& self, const PyScene& scene, const Matrix3<float>& origins,
                  const Matrix3<float>& directions, const Row<float>& measured, float sigma, float clutter, float slope,
                  float range_max, float cosine_min, float height, float margin, int threads) {
    const std::size_t count = origins.shape(0);
    if (directions.shape(0) != count || measured.shape(0) != count)
        throw std::invalid_argument("origins, directions, measured: expected one row per beam");
    BeamStatistics::OfBeams found;
    {
        nb::gil_scoped_release release;
        found = self.add(scene.scene, {origins.data(), directions.data(), measured.data(), count},
                         {sigma, clutter, slope, range_max, cosine_min, height, margin}, threads);
    }
    Columns columns;
    columns["log_likelihood"] = give(std::move(found.log_likelihood));
    columns["clutter"] = give(std::move(found.clutter));
    return columns;
}

}  // namespace

void bind_refine(nb::module_& m) {
    nb::class_<BeamStatistics>(m, "BeamStatistics",
                               "Sums over the beams that hit or crossed each disc and each volume.")
        .def(
            "__init__",
            [](BeamStatistics* self, std::size_t n_discs, std::size_t n_volumes, bool offsets, bool rings,
               bool moments) { new (self) BeamStatistics(n_discs, n_volumes, {offsets, rings, moments}); },
            nb::arg("n_discs"), nb::arg("n_volumes"), nb::kw_only(), nb::arg("offsets") = true,
            nb::arg("rings") = false, nb::arg("moments") = false)
        .def("add", &add_beams, nb::arg("scene"), nb::arg("origins"), nb::arg("directions"), nb::arg("measured"),
             nb::kw_only(), nb::arg("sigma"), nb::arg("clutter"), nb::arg("slope"), nb::arg("range_max"),
             nb::arg("cosine_min"), nb::arg("height"), nb::arg("margin"), nb::arg("threads") = 0,
             "Add beams (n,) that are traced in the scene; `measured` is infinity without return. Gives the "
             "`log_likelihood` (n,) of each, and the share of it that is `clutter`.")
        .def("ended", [](const BeamStatistics& self) { return give(self.ended()); })
        .def("passed", [](const BeamStatistics& self) { return give(self.passed()); })
        .def("offset", [](const BeamStatistics& self) { return give(self.offset()); })
        .def("weight", [](const BeamStatistics& self) { return give(self.weight()); })
        .def("stopped", [](const BeamStatistics& self) { return give(self.stopped()); })
        .def("let_pass", [](const BeamStatistics& self) { return give(self.let_pass()); })
        .def("exposure", [](const BeamStatistics& self) { return give(self.exposure()); })
        .def(
            "ended_by_ring",
            [](const BeamStatistics& self) { return give(self.ended_by_ring(), BeamStatistics::kRings); },
            "Beams that ended on each ring of each disc, disc by disc; of `passed_by_ring` those that passed.")
        .def("passed_by_ring",
             [](const BeamStatistics& self) { return give(self.passed_by_ring(), BeamStatistics::kRings); })
        .def(
            "end_moments",
            [](const BeamStatistics& self) { return give(self.end_moments(), BeamStatistics::kMoments); },
            "Sums over the ends in each volume, seen from its mean: x, y, z, xx, xy, xz, yy, yz, zz.");
}

}  // namespace resweep::python
