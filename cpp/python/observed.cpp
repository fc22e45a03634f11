// Observed space, and what a world knows of how it was recorded.
#include "scene/observed.hpp"

#include <nanobind/stl/pair.h>

#include <algorithm>
#include <stdexcept>

#include "python/bindings.hpp"
#include "trace/trace.hpp"

namespace resweep::python {
namespace {

using Words = In<std::uint64_t, nb::shape<-1, 8>, nb::c_contig>;
using Weights = In<float, nb::shape<2, kConfidenceFeatures>, nb::c_contig>;

void make_space(ObservedSpace* self, double voxel) {
    if (!(voxel > 0.0)) throw std::invalid_argument("voxel: expected metres above 0");
    new (self) ObservedSpace(voxel);
}

void mark(ObservedSpace& self, const Matrix3<float>& origins, const Matrix3<float>& directions,
          const Row<float>& lengths, double spread, int threads) {
    if (directions.shape(0) != origins.shape(0) || lengths.shape(0) != origins.shape(0))
        throw std::invalid_argument("origins, directions, lengths: expected one row per beam");
    nb::gil_scoped_release release;
    self.mark({origins.data(), directions.data(), lengths.data(), origins.shape(0)}, spread, threads);
}

void add(ObservedSpace& self, const Matrix3<std::int32_t>& place, const Words& bits) {
    if (bits.shape(0) != place.shape(0)) throw std::invalid_argument("place, bits: expected one row per block");
    self.add(place.data(), bits.data(), place.shape(0));
}

std::pair<Out<std::int32_t>, Out<std::uint64_t>> blocks(const ObservedSpace& self) {
    std::vector<std::int32_t> place;
    std::vector<std::uint64_t> bits;
    self.blocks(place, bits);
    return {give(std::move(place), 3), give(std::move(bits), 8)};
}

std::pair<Out<float>, Out<float>> follow(const ObservedSpace& self, const Matrix3<float>& origins,
                                         const Matrix3<float>& directions, const Row<float>& ranges, float gap) {
    if (directions.shape(0) != origins.shape(0) || ranges.shape(0) != origins.shape(0))
        throw std::invalid_argument("origins, directions, ranges: expected one row per beam");
    std::vector<float> unknown(origins.shape(0)), left(origins.shape(0));
    ObservedSpace::Reader reader(self);
    for (std::size_t row = 0; row < unknown.size(); ++row) {
        const ObservedPath path =
            self.follow(origins.data() + 3 * row, directions.data() + 3 * row, ranges.data()[row], gap, false, reader);
        unknown[row] = path.unknown;
        left[row] = path.left;
    }
    return {give(std::move(unknown)), give(std::move(left))};
}

void make_record(Record* self, const ObservedSpace& space, float gap, float reach, const Weights& weights) {
    Confidence model;
    for (std::size_t kind = 0; kind < 2; ++kind)
        std::copy_n(weights.data() + kind * kConfidenceFeatures, kConfidenceFeatures, model.weights[kind].begin());
    new (self) Record{space, gap, reach, model};
}

}  // namespace

void bind_observed(nb::module_& m) {
    m.attr("CONFIDENCE_FEATURES") = kConfidenceFeatures;
    nb::class_<ObservedSpace>(m, "ObservedSpace", "The voxels that recorded beams crossed.")
        .def("__init__", &make_space, nb::arg("voxel"), "`voxel`: side of a voxel, metres.")
        .def("mark", &mark, nb::arg("origins"), nb::arg("directions"), nb::arg("lengths"), nb::kw_only(),
             nb::arg("spread") = 0.0, nb::arg("threads") = 0,
             "Add the voxels that beams (n, 3) cross, and those within `spread` radians above and below them.")
        .def("add", &add, nb::arg("place"), nb::arg("bits"), "Add blocks: places (n, 3) and bits (n, 8).")
        .def("blocks", &blocks, "Places (n, 3) of the blocks of 8 x 8 x 8 voxels, in order, and their bits (n, 8).")
        .def(
            "follow", &follow, nb::arg("origins"), nb::arg("directions"), nb::arg("ranges"), nb::arg("gap"),
            "Metres (n,) of each beam that nobody observed, and the range (n,) at which it first leaves observed space "
            "for more than `gap`; infinity if it does not.")
        .def_prop_ro("n_blocks", &ObservedSpace::n_blocks, "Number of blocks.");
    nb::class_<Record>(m, "Record", "What a world knows of how it was recorded, as the tracer takes it.")
        .def("__init__", &make_record, nb::arg("space"), nb::arg("gap"), nb::arg("reach"), nb::arg("weights"),
             nb::keep_alive<1, 2>(),
             "`gap`: metres of unknown space that a beam may cross; `reach`: how far recorded beams looked; `weights` "
             "(2, n) of the confidence.");
}

}  // namespace resweep::python
