// The tables by which recorded sensors scatter, and what is drawn from them.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <stdexcept>

#include "python/bindings.hpp"
#include "trace/scatter.hpp"

namespace resweep::python {
namespace {

using Table = In<double, nb::ndim<2>, nb::c_contig>;
using Cube = In<double, nb::ndim<3>, nb::c_contig>;
using Numbers = In<std::int32_t, nb::ndim<2>, nb::c_contig>;

void require(bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
}

template <class T, class Array> std::vector<T> copy(const Array& values) {
    return std::vector<T>(values.data(), values.data() + values.size());
}

Bins make_bins(const Row<float>& edges) { return {copy<float>(edges)}; }
CosineBins make_cosine_bins(const Row<float>& limits) { return {copy<float>(limits)}; }

void make_intensity_tables(IntensityTables* self, const Row<std::int32_t>& kinds, const Row<float>& range_edges,
                           const Numbers& table_of, const Row<std::int32_t>& last, const Table& expected,
                           const Cube& quantiles, const Table& response, const Cube& shift, const Cube& spread,
                           const Row<double>& independent, double next_weight, double step, double ceiling,
                           double reach) {
    IntensityTables made;
    made.kinds = copy<std::int32_t>(kinds);
    made.range = make_bins(range_edges);
    made.table_of = copy<std::int32_t>(table_of);
    made.knots = expected.shape(1);
    made.columns = quantiles.shape(2);
    made.last = copy<std::int32_t>(last);
    made.expected = copy<double>(expected);
    made.quantiles = copy<double>(quantiles);
    made.lasers = response.shape(0);
    made.response = copy<double>(response);
    made.shift = copy<double>(shift);
    made.spread = copy<double>(spread);
    made.independent = copy<double>(independent);
    made.next_weight = next_weight;
    made.step = step;
    made.ceiling = ceiling;
    made.reach = reach;
    const std::size_t tables = made.last.size(), ranges = made.range.count(), rows = made.kinds.size() + 2;
    const std::size_t of_lasers = rows * made.lasers * ranges;
    require(made.knots >= 1 && made.columns >= 2, "quantiles: expected knots, and two columns or more");
    require(made.expected.size() == tables * made.knots, "expected: one row for each table");
    require(made.quantiles.size() == tables * made.knots * made.columns, "quantiles: one row for each knot");
    require(made.table_of.size() == rows * ranges, "table_of: one number for each kind and range");
    require(std::all_of(made.table_of.begin(), made.table_of.end(),
                        [&](std::int32_t number) { return number >= 0 && static_cast<std::size_t>(number) < tables; }),
            "table_of: there is no such table");
    require(std::all_of(made.last.begin(), made.last.end(),
                        [&](std::int32_t knot) { return knot >= 0 && static_cast<std::size_t>(knot) < made.knots; }),
            "last: there is no such knot");
    require(made.independent.size() == rows, "independent: one for each kind");
    require(made.response.size() == made.lasers * ranges, "response: one row for each laser");
    require(made.shift.size() == of_lasers && made.spread.size() == of_lasers, "shift, spread: one for each response");
    require(reach > 0.0, "reach: expected more than 0");
    new (self) IntensityTables(std::move(made));
}

void make_range_table(RangeTable* self, const Row<float>& range_edges, const Row<float>& cosine_limits,
                      const Table& sigma, double step) {
    RangeTable made{make_bins(range_edges), make_cosine_bins(cosine_limits), copy<double>(sigma), step};
    require(made.sigma.size() == made.range.count() * made.incidence.count(), "sigma: expected one for each bin");
    new (self) RangeTable(std::move(made));
}

void make_loss_table(LossTable* self, const Row<float>& range_edges, const Row<float>& cosine_limits,
                     const Row<float>& intensity_edges, const Cube& chance) {
    LossTable made{make_bins(range_edges), make_cosine_bins(cosine_limits), make_bins(intensity_edges),
                   copy<double>(chance)};
    require(made.chance.size() == made.range.count() * made.incidence.count() * made.intensity.count(),
            "chance: expected one for each bin");
    new (self) LossTable(std::move(made));
}

// The arrays of the returns of a sweep, which must outlive it.
struct PyReturns {
    Row<std::int32_t> beam;
    Row<std::uint8_t> return_index;
    Row<std::int32_t> label;
    Row<bool> surface;
    Row<float> range, intensity;
    std::optional<Row<float>> cosine;
    Row<std::uint16_t> ring;
    Row<std::int32_t> turn;
    SweepReturns columns;
};

void make_returns(PyReturns* self, const Row<std::int32_t>& beam, const Row<std::uint8_t>& return_index,
                  const Row<std::int32_t>& label, const Row<bool>& surface, const Row<float>& range,
                  const Row<float>& intensity, const std::optional<Row<float>>& cosine, const Row<std::uint16_t>& ring,
                  const Row<std::int32_t>& turn) {
    const std::size_t count = beam.shape(0);
    for (const std::size_t size : {return_index.shape(0), label.shape(0), surface.shape(0), range.shape(0),
                                   intensity.shape(0), cosine ? cosine->shape(0) : count})
        require(size == count, "returns: expected columns of one length");
    require(ring.shape(0) == turn.shape(0), "beams: expected columns of one length");
    const std::size_t beams = ring.shape(0);
    require(std::all_of(beam.data(), beam.data() + count,
                        [&](std::int32_t own) { return own >= 0 && static_cast<std::size_t>(own) < beams; }),
            "beam: there is no such beam");
    const SweepReturns columns{count,          beam.data(),  return_index.data(), label.data(),
                               surface.data(), range.data(), intensity.data(),    cosine ? cosine->data() : nullptr,
                               ring.data(),    turn.data()};
    new (self) PyReturns{beam, return_index, label, surface, range, intensity, cosine, ring, turn, columns};
}

Out<float> draw_intensity(const IntensityTables& tables, const PyReturns& returns, std::uint64_t seed,
                          std::uint64_t sweep, const std::optional<Row<float>>& gain, int threads) {
    require(!gain || gain->shape(0) == returns.columns.count, "gain: expected one for each return");
    std::vector<float> out(returns.columns.count);
    {
        nb::gil_scoped_release release;
        draw_intensities(tables, Philox(seed, sweep), returns.columns, gain ? gain->data() : nullptr, threads,
                         out.data());
    }
    return give(std::move(out));
}

Out<float> draw_range(const RangeTable& table, const PyReturns& returns, std::uint64_t seed, std::uint64_t sweep,
                      int threads) {
    std::vector<float> out(returns.columns.count);
    {
        nb::gil_scoped_release release;
        draw_ranges(table, Philox(seed, sweep), returns.columns, threads, out.data());
    }
    return give(std::move(out));
}

Out<std::uint8_t> draw_loss(const LossTable& table, const PyReturns& returns, std::uint64_t seed, std::uint64_t sweep,
                            int threads) {
    std::vector<std::uint8_t> gone(returns.ring.shape(0));
    {
        nb::gil_scoped_release release;
        draw_losses(table, Philox(seed, sweep), returns.columns, threads, gone.data());
    }
    return give(std::move(gone));
}

}  // namespace

void bind_scatter(nb::module_& m) {
    nb::class_<IntensityTables>(m, "IntensityTables",
                                "Distributions of recorded intensities by kind, range and expected intensity.")
        .def("__init__", &make_intensity_tables, nb::arg("kinds"), nb::arg("range_edges"), nb::arg("table_of"),
             nb::arg("last"), nb::arg("expected"), nb::arg("quantiles"), nb::arg("response"), nb::arg("shift"),
             nb::arg("spread"), nb::arg("independent"), nb::arg("next_weight"), nb::arg("step"), nb::arg("ceiling"),
             nb::arg("reach"),
             "As `resweep.sensor_scatter.IntensityScatter` has them, rows of fewer knots than the longest filled up, "
             "and quantiles at even steps of normal numbers from `-reach` to `reach`.");
    nb::class_<RangeTable>(m, "RangeTable", "Sigma of ranges by range and incidence.")
        .def("__init__", &make_range_table, nb::arg("range_edges"), nb::arg("cosine_limits"), nb::arg("sigma"),
             nb::arg("step"), "The bin of incidence is how many of the `cosine_limits` are not below its cosine.");
    nb::class_<LossTable>(m, "LossTable", "The chance that a return is lost.")
        .def("__init__", &make_loss_table, nb::arg("range_edges"), nb::arg("cosine_limits"), nb::arg("intensity_edges"),
             nb::arg("chance"), "By range, incidence and expected intensity.");
    nb::class_<PyReturns>(m, "SweepReturns", "Columns of the returns (n,) and of the beams (b,) of a sweep.")
        .def("__init__", &make_returns, nb::arg("beam"), nb::arg("return_index"), nb::arg("label"), nb::arg("surface"),
             nb::arg("range"), nb::arg("intensity"), nb::arg("cosine").none(), nb::arg("ring"), nb::arg("turn"));
    m.def("draw_intensities", &draw_intensity, nb::arg("tables"), nb::arg("returns"), nb::arg("seed"), nb::arg("sweep"),
          nb::arg("gain").none(), nb::arg("threads"),
          "Intensities (n,) drawn about those of the returns. With the `gain` (n,) of their lasers, these are those of "
          "the tables.");
    m.def("draw_ranges", &draw_range, nb::arg("table"), nb::arg("returns"), nb::arg("seed"), nb::arg("sweep"),
          nb::arg("threads"), "Ranges (n,) with noise.");
    m.def("draw_losses", &draw_loss, nb::arg("table"), nb::arg("returns"), nb::arg("seed"), nb::arg("sweep"),
          nb::arg("threads"), "1 for each beam (b,) whose first return is lost, else 0.");
}

}  // namespace resweep::python
