// What is computed from the points and beams of a map, other than neighbours.
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <array>
#include <stdexcept>

#include "map/carve.hpp"
#include "map/implicit.hpp"
#include "map/permeability.hpp"
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
          "Rows of the beams that meet the rectangle of the ground from `low` to `high`, both (x, y).");

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
