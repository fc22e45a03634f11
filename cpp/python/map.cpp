// What is computed from the points and beams of a map, other than neighbours.
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "map/carve.hpp"
#include "map/implicit.hpp"
#include "map/permeability.hpp"
#include "map/plane_system.hpp"
#include "map/resample.hpp"
#include "map/tiles.hpp"
#include "python/bindings.hpp"

namespace resweep::python {
namespace {

Out<std::int64_t> rows_in_free_cells(const Matrix3<float>& taken, const Matrix3<float>& points, double size,
                                     int threads) {
    std::vector<std::int64_t> rows;
    {
        nb::gil_scoped_release release;
        rows = in_free_cells(taken.data(), taken.shape(0), points.data(), points.shape(0), size, threads);
    }
    return give(std::move(rows));
}

Out<float> carve_discs(const Matrix3<float>& centre, const Matrix3<float>& normal, const Row<float>& radius,
                       const Vector<float>& ratio, const Matrix3<float>& origin, const Matrix3<float>& point,
                       const Row<bool>& measured, int rounds, float margin, float margin_per_m, float radius_min,
                       int threads) {
    if (normal.shape(0) != centre.shape(0) || radius.shape(0) != centre.shape(0) || ratio.shape(0) != centre.shape(0))
        throw std::invalid_argument("centre, normal, radius, ratio: expected one row per disc");
    if (point.shape(0) != origin.shape(0) || measured.shape(0) != origin.shape(0))
        throw std::invalid_argument("origin, point, measured: expected one row per beam");
    std::vector<float> left;
    {
        nb::gil_scoped_release release;
        left = carve(
            {centre.data(), normal.data(), radius.data(), centre.shape(0), column(ratio)},
            {origin.data(), point.data(), reinterpret_cast<const std::uint8_t*>(measured.data()), origin.shape(0)},
            {rounds, margin, margin_per_m, radius_min}, threads);
    }
    return give(std::move(left));
}

std::tuple<Out<std::int64_t>, Out<std::int32_t>, Out<std::int32_t>> cross_tiles(const Matrix3<float>& origins,
                                                                                const Matrix3<float>& directions,
                                                                                const Row<float>& lengths, double size,
                                                                                double margin, int threads) {
    if (directions.shape(0) != origins.shape(0) || lengths.shape(0) != origins.shape(0))
        throw std::invalid_argument("origins, directions, lengths: expected one row per beam");
    if (!(size > 0.0) || !(margin >= 0.0)) throw std::invalid_argument("size, margin: expected metres");
    TileCrossings found;
    {
        nb::gil_scoped_release release;
        found = tiles_of_beams({origins.data(), directions.data(), lengths.data(), origins.shape(0)}, size, margin,
                               threads);
    }
    return {give(std::move(found.beam)), give(std::move(found.x)), give(std::move(found.y))};
}

Out<std::int64_t> rows_over(const Matrix3<float>& origins, const Matrix3<float>& directions, const Row<float>& lengths,
                            std::array<double, 2> low, std::array<double, 2> high, int threads) {
    if (directions.shape(0) != origins.shape(0) || lengths.shape(0) != origins.shape(0))
        throw std::invalid_argument("origins, directions, lengths: expected one row per beam");
    std::vector<std::int64_t> rows;
    {
        nb::gil_scoped_release release;
        rows = beams_over({origins.data(), directions.data(), lengths.data(), origins.shape(0)}, low.data(),
                          high.data(), threads);
    }
    return give(std::move(rows));
}

std::pair<Out<double>, Out<double>> equations_of_planes(const Matrix3<double>& place, const Matrix3<double>& raise,
                                                        const Matrix3<double>& along, const Row<double>& reach,
                                                        const Row<double>& when, const Row<std::int32_t>& ring,
                                                        const Row<std::int32_t>& sweep, const Matrix3<double>& centre,
                                                        std::size_t rings, const Row<std::int64_t>& row,
                                                        const In<std::int64_t, nb::ndim<2>, nb::c_contig>& near,
                                                        const Matrix3<double>& normal, const Row<double>& error,
                                                        const Row<double>& weight, bool rates) {
    const std::size_t n = place.shape(0), count = row.shape(0), k = near.shape(1);
    if (raise.shape(0) != n || along.shape(0) != n || reach.shape(0) != n || when.shape(0) != n || ring.shape(0) != n ||
        sweep.shape(0) != n)
        throw std::invalid_argument("place, raise, along, reach, when, ring, sweep: expected one row per return");
    if (near.shape(0) != count || normal.shape(0) != count || error.shape(0) != count || weight.shape(0) != count)
        throw std::invalid_argument("row, near, normal, error, weight: expected one row per residual");
    const auto within = [](const auto* values, std::size_t size, std::size_t end) {
        return std::all_of(values, values + size, [end](auto at) { return at >= 0 && std::size_t(at) < end; });
    };
    if (!within(ring.data(), n, rings) || !within(sweep.data(), n, centre.shape(0)))
        throw std::invalid_argument("ring, sweep: a number is out of range");
    if (!within(row.data(), count, n) || !within(near.data(), count * k, n))
        throw std::invalid_argument("row, near: a row is out of range");
    NormalEquations found;
    {
        nb::gil_scoped_release release;
        found = plane_equations({place.data(), raise.data(), along.data(), reach.data(), when.data(), ring.data(),
                                 sweep.data(), centre.data(), rings, centre.shape(0)},
                                {row.data(), near.data(), normal.data(), error.data(), weight.data(), count, k}, rates);
    }
    const std::size_t unknowns = found.slope.size();
    return {give(std::move(found.matrix), unknowns), give(std::move(found.slope))};
}

void count_beams(BeamCounter& self, const Matrix3<float>& origins, const Matrix3<float>& directions,
                 const Row<float>& lengths, const Row<bool>& has_return, float slope, int threads) {
    const std::size_t count = origins.shape(0);
    if (directions.shape(0) != count || lengths.shape(0) != count || has_return.shape(0) != count)
        throw std::invalid_argument("origins, directions, lengths, has_return: expected one row per beam");
    nb::gil_scoped_release release;
    self.add({origins.data(), directions.data(), lengths.data(), has_return.data(), count}, slope, threads);
}

std::pair<Out<float>, Out<std::uint8_t>> tile_distances(const Matrix3<std::int32_t>& cube, const Matrix3<double>& part,
                                                        const Matrix3<double>& normal, std::int32_t side,
                                                        ImplicitMethod method, double reach, double sigma,
                                                        double truncation, double sigma_normal, int refits,
                                                        int min_points) {
    if (part.shape(0) != cube.shape(0) || normal.shape(0) != cube.shape(0))
        throw std::invalid_argument("cube, part, normal: expected one row per point");
    const std::size_t count = static_cast<std::size_t>(side) * side * side;
    Buffer<float> value;
    Buffer<std::uint8_t> known;
    value.allocate(count);
    known.allocate(count);
    {
        nb::gil_scoped_release release;
        signed_distances({cube.data(), part.data(), normal.data(), cube.shape(0)},
                         {method, reach, sigma, truncation, sigma_normal, refits, min_points}, side, value.data.get(),
                         known.data.get());
    }
    return {give(std::move(value)), give(std::move(known))};
}

}  // namespace

void bind_map(nb::module_& m) {
    m.def("in_free_cells", &rows_in_free_cells, nb::arg("taken"), nb::arg("points"), nb::arg("size"),
          nb::arg("threads") = 0,
          "Rows of the first of `points` in each cell of side `size` that holds none of `taken`.");
    m.def("carve", &carve_discs, nb::arg("centre"), nb::arg("normal"), nb::arg("radius"), nb::arg("ratio"),
          nb::arg("origin"), nb::arg("point"), nb::arg("measured"), nb::arg("rounds"), nb::arg("margin"),
          nb::arg("margin_per_m"), nb::arg("radius_min"), nb::arg("threads") = 0,
          "Radii of discs cut back by the beams from `origin` to `point` that passed them; 0 for those removed.");

    m.def("tiles_of_beams", &cross_tiles, nb::arg("origins"), nb::arg("directions"), nb::arg("lengths"),
          nb::arg("size"), nb::arg("margin") = 0.0, nb::arg("threads") = 0,
          "Rows of beams, and x and y of the square tiles of side `size` that each comes nearer to than `margin`.");

    m.def("beams_over", &rows_over, nb::arg("origins"), nb::arg("directions"), nb::arg("lengths"), nb::arg("low"),
          nb::arg("high"), nb::arg("threads") = 0,
          "Rows of the beams that cross the rectangle of the ground from `low` to `high`, both (x, y).");

    m.def("plane_equations", &equations_of_planes, nb::arg("place"), nb::arg("raise_"), nb::arg("along"),
          nb::arg("reach"), nb::arg("when"), nb::arg("ring"), nb::arg("sweep"), nb::arg("centre"), nb::arg("rings"),
          nb::arg("row"), nb::arg("near"), nb::arg("normal"), nb::arg("error"), nb::arg("weight"), nb::arg("rates"),
          "Normal equations of returns against the planes of their neighbourhoods: matrix (upper triangle) and slope.");

    nb::class_<BeamCounter>(m, "BeamCounter", "How many beams pass volumes, and how many end in them.")
        .def(
            "__init__", [](BeamCounter* self, nb::object source) { new (self) BeamCounter(volumes(source)); },
            nb::arg("volumes"))
        .def("add", &count_beams, nb::arg("origins"), nb::arg("directions"), nb::arg("lengths"), nb::arg("has_return"),
             nb::arg("slope") = 0.0f, nb::arg("threads") = 0, "Count further beams, each `slope` wide at 1 m.")
        .def("passed", [](const BeamCounter& self) { return give(self.passed()); })
        .def("stopped", [](const BeamCounter& self) { return give(self.stopped()); })
        .def(
            "exposure", [](const BeamCounter& self) { return give(self.exposure()); },
            "Mean exposure of the counted beams, metres.");

    nb::enum_<ImplicitMethod>(m, "ImplicitMethod", "How a surface is fitted to oriented points.")
        .value("IMLS", ImplicitMethod::kImls)
        .value("RIMLS", ImplicitMethod::kRimls);
    m.def("signed_distances", &tile_distances, nb::kw_only(), nb::arg("cube"), nb::arg("part"), nb::arg("normal"),
          nb::arg("side"), nb::arg("method").noconvert(), nb::arg("reach"), nb::arg("sigma"), nb::arg("truncation"),
          nb::arg("sigma_normal"), nb::arg("refits"), nb::arg("min_points"),
          "Signed distances (side³) at the corners of a tile, in voxels, and which of them are known.");
}

}  // namespace resweep::python
