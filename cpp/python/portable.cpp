// Arithmetic that gives the same bytes on every processor, for resweep/portable.py.
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cmath>

#include "core/linear_system.hpp"
#include "core/symmetric3.hpp"
#include "python/bindings.hpp"

namespace resweep::python {
namespace {

using Stack = In<double, nb::shape<-1, -1, -1>, nb::c_contig>;

// A function of the C library, which takes one path on all processors with AVX2, for every value.
template <double (*Function)(double)> Out<double> each(const Row<double>& values) {
    std::vector<double> out(values.shape(0));
    {
        nb::gil_scoped_release release;
        std::transform(values.data(), values.data() + out.size(), out.begin(), Function);
    }
    return give(std::move(out));
}

template <double (*Function)(double, double)>
Out<double> each_pair(const Row<double>& first, const Row<double>& second) {
    if (first.shape(0) != second.shape(0)) throw std::invalid_argument("expected as many numbers on both sides");
    std::vector<double> out(first.shape(0));
    {
        nb::gil_scoped_release release;
        std::transform(first.data(), first.data() + out.size(), second.data(), out.begin(), Function);
    }
    return give(std::move(out));
}

std::pair<Out<double>, Out<double>> eigen3(const In<double, nb::shape<-1, 3, 3>, nb::c_contig>& matrices) {
    const std::size_t count = matrices.shape(0);
    std::vector<double> values(3 * count), vectors(9 * count);
    {
        nb::gil_scoped_release release;
        constexpr std::size_t kEntries[6] = {0, 1, 2, 4, 5, 8};  // xx, xy, xz, yy, yz, zz of a matrix by rows
        for (std::size_t first = 0; first < count; first += kMatrices) {
            const std::size_t some = std::min(kMatrices, count - first);
            double entries[6][kMatrices] = {};
            for (std::size_t i = 0; i < some; ++i)
                for (int e = 0; e < 6; ++e) entries[e][i] = matrices.data()[9 * (first + i) + kEntries[e]];
            Eigen3 found[kMatrices];
            eigen(entries, found);
            for (std::size_t i = 0; i < some; ++i) {
                std::copy_n(found[i].value, 3, values.begin() + 3 * (first + i));
                std::copy_n(&found[i].vector[0][0], 9, vectors.begin() + 9 * (first + i));
            }
        }
    }
    return {give(std::move(values), 3), give(std::move(vectors), 3, 3)};
}

Out<double> solve(const Stack& matrices, const Stack& right) {
    const std::size_t count = matrices.shape(0), n = matrices.shape(1), columns = right.shape(2);
    if (matrices.shape(2) != n || right.shape(0) != count || right.shape(1) != n)
        throw std::invalid_argument("expected square matrices and as many right sides");
    std::vector<double> left(matrices.data(), matrices.data() + matrices.size());
    std::vector<double> x(right.data(), right.data() + right.size());
    bool solved = true;
    {
        nb::gil_scoped_release release;
        for (std::size_t i = 0; i < count; ++i)
            solved &= solve_symmetric(left.data() + i * n * n, x.data() + i * n * columns, n, columns);
    }
    if (!solved) throw std::domain_error("the matrix is singular");
    return give(std::move(x), n, columns);
}

}  // namespace

void bind_portable(nb::module_& m) {
    m.def("sin", &each<std::sin>, nb::arg("values"), "The sine of each value, radians.");
    m.def("cos", &each<std::cos>, nb::arg("values"), "The cosine of each value, radians.");
    m.def("tan", &each<std::tan>, nb::arg("values"), "The tangent of each value, radians.");
    m.def("arcsin", &each<std::asin>, nb::arg("values"), "The angle, radians, of each sine.");
    m.def("arctan", &each<std::atan>, nb::arg("values"), "The angle, radians, of each tangent.");
    m.def("exp", &each<std::exp>, nb::arg("values"), "e to the power of each value.");
    m.def("log", &each<std::log>, nb::arg("values"), "The natural logarithm of each value.");
    m.def("log1p", &each<std::log1p>, nb::arg("values"), "The natural logarithm of one more than each value.");
    m.def("arctan2", &each_pair<std::atan2>, nb::arg("y"), nb::arg("x"), "The angle, radians, of each (x, y).");
    m.def("power", &each_pair<std::pow>, nb::arg("base"), nb::arg("exponent"), "Each base to its exponent.");
    m.def(
        "eigen3", &eigen3, nb::arg("matrices"),
        "Eigenvalues (n, 3), descending, and eigenvectors (n, 3, 3), a row each, of symmetric matrices (n, 3, 3) that "
        "are positive semidefinite up to rounding.");
    m.def("solve", &solve, nb::arg("matrices"), nb::arg("right"),
          "The x (k, n, m) of A x = b for symmetric positive definite matrices (k, n, n) and right sides (k, n, m).");
}

}  // namespace resweep::python
