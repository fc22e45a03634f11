// Points of a map against the range images of sweeps.
#include "map/visibility.hpp"

#include <stdexcept>

#include "python/bindings.hpp"

namespace resweep::python {
namespace {

using Counts = nb::ndarray<std::uint32_t, nb::numpy, nb::device::cpu, nb::ndim<1>, nb::c_contig>;
using Image = In<float, nb::ndim<2>, nb::c_contig>;

void count_points(const Matrix3<float>& points, const Row<std::int32_t>& sweep, Counts passed, Counts confirmed,
                  std::int32_t number, const In<double, nb::shape<4, 4>, nb::c_contig>& pose, const Image& near,
                  const Image& far, std::int64_t first_row, std::int64_t all_rows, double cell, double reach,
                  double margin, double margin_per_m, int threads) {
    const std::size_t count = points.shape(0);
    if (sweep.shape(0) != count || passed.shape(0) != count || confirmed.shape(0) != count)
        throw std::invalid_argument("sweep, passed, confirmed: expected one row per point");
    if (far.shape(0) != near.shape(0) || far.shape(1) != near.shape(1) || (near.shape(0) && near.shape(1) == 0))
        throw std::invalid_argument("near, far: expected the same cells");
    if (!(cell > 0.0)) throw std::invalid_argument("cell: expected more than 0");
    nb::gil_scoped_release release;
    count_seen_through({points.data(), sweep.data(), passed.data(), confirmed.data(), count},
                       {pose.data(), near.data(), far.data(), static_cast<std::int64_t>(near.shape(0)),
                        static_cast<std::int64_t>(near.shape(1)), first_row, all_rows, cell, reach},
                       number, margin, margin_per_m, threads);
}

}  // namespace

void bind_visibility(nb::module_& m) {
    m.def("count_seen_through", &count_points, nb::kw_only(), nb::arg("points"), nb::arg("sweep"),
          nb::arg("passed").noconvert(), nb::arg("confirmed").noconvert(), nb::arg("number"), nb::arg("pose"),
          nb::arg("near"), nb::arg("far"), nb::arg("first_row"), nb::arg("all_rows"), nb::arg("cell"), nb::arg("reach"),
          nb::arg("margin"), nb::arg("margin_per_m"), nb::arg("threads") = 0,
          "Add 1 to `passed` for every point that the range image of sweep `number` sees through, and to `confirmed` "
          "for every one that it confirms. `pose` takes points into the frame of the image.");
}

}  // namespace resweep::python
