// The k-d tree of the points of a map, and what is computed from their neighbours.
#include "map/neighbours.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>

#include "core/parallel.hpp"
#include "map/grow.hpp"
#include "map/pca.hpp"
#include "map/resample.hpp"
#include "python/bindings.hpp"

namespace resweep::python {
namespace {

// A column that must be as long as the points.
template <class T> Column<T> per_point(const KdTree& tree, const Vector<T>& values, const char* name) {
    if (values.shape(0) != tree.size())
        throw std::invalid_argument(std::string(name) + ": expected one value per point");
    return column(values);
}

template <class T> void make_tree(KdTree* self, const Matrix3<T>& points, int threads) {
    nb::gil_scoped_release release;
    new (self) KdTree(points.data(), points.shape(0), thread_count(threads));
}

std::pair<Out<std::int32_t>, Out<float>> find_nearest(const KdTree& tree, const std::optional<Matrix3<double>>& queries,
                                                      std::int32_t k, float radius, int threads) {
    if (k < 1) throw std::invalid_argument("k: expected at least 1");
    const std::size_t count = queries ? queries->shape(0) : tree.size();
    Buffer<std::int32_t> index;
    Buffer<float> distance2;
    index.allocate(count * static_cast<std::size_t>(k));
    distance2.allocate(count * static_cast<std::size_t>(k));
    {
        nb::gil_scoped_release release;
        knn(tree, queries ? queries->data() : nullptr, count, k, radius, threads, index.data.get(),
            distance2.data.get());
    }
    return {give(std::move(index), k), give(std::move(distance2), k)};
}

Out<std::int32_t> count_within(const KdTree& self, float radius, int threads) {
    Buffer<std::int32_t> count;
    count.allocate(self.size());
    {
        nb::gil_scoped_release release;
        radius_count(self, radius, threads, count.data.get());
    }
    return give(std::move(count));
}

// The columns that are named in `only`; the others are empty.
Columns analyse(const KdTree& tree, const Vector<std::int32_t>& k, const Vector<float>& radius,
                const std::vector<std::string>& only, int threads) {
    struct FloatColumn {
        const char* name;
        float* Pca::* column;
        std::size_t width;
        Buffer<float> values;
    };
    FloatColumn floats[] = {{"normal", &Pca::normal, 3, {}},
                            {"eigenvalues", &Pca::eigenvalues, 3, {}},
                            {"mean_offset", &Pca::mean_offset, 3, {}},
                            {"radius", &Pca::radius, 1, {}},
                            {"mean_abs_plane_distance", &Pca::mean_distance, 1, {}},
                            {"std_abs_plane_distance", &Pca::std_distance, 1, {}}};
    const auto wanted = [&](const char* name) { return std::find(only.begin(), only.end(), name) != only.end(); };
    Pca out;
    for (FloatColumn& one : floats)
        if (wanted(one.name)) {
            one.values.allocate(one.width * tree.size());
            out.*one.column = one.values.data.get();
        }
    Buffer<std::int32_t> count;
    if (wanted("count")) {
        count.allocate(tree.size());
        out.count = count.data.get();
    }
    const Extent extent{per_point(tree, k, "k"), per_point(tree, radius, "radius")};
    {
        nb::gil_scoped_release release;
        pca(tree, extent, threads, out);
    }
    Columns columns;
    for (FloatColumn& one : floats)
        columns[one.name] = one.width == 1 ? give(std::move(one.values)) : give(std::move(one.values), one.width);
    columns["count"] = give(std::move(count));
    return columns;
}

Columns grow_splats(const KdTree& tree, const Matrix3<float>& normal, const Vector<std::int32_t>& k,
                    const Vector<float>& radius, const Vector<float>& bound, const Vector<std::int32_t>& label,
                    float alpha, float beta, const In<float, nb::ndim<2>, nb::c_contig>& values, int threads) {
    if (normal.shape(0) != tree.size() || values.shape(0) != tree.size())
        throw std::invalid_argument("normal, values: expected one row per point");
    const Extent extent{per_point(tree, k, "k"), per_point(tree, radius, "radius")};
    const GrowthLimits limits{
        normal.data(),  per_point(tree, bound, "bound"), per_point(tree, label, "label"), alpha, beta, values.data(),
        values.shape(1)};
    GrownSplats grown;
    {
        nb::gil_scoped_release release;
        grown = grow(tree, extent, limits, threads);
    }
    Columns columns;
    columns["seed"] = give(std::move(grown.seed));
    columns["count"] = give(std::move(grown.count));
    columns["shift"] = give(std::move(grown.shift));
    columns["radius"] = give(std::move(grown.radius));
    columns["values"] = give(std::move(grown.values));
    return columns;
}

std::pair<Out<std::int32_t>, Out<std::int32_t>> join_sparse(const KdTree& tree, const Matrix3<float>& normal,
                                                            const Vector<std::int32_t>& kind,
                                                            const Vector<std::int32_t>& missing, std::int32_t k,
                                                            float radius, float beta, int threads) {
    if (normal.shape(0) != tree.size()) throw std::invalid_argument("normal: expected one row per point");
    const JoinLimits limits{
        normal.data(), per_point(tree, kind, "kind"), per_point(tree, missing, "missing"), k, radius, beta};
    JoinedPairs joined;
    {
        nb::gil_scoped_release release;
        joined = join(tree, limits, threads);
    }
    return {give(std::move(joined.first)), give(std::move(joined.second))};
}

}  // namespace

void bind_neighbours(nb::module_& m) {
    nb::class_<KdTree>(m, "KdTree", "Points (n, 3), metres, in a k-d tree. Rows are those of the points.")
        .def("__init__", &make_tree<float>, nb::arg("points").noconvert(), nb::arg("threads") = 0)
        .def("__init__", &make_tree<double>, nb::arg("points").noconvert(), nb::arg("threads") = 0)
        .def_prop_ro("step", &KdTree::step, "Metres to which coordinates are rounded.")
        .def("knn", &find_nearest, nb::arg("queries").none(), nb::arg("k"), nb::arg("radius"), nb::arg("threads") = 0,
             "Rows and squared distances (m, k) of the nearest points by distance: -1 and infinity where there are "
             "fewer.")
        .def("radius_count", &count_within, nb::arg("radius"), nb::arg("threads") = 0,
             "How many points (n,) lie within `radius` of each.")
        .def("mean_radius", &mean_radius, nb::call_guard<nb::gil_scoped_release>(), nb::arg("k"), nb::arg("stride"),
             nb::arg("threads") = 0,
             "Mean distance to the farthest of the `k` nearest, from every `stride`-th leaf of points.")
        .def("mean_plane_distance", &mean_plane_distance, nb::call_guard<nb::gil_scoped_release>(), nb::arg("k"),
             nb::arg("radius"), nb::arg("stride"), nb::arg("threads") = 0,
             "Mean distance of neighbours from the plane of their point, from every `stride`-th leaf of points.")
        .def("pca", &analyse, nb::arg("k"), nb::arg("radius"), nb::arg("only"), nb::arg("threads") = 0,
             "The shapes of the neighbourhoods; columns that `only` does not name are empty.")
        .def("grow", &grow_splats, nb::arg("normal"), nb::arg("k"), nb::arg("radius"), nb::arg("bound"),
             nb::arg("label"), nb::arg("alpha"), nb::arg("beta"), nb::arg("values"), nb::arg("threads") = 0,
             "Splats that grow over the neighbourhoods of their seeds.")
        .def("join", &join_sparse, nb::arg("normal"), nb::arg("kind"), nb::arg("missing"), nb::arg("k"),
             nb::arg("radius"), nb::arg("beta"), nb::arg("threads") = 0,
             "Rows of sparse points, and of the far neighbour that each is to be joined with.")
        .def(
            "seed_order", [](const KdTree& self) { return give(seed_order(self)); },
            "Rows (n,) of the points in the order in which `grow` takes them as seeds.");
}

}  // namespace resweep::python
