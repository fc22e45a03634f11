// NumPy arrays at the boundary: typed views of those that come in, and ownership of those that go out.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include "core/columns.hpp"

namespace resweep::python {

namespace nb = nanobind;

template <class T, class... Shape> using In = nb::ndarray<const T, nb::numpy, nb::device::cpu, Shape...>;
template <class T> using Vector = In<T, nb::ndim<1>>;             // of any stride
template <class T> using Row = In<T, nb::ndim<1>, nb::c_contig>;  // (n,)
template <class T> using Matrix3 = In<T, nb::shape<-1, 3>, nb::c_contig>;
using Poses = In<double, nb::shape<-1, 4, 4>, nb::c_contig>;

template <class T> using Out = nb::ndarray<nb::numpy, T>;
using Columns = nb::typed<nb::dict, nb::str, nb::ndarray<nb::numpy>>;

template <class T> Column<T> column(const Vector<T>& values) {
    return {values.data(), static_cast<std::size_t>(values.stride(0))};
}

// A NumPy array (rows, tail...) over memory that `owner` frees.
template <class T, class... Tail> Out<T> array_of(T* data, std::size_t size, const nb::capsule& owner, Tail... tail) {
    const std::size_t row = (std::size_t{1} * ... * static_cast<std::size_t>(tail));
    const std::array<std::size_t, 1 + sizeof...(tail)> shape{row ? size / row : 0, static_cast<std::size_t>(tail)...};
    return Out<T>(data, shape.size(), shape.data(), owner);
}

// Hand a column over to NumPy without a copy, as an array (rows, tail...).
template <class T, class... Tail> Out<T> give(std::vector<T>&& values, Tail... tail) {
    auto* kept = new std::vector<T>(std::move(values));
    const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return array_of(kept->data(), kept->size(), owner, tail...);
}

template <class T, class... Tail> Out<T> give(Buffer<T>&& values, Tail... tail) {
    T* data = values.data.release();
    const nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
    return array_of(data, values.size, owner, tail...);
}

}  // namespace resweep::python
