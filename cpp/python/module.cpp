// The only file that knows Python: typed arrays in, arrays out, the GIL released while tracing.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "scene/actors.hpp"
#include "map/carve.hpp"
#include "core/embree.hpp"
#include "map/implicit.hpp"
#include "map/neighbours.hpp"
#include "core/parallel.hpp"
#include "map/permeability.hpp"
#include "trace/predict.hpp"
#include "scene/scene.hpp"
#include "trace/trace.hpp"

namespace nb = nanobind;
using namespace resweep;

namespace {

template <class T, class... Shape> using In = nb::ndarray<const T, nb::numpy, nb::device::cpu, Shape...>;
template <class T> using Vector = In<T, nb::ndim<1>>;
template <class T> using Row = In<T, nb::ndim<1>, nb::c_contig>;
template <class T> using Matrix3 = In<T, nb::shape<-1, 3>, nb::c_contig>;

template <class T> Column<T> column(const Vector<T>& values) {
    return {values.data(), static_cast<std::size_t>(values.stride(0))};
}

// Hands a vector over to NumPy without copying it.
template <class T> nb::ndarray<nb::numpy, T> give(std::vector<T>&& values, std::size_t width = 1) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    const std::size_t shape[2] = {kept->size() / width, width};
    return nb::ndarray<nb::numpy, T>(kept->data(), width == 1 ? 1 : 2, shape, owner);
}

template <class T> nb::ndarray<nb::numpy, T> give(Buffer<T>&& values, std::size_t width = 1) {
    T* data = values.data.release();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    const std::size_t shape[2] = {values.size / width, width};
    return nb::ndarray<nb::numpy, T>(data, width == 1 ? 1 : 2, shape, owner);
}

using Symmetric = In<float, nb::shape<-1, 6>, nb::c_contig>;

// Volumes are copied: the tracer keeps what it needs of one in one line of the cache.
Volumes volumes(nb::object source) {
    const auto mean = nb::cast<Matrix3<float>>(source.attr("mean"), false);
    const auto half = nb::cast<Matrix3<float>>(source.attr("half"), false);
    const auto precision = nb::cast<Symmetric>(source.attr("precision"), false);
    const auto log_pass = column(nb::cast<Vector<float>>(source.attr("log_pass"), false));
    const auto reflectance = column(nb::cast<Vector<float>>(source.attr("reflectance"), false));
    const auto label = column(nb::cast<Vector<std::int32_t>>(source.attr("label"), false));
    const auto instance = column(nb::cast<Vector<std::int32_t>>(source.attr("instance"), false));
    Volumes native;
    native.tau = nb::cast<float>(source.attr("tau"));
    native.extinction = nb::cast<bool>(source.attr("extinction"));
    native.element = nb::cast<float>(source.attr("element_m"));
    native.volume.resize(mean.shape(0));
    for (std::size_t i = 0; i < native.volume.size(); ++i) {
        Volume& volume = native.volume[i];
        std::copy_n(mean.data() + 3 * i, 3, volume.mean);
        std::copy_n(half.data() + 3 * i, 3, volume.half);
        std::copy_n(precision.data() + 6 * i, 6, volume.precision);
        volume.log_pass = log_pass[i];
        volume.reflectance = reflectance[i];
        volume.label = label[i];
        volume.instance = instance[i];
    }
    return native;
}

// NumPy arrays that native geometry reads, kept for as long as it does.
class Arrays {
  public:
    Triangles triangles(nb::object source) {
        Triangles native;
        const auto vertices = array<Matrix3<float>>(source, "vertices");
        const auto faces = array<Matrix3<std::uint32_t>>(source, "faces");
        native.vertices = vertices.data();
        native.n_vertices = vertices.shape(0);
        native.faces = faces.data();
        native.n_faces = faces.shape(0);
        native.label = column(array<Vector<std::int32_t>>(source, "label"));
        native.instance = column(array<Vector<std::int32_t>>(source, "instance"));
        native.reflectance = column(array<Vector<float>>(source, "reflectance"));
        native.material = column(array<Vector<std::uint8_t>>(source, "material"));
        const auto materials = array<Matrix3<float>>(source, "materials");
        for (std::size_t i = 0; i < materials.shape(0); ++i)
            native.materials.push_back(
                {materials.data()[3 * i], materials.data()[3 * i + 1], materials.data()[3 * i + 2]});
        return native;
    }

    Discs discs(nb::object source) {
        Discs native;
        const auto centre = array<Matrix3<float>>(source, "centre");
        const auto label = array<Vector<std::int32_t>>(source, "label");
        const auto instance = array<Vector<std::int32_t>>(source, "instance");
        const auto reflectance = array<Vector<float>>(source, "reflectance");
        native.centre = centre.data();
        native.normal = array<Matrix3<float>>(source, "normal").data();
        native.radius = array<Vector<float>>(source, "radius").data();
        native.n_discs = centre.shape(0);
        native.label = label.data();
        native.label_stride = static_cast<std::size_t>(label.stride(0));
        native.instance = instance.data();
        native.instance_stride = static_cast<std::size_t>(instance.stride(0));
        native.reflectance = reflectance.data();
        native.reflectance_stride = static_cast<std::size_t>(reflectance.stride(0));
        native.depth = nb::cast<int>(source.attr("depth"));
        native.gap = nb::cast<float>(source.attr("gap_m"));
        if (native.depth < 1 || native.depth > kMaxDepth) throw std::invalid_argument("splats: depth out of bounds");
        return native;
    }

  protected:
    template <class Array> Array array(nb::object source, const char* name) {
        nb::object value = source.attr(name);
        kept_.push_back(value);
        return nb::cast<Array>(value, false);
    }

  private:
    std::vector<nb::object> kept_;
};

// A native scene and the arrays it reads.
class PyScene : public Arrays {
  public:
    void add_triangles(nb::object source) { scene.add(triangles(source)); }

    void add_instances(nb::object source) {
        InstanceArray native;
        native.triangles = triangles(source.attr("triangles"));
        const auto transforms = array<In<float, nb::shape<-1, 3, 4>, nb::c_contig>>(source, "transforms");
        native.transforms = transforms.data();
        native.n_instances = transforms.shape(0);
        native.instance = column(array<Vector<std::int32_t>>(source, "instance"));
        native.label = column(array<Vector<std::int32_t>>(source, "label"));
        scene.add(native);
    }

    void add_discs(nb::object source) { scene.add(discs(source)); }

    void add_volumes(nb::object source) { scene.add(volumes(source)); }

    Scene scene;
};

using Knots = In<double, nb::shape<-1, 4, 4>, nb::c_contig>;

// An actor's shape and the arrays it reads.
struct PyShape : Arrays {
    std::unique_ptr<Shape> shape;
};

PyShape* shape_of_triangles(nb::object source) {
    auto made = std::make_unique<PyShape>();
    made->shape = std::make_unique<Shape>(made->triangles(source));
    return made.release();
}

PyShape* shape_of_discs(nb::object source) {
    auto made = std::make_unique<PyShape>();
    made->shape = std::make_unique<Shape>(made->discs(source));
    return made.release();
}

// An actor and its shapes.
struct PyActor {
    PyActor(nb::list shapes, const Row<double>& times, const Knots& knots, double radius, std::int32_t instance,
            std::int32_t label)
        : actor{{}, Motion(times.data(), knots.data(), times.shape(0)), radius, instance, label}, kept(shapes) {
        if (knots.shape(0) != times.shape(0) || times.shape(0) == 0)
            throw std::invalid_argument("an actor needs one pose a time");
        for (nb::handle shape : shapes) actor.shapes.push_back(nb::cast<PyShape&>(shape).shape.get());
    }
    Actor actor;
    nb::list kept;
};

// The actors of one sweep.
struct PyStage {
    PyStage(nb::list actors, double from, double to, std::array<double, 3> centre, double reach) : kept(actors) {
        std::vector<const Actor*> natives;
        for (nb::handle actor : actors) natives.push_back(&nb::cast<PyActor&>(actor).actor);
        nb::gil_scoped_release release;
        stage.emplace(natives, from, to, Surroundings{{centre[0], centre[1], centre[2]}, reach});
    }
    std::optional<Stage> stage;
    nb::list kept;
};

// Poses (k, 4, 4) of the actors that are present, each at its own second, and their linear and angular velocities.
nb::tuple stage_poses(const PyStage& self, const Row<double>& seconds) {
    const auto& present = self.stage->present();
    if (seconds.shape(0) != present.size()) throw std::invalid_argument("seconds: one for each actor that is present");
    std::vector<double> poses(16 * present.size(), 0.0), linear(3 * present.size()), angular(3 * present.size());
    for (std::size_t i = 0; i < present.size(); ++i) {
        const Motion& motion = nb::cast<PyActor&>(self.kept[static_cast<std::size_t>(present[i])]).actor.motion;
        double rotation[9], position[3];
        const double second = seconds.data()[i];
        motion.at(second, rotation, position);
        motion.rates(second, &linear[3 * i], &angular[3 * i]);
        for (std::size_t row = 0; row < 3; ++row) {
            std::copy_n(rotation + 3 * row, 3, &poses[16 * i + 4 * row]);
            poses[16 * i + 4 * row + 3] = position[row];
        }
        poses[16 * i + 15] = 1.0;
    }
    return nb::make_tuple(give(std::move(poses), 16), give(std::move(linear), 3), give(std::move(angular), 3));
}

nb::tuple stage_velocities(const PyStage& self, const Row<std::int32_t>& instance, const Row<double>& second,
                           const Matrix3<float>& points, const Row<double>& knot_times, const Knots& knots) {
    const std::size_t count = instance.shape(0);
    if (second.shape(0) != count || points.shape(0) != count)
        throw std::invalid_argument("instance, second, points: one row a return");
    const Motion sensor(knot_times.data(), knots.data(), knot_times.shape(0));
    Buffer<float> velocity;
    velocity.allocate(3 * count);
    auto seen =
        self.stage->velocities({instance.data(), second.data(), points.data(), count}, sensor, velocity.data.get());
    return nb::make_tuple(give(std::move(velocity), 3), give(std::move(seen)));
}

nb::ndarray<nb::numpy, double> trajectory_at(const Row<double>& times, const Row<double>& knot_times,
                                             const Knots& knots) {
    if (knots.shape(0) != knot_times.shape(0) || knots.shape(0) == 0)
        throw std::invalid_argument("knot_times, knots: one row each");
    Buffer<double> result;
    result.allocate(16 * times.shape(0));
    poses_at(Motion(knot_times.data(), knots.data(), knot_times.shape(0)), times.data(), times.shape(0),
             result.data.get());
    return give(std::move(result), 16);
}

template <class Real>
nb::ndarray<nb::numpy, Real> carried(const Row<double>& times, const Matrix3<Real>& vectors,
                                     const Row<double>& knot_times, const Knots& knots, bool turned_only) {
    const std::size_t count = times.shape(0);
    if (vectors.shape(0) != count) throw std::invalid_argument("times, vectors: one row each");
    if (knots.shape(0) != knot_times.shape(0) || knots.shape(0) == 0)
        throw std::invalid_argument("knot_times, knots: one row each");
    Buffer<Real> result;
    result.allocate(3 * count);
    {
        nb::gil_scoped_release unlocked;
        const Motion motion(knot_times.data(), knots.data(), knot_times.shape(0));
        carry(motion, times.data(), vectors.data(), count, turned_only, result.data.get());
    }
    return give(std::move(result), 3);
}

using Axes = In<float, nb::shape<3, -1>, nb::c_contig>;

// `direction` (3, n), `time`, `beam` are in the order of tracing; `reported` and `origin` (b, 3) by beam. Beams of
// which there is no pulse are not traced: they are dropped.
struct PyFiring {
    PyFiring(Axes direction, Row<double> time, Row<std::int32_t> beam, Row<std::int32_t> chunk, Matrix3<float> reported,
             std::optional<Matrix3<float>> origin)
        : direction(direction), time(time), beam(beam), chunk(chunk), reported(reported), origin(origin) {
        const std::size_t count = time.shape(0);
        const std::size_t n_beams = reported.shape(0);
        if (direction.shape(1) != count || beam.shape(0) != count || n_beams < count ||
            (origin && origin->shape(0) != n_beams))
            throw std::invalid_argument("firing columns differ in length");
        if (chunk.shape(0) < 1 || chunk.data()[0] != 0 ||
            static_cast<std::size_t>(chunk.data()[chunk.shape(0) - 1]) != count)
            throw std::invalid_argument("chunks do not cover the pulses");
        for (std::size_t i = 0; i < count; ++i)
            if (beam.data()[i] < 0 || static_cast<std::size_t>(beam.data()[i]) >= n_beams)
                throw std::invalid_argument("a pulse is of no beam");
    }

    Firing native() const {
        const std::size_t count = time.shape(0);
        const float* d = direction.data();
        return {{d, d + count, d + 2 * count},
                origin ? origin->data() : nullptr,
                time.data(),
                beam.data(),
                chunk.data(),
                reported.data(),
                reported.shape(0),
                chunk.shape(0) - 1};
    }

    Axes direction;
    Row<double> time;
    Row<std::int32_t> beam, chunk;
    Matrix3<float> reported;
    std::optional<Matrix3<float>> origin;
};

// A sweep's settings, read once from the Python side and kept native.
struct PyPlan {
    Beam beam;
    Receiver receiver;
    Noise noise;
};

PyPlan make_plan(const In<float, nb::shape<-1, 2>, nb::c_contig>& offsets, const Vector<float>& shares, bool random,
                 int n_rays, int spot, int profile, std::pair<float, float> divergence, int mode, int max_returns,
                 nb::dict receiver, nb::dict noise) {
    PyPlan plan;
    for (std::size_t i = 0; i < offsets.shape(0); ++i) {
        plan.beam.offsets.push_back({offsets.data()[2 * i], offsets.data()[2 * i + 1]});
        plan.beam.shares.push_back(shares.data()[i]);
    }
    plan.beam.random = random;
    plan.beam.n_rays = n_rays;
    plan.beam.spot = static_cast<Spot>(spot);
    plan.beam.profile = static_cast<Profile>(profile);
    plan.beam.divergence_h = divergence.first;
    plan.beam.divergence_v = divergence.second;
    if (!random && plan.beam.offsets.size() != static_cast<std::size_t>(n_rays))
        throw std::invalid_argument("a stencil needs one offset a ray");
    const auto real = [](nb::dict& from, const char* key) { return nb::cast<double>(from[key]); };
    plan.receiver.mode = static_cast<Mode>(mode);
    plan.receiver.max_returns = max_returns;
    plan.receiver.signal_cutoff = static_cast<float>(real(receiver, "signal_cutoff"));
    plan.receiver.strongest_by_echo = nb::cast<bool>(receiver["strongest_by_echo"]);
    plan.receiver.threshold = static_cast<float>(real(receiver, "threshold"));
    plan.receiver.range_min = static_cast<float>(real(receiver, "range_min"));
    plan.receiver.range_max = static_cast<float>(real(receiver, "range_max"));
    plan.receiver.falloff_reference = static_cast<float>(real(receiver, "falloff_reference"));
    plan.noise.range_sigma = real(noise, "range_sigma");
    plan.noise.range_sigma_per_m = real(noise, "range_sigma_per_m");
    plan.noise.range_quantum = real(noise, "range_quantum");
    plan.noise.intensity_sigma = real(noise, "intensity_sigma");
    plan.noise.encoder_step = real(noise, "encoder_step");
    plan.noise.pointing_sigma_h = real(noise, "pointing_sigma_h");
    plan.noise.pointing_sigma_v = real(noise, "pointing_sigma_v");
    return plan;
}

// A column that must be as long as the points.
template <class T> Column<T> per_point(const KdTree& tree, const Vector<T>& values, const char* name) {
    if (values.shape(0) != tree.size()) throw std::invalid_argument(std::string(name) + ": one value a point");
    return column(values);
}

nb::tuple find_neighbours(const KdTree& tree, const std::optional<Matrix3<double>>& queries, std::int32_t k,
                          float radius, int threads) {
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
    return nb::make_tuple(give(std::move(index)), give(std::move(distance2)));
}

nb::ndarray<nb::numpy, float> carve_discs(const Matrix3<float>& centre, const Matrix3<float>& normal,
                                          const Row<float>& radius, const Vector<float>& ratio,
                                          const Matrix3<float>& origin, const Matrix3<float>& point,
                                          const Row<bool>& seen, int rounds, float margin, float margin_per_m,
                                          float radius_min, int threads) {
    if (normal.shape(0) != centre.shape(0) || radius.shape(0) != centre.shape(0) || ratio.shape(0) != centre.shape(0))
        throw std::invalid_argument("the columns of discs differ in length");
    if (point.shape(0) != origin.shape(0) || seen.shape(0) != origin.shape(0))
        throw std::invalid_argument("the columns of beams differ in length");
    std::vector<float> left;
    {
        nb::gil_scoped_release release;
        left = carve({centre.data(), normal.data(), radius.data(), centre.shape(0), column(ratio)},
                     {origin.data(), point.data(), reinterpret_cast<const std::uint8_t*>(seen.data()), origin.shape(0)},
                     {rounds, margin, margin_per_m, radius_min}, threads);
    }
    return give(std::move(left));
}

nb::tuple join_sparse(const KdTree& tree, const Matrix3<float>& normal, const Vector<std::int32_t>& kind,
                      const Vector<std::int32_t>& missing, std::int32_t k, float radius, float beta, int threads) {
    if (normal.shape(0) != tree.size()) throw std::invalid_argument("normal: one row a point");
    const Joining joining{normal.data(), per_point(tree, kind, "kind"), per_point(tree, missing, "missing"), k, radius,
                          beta};
    Joined joined;
    {
        nb::gil_scoped_release release;
        joined = join(tree, joining, threads);
    }
    return nb::make_tuple(give(std::move(joined.first)), give(std::move(joined.second)));
}

// The columns of shapes that are named in `only`; the others are empty.
nb::dict analyse(const KdTree& tree, const Vector<std::int32_t>& k, const Vector<float>& radius,
                 const std::vector<std::string>& only, int threads) {
    struct Wide {
        const char* name;
        float* Pca::* column;
        std::size_t width;
        Buffer<float> values;
    };
    Wide wide[] = {{"normal", &Pca::normal, 3, {}},
                   {"eigenvalues", &Pca::eigenvalues, 3, {}},
                   {"mean_offset", &Pca::mean_offset, 3, {}},
                   {"radius", &Pca::radius, 1, {}},
                   {"mean_abs_plane_distance", &Pca::mean_distance, 1, {}},
                   {"std_abs_plane_distance", &Pca::std_distance, 1, {}}};
    const auto wanted = [&](const char* name) { return std::find(only.begin(), only.end(), name) != only.end(); };
    Pca out;
    for (Wide& one : wide)
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
    nb::dict columns;
    for (Wide& one : wide) columns[one.name] = give(std::move(one.values), one.width);
    columns["count"] = give(std::move(count));
    return columns;
}

nb::dict grow_splats(const KdTree& tree, const Matrix3<float>& normal, const Vector<std::int32_t>& k,
                     const Vector<float>& radius, const Vector<float>& bound, const Vector<std::int32_t>& label,
                     float alpha, float beta, const In<float, nb::ndim<2>, nb::c_contig>& values, int threads) {
    if (normal.shape(0) != tree.size() || values.shape(0) != tree.size())
        throw std::invalid_argument("normal, values: one row a point");
    const Extent extent{per_point(tree, k, "k"), per_point(tree, radius, "radius")};
    const Growing growing{
        normal.data(),  per_point(tree, bound, "bound"), per_point(tree, label, "label"), alpha, beta, values.data(),
        values.shape(1)};
    Grown grown;
    {
        nb::gil_scoped_release release;
        grown = grow(tree, extent, growing, threads);
    }
    nb::dict columns;
    columns["seed"] = give(std::move(grown.seed));
    columns["count"] = give(std::move(grown.count));
    columns["shift"] = give(std::move(grown.shift));
    columns["radius"] = give(std::move(grown.radius));
    columns["values"] = give(std::move(grown.values));
    return columns;
}

nb::dict predict_beams(const PyScene& self, const Matrix3<float>& origins, const Matrix3<float>& directions,
                       const std::optional<Vector<float>>& measured, float sigma, float clutter, float window,
                       float slope, float range_max, int threads) {
    if (directions.shape(0) != origins.shape(0) || (measured && measured->shape(0) != origins.shape(0)))
        throw std::invalid_argument("origins, directions, measured: one row a ray");
    Predictions found;
    {
        nb::gil_scoped_release release;
        found = predict(self.scene, origins.data(), directions.data(), measured ? measured->data() : nullptr,
                        origins.shape(0), {sigma, clutter, window, slope, range_max}, threads);
    }
    nb::dict columns;
    columns["range"] = give(std::move(found.range));
    columns["probability"] = give(std::move(found.probability));
    columns["returns"] = give(std::move(found.returns));
    columns["log_likelihood"] = give(std::move(found.log_likelihood));
    columns["reflected"] = give(std::move(found.reflected));
    columns["label"] = give(std::move(found.label));
    columns["instance"] = give(std::move(found.instance));
    columns["kind"] = give(std::move(found.kind));
    return columns;
}

void count_beams(BeamCounter& self, const Matrix3<float>& origins, const Matrix3<float>& directions,
                 const Vector<float>& lengths, const Vector<bool>& returned, float slope, int threads) {
    const std::size_t count = origins.shape(0);
    if (directions.shape(0) != count || lengths.shape(0) != count || returned.shape(0) != count)
        throw std::invalid_argument("origins, directions, lengths, returned: one row a beam");
    nb::gil_scoped_release release;
    self.add({origins.data(), directions.data(), lengths.data(), returned.data(), count}, slope, threads);
}

nb::tuple distances_of_tile(const Matrix3<std::int32_t>& cube, const Matrix3<double>& part,
                            const Matrix3<double>& normal, std::int32_t side, bool robust, double reach, double sigma,
                            double truncation, double sigma_normal, int refits, int fewest) {
    if (part.shape(0) != cube.shape(0) || normal.shape(0) != cube.shape(0))
        throw std::invalid_argument("cube, part, normal: one row a point");
    const std::size_t count = static_cast<std::size_t>(side) * side * side;
    Buffer<float> value;
    Buffer<std::uint8_t> known;
    value.allocate(count);
    known.allocate(count);
    {
        nb::gil_scoped_release release;
        least_squares({cube.data(), part.data(), normal.data(), cube.shape(0)},
                      {robust, reach, sigma, truncation, sigma_normal, refits, fewest}, side, value.data.get(),
                      known.data.get());
    }
    return nb::make_tuple(give(std::move(value)), give(std::move(known)));
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "The native core of Resweep; private, use the resweep package.";
    m.def("load_embree", &load_embree, nb::arg("path"), "Open the Embree library at `path`; once a process.");
    m.def("packet_width", &packet_width, nb::arg("asked"), "Rays an Embree call when `asked` are asked for (0: best).");
    m.def("thread_count", &thread_count, nb::arg("asked"), "Threads used when `asked` are asked for (0: all cores).");
    m.def(
        "embree_version",
        [] {
            return nb::make_tuple(embree().device_property(embree_device(), kVersionMajor),
                                  embree().device_property(embree_device(), kVersionMinor));
        },
        "Major and minor version of the loaded Embree.");

    nb::class_<PyPlan>(m, "Plan", "Beam, receiver and noise of a sensor.")
        .def_static("make", &make_plan, nb::kw_only(), nb::arg("offsets"), nb::arg("shares"), nb::arg("random"),
                    nb::arg("n_rays"), nb::arg("spot"), nb::arg("profile"), nb::arg("divergence"), nb::arg("mode"),
                    nb::arg("max_returns"), nb::arg("receiver"), nb::arg("noise"));

    nb::class_<PyFiring>(m, "Firing", "The pulses of a sweep in the order in which they are traced.")
        .def(nb::init<Axes, Row<double>, Row<std::int32_t>, Row<std::int32_t>, Matrix3<float>,
                      std::optional<Matrix3<float>>>(),
             nb::kw_only(), nb::arg("direction"), nb::arg("time"), nb::arg("beam"), nb::arg("chunk"),
             nb::arg("reported"), nb::arg("origin").none());

    m.def("trajectory_at", &trajectory_at, nb::arg("times"), nb::arg("knot_times"), nb::arg("knots"),
          "Poses (n, 16) at times, between knots.");
    const char* carried_doc =
        "Points (n, 3) of a moving frame, or directions, each at its own time, in the frame that the knots lead to.";
    m.def("carried_float", &carried<float>, nb::arg("times"), nb::arg("vectors"), nb::arg("knot_times"),
          nb::arg("knots"), nb::arg("turned_only") = false, carried_doc);
    m.def("carried", &carried<double>, nb::arg("times"), nb::arg("vectors"), nb::arg("knot_times"), nb::arg("knots"),
          nb::arg("turned_only") = false, carried_doc);

    nb::class_<PyShape>(m, "Shape", "Triangles or discs in an actor's frame, built once.")
        .def_static("triangles", &shape_of_triangles, nb::arg("triangles"))
        .def_static("discs", &shape_of_discs, nb::arg("discs"));

    nb::class_<PyActor>(m, "Actor", "Shapes in one frame, and the poses of that frame over time.")
        .def(nb::init<nb::list, Row<double>, Knots, double, std::int32_t, std::int32_t>(), nb::kw_only(),
             nb::arg("shapes"), nb::arg("times"), nb::arg("knots"), nb::arg("radius"), nb::arg("instance"),
             nb::arg("label"));

    nb::class_<PyStage>(m, "Stage", "The actors of one sweep, each where it is at every ray's own time.")
        .def(nb::init<nb::list, double, double, std::array<double, 3>, double>(), nb::arg("actors"), nb::arg("begin"),
             nb::arg("end"), nb::arg("centre"), nb::arg("reach"))
        .def("present", [](const PyStage& self) { return give(std::vector(self.stage->present())); })
        .def("poses", &stage_poses, nb::arg("seconds"),
             "Poses (k, 16) of the actors that are present, and their linear and angular velocities (k, 3).")
        .def("velocities", &stage_velocities, nb::arg("instance"), nb::arg("second"), nb::arg("points"),
             nb::arg("knot_times"), nb::arg("knots"),
             "Velocities (n, 3) of returns, and how many returns each actor that is present has.");

    nb::class_<PyScene>(m, "Scene", "Native geometry, built once and traced many times.")
        .def(nb::init<>())
        .def("add_triangles", &PyScene::add_triangles, nb::arg("triangles"))
        .def("add_instances", &PyScene::add_instances, nb::arg("instances"))
        .def("add_discs", &PyScene::add_discs, nb::arg("discs"))
        .def("add_volumes", &PyScene::add_volumes, nb::arg("volumes"))
        .def("commit",
             [](PyScene& self) {
                 nb::gil_scoped_release release;
                 self.scene.commit();
             })
        .def(
            "sweep",
            [](const PyScene& self, const PyPlan& plan, const PyFiring& fired, const Row<double>& knot_times,
               const Knots& knots, double start, std::uint64_t seed, std::uint64_t index, int threads, int packet,
               const PyStage* stage) {
                const Firing firing = fired.native();
                const Motion motion(knot_times.data(), knots.data(), knot_times.shape(0));
                SweepResult result;
                {
                    nb::gil_scoped_release release;
                    result =
                        simulate_sweep(self.scene, stage ? &*stage->stage : nullptr, firing, motion, start, plan.beam,
                                       plan.receiver, plan.noise, Philox(seed, index), {threads, packet});
                }
                nb::dict columns;
                columns["beam"] = give(std::move(result.beam));
                columns["range"] = give(std::move(result.range));
                columns["intensity"] = give(std::move(result.intensity));
                columns["return_index"] = give(std::move(result.return_index));
                columns["label"] = give(std::move(result.label));
                columns["instance"] = give(std::move(result.instance));
                columns["kind"] = give(std::move(result.kind));
                columns["beam_status"] = give(std::move(result.status));
                columns["points"] = give(std::move(result.points), 3);
                return columns;
            },
            nb::arg("plan"), nb::arg("firing"), nb::arg("knot_times"), nb::arg("knots"), nb::arg("start"),
            nb::arg("seed"), nb::arg("index"), nb::arg("threads") = 0, nb::arg("packet") = 0,
            nb::arg("stage").none() = nb::none(), "Fire, trace and receive one sweep.")
        .def(
            "rays",
            [](const PyScene&, const PyPlan& plan, const PyFiring& fired, const Row<double>& knot_times,
               const Knots& knots, double start, std::uint64_t seed, std::uint64_t index) {
                const Firing firing = fired.native();
                const Motion motion(knot_times.data(), knots.data(), knot_times.shape(0));
                std::vector<float> origins, directions;
                sweep_rays(firing, motion, start, plan.beam, plan.noise, Philox(seed, index), origins, directions);
                return nb::make_tuple(give(std::move(origins), 3), give(std::move(directions), 3));
            },
            nb::arg("plan"), nb::arg("firing"), nb::arg("knot_times"), nb::arg("knots"), nb::arg("start"),
            nb::arg("seed"), nb::arg("index"),
            "The rays that `sweep` traces, in its order: origins and directions (n, 3).")
        .def(
            "raw_floor",
            [](const PyScene& self, const Matrix3<float>& origins, const Matrix3<float>& directions, float range_max,
               int packet, int threads, int repeats) {
                std::size_t hits = 0;
                double seconds;
                {
                    nb::gil_scoped_release release;
                    seconds = raw_floor(self.scene, origins.data(), directions.data(), origins.shape(0), range_max,
                                        packet, threads, repeats, hits);
                }
                return nb::make_tuple(seconds, hits);
            },
            nb::arg("origins"), nb::arg("directions"), nb::arg("range_max"), nb::arg("packet") = 0,
            nb::arg("threads") = 0, nb::arg("repeats") = 3,
            "Seconds that Embree alone needs for these rays, the best of `repeats`, and how many hit.")
        .def("predict", &predict_beams, nb::arg("origins"), nb::arg("directions"), nb::arg("measured").none(),
             nb::kw_only(), nb::arg("sigma"), nb::arg("clutter"), nb::arg("window"), nb::arg("slope"),
             nb::arg("range_max"), nb::arg("threads") = 0, "What rays (n, 3) are expected to measure.")
        .def(
            "intersect",
            [](const PyScene& self, const Matrix3<float>& origins, const Matrix3<float>& directions, float range_max,
               int threads) {
                RayHits hits;
                {
                    nb::gil_scoped_release release;
                    hits =
                        intersect(self.scene, origins.data(), directions.data(), origins.shape(0), range_max, threads);
                }
                nb::dict columns;
                columns["range"] = give(std::move(hits.range));
                columns["cosine"] = give(std::move(hits.cosine));
                columns["reflected"] = give(std::move(hits.reflected));
                columns["label"] = give(std::move(hits.label));
                columns["instance"] = give(std::move(hits.instance));
                return columns;
            },
            nb::arg("origins"), nb::arg("directions"), nb::arg("range_max"), nb::arg("threads") = 0,
            "Closest hits of rays (n, 3) with unit directions: range in metres, infinity for a miss.");

    nb::class_<BeamCounter>(m, "BeamCounter", "How many beams pass volumes, and how many end in them.")
        .def("__init__", [](BeamCounter* self, nb::object source) { new (self) BeamCounter(volumes(source)); })
        .def("add", &count_beams, nb::arg("origins"), nb::arg("directions"), nb::arg("lengths"), nb::arg("returned"),
             nb::arg("slope") = 0.0f, nb::arg("threads") = 0)
        .def("passed", [](const BeamCounter& self) { return give(self.passed()); })
        .def("stopped", [](const BeamCounter& self) { return give(self.stopped()); })
        .def("exposure", [](const BeamCounter& self) { return give(self.exposure()); });

    m.def("least_squares", &distances_of_tile, nb::kw_only(), nb::arg("cube"), nb::arg("part"), nb::arg("normal"),
          nb::arg("side"), nb::arg("robust"), nb::arg("reach"), nb::arg("sigma"), nb::arg("truncation"),
          nb::arg("sigma_normal"), nb::arg("refits"), nb::arg("fewest"),
          "Signed distances (side³) at the corners of a tile, in voxels, and which of them are known.");

    nb::class_<KdTree>(m, "KdTree",
                       "Points in a k-d tree, and the neighbourhoods of each; rows are those of the points.")
        .def(
            "__init__",
            [](KdTree* self, const Matrix3<float>& points, int threads) {
                nb::gil_scoped_release release;
                new (self) KdTree(points.data(), points.shape(0), thread_count(threads));
            },
            nb::arg("points").noconvert(), nb::arg("threads") = 0)
        .def(
            "__init__",
            [](KdTree* self, const Matrix3<double>& points, int threads) {
                nb::gil_scoped_release release;
                new (self) KdTree(points.data(), points.shape(0), thread_count(threads));
            },
            nb::arg("points").noconvert(), nb::arg("threads") = 0)
        .def_prop_ro("step", &KdTree::step, "Metres between neighbouring coordinates.")
        .def("knn", &find_neighbours, nb::arg("queries").none(), nb::arg("k"), nb::arg("radius"),
             nb::arg("threads") = 0, "Rows and squared distances (m · k) of the nearest points, by distance.")
        .def(
            "radius_count",
            [](const KdTree& self, float radius, int threads) {
                Buffer<std::int32_t> count;
                count.allocate(self.size());
                {
                    nb::gil_scoped_release release;
                    radius_count(self, radius, threads, count.data.get());
                }
                return give(std::move(count));
            },
            nb::arg("radius"), nb::arg("threads") = 0)
        .def(
            "mean_radius",
            [](const KdTree& self, std::int32_t k, std::size_t stride, int threads) {
                nb::gil_scoped_release release;
                return mean_radius(self, k, stride, threads);
            },
            nb::arg("k"), nb::arg("stride"), nb::arg("threads") = 0)
        .def(
            "mean_plane_distance",
            [](const KdTree& self, std::int32_t k, float radius, std::size_t stride, int threads) {
                nb::gil_scoped_release release;
                return mean_plane_distance(self, k, radius, stride, threads);
            },
            nb::arg("k"), nb::arg("radius"), nb::arg("stride"), nb::arg("threads") = 0)
        .def("pca", &analyse, nb::arg("k"), nb::arg("radius"), nb::arg("only"), nb::arg("threads") = 0)
        .def("grow", &grow_splats, nb::arg("normal"), nb::arg("k"), nb::arg("radius"), nb::arg("bound"),
             nb::arg("label"), nb::arg("alpha"), nb::arg("beta"), nb::arg("values"), nb::arg("threads") = 0)
        .def("join", &join_sparse, nb::arg("normal"), nb::arg("kind"), nb::arg("missing"), nb::arg("k"),
             nb::arg("radius"), nb::arg("beta"), nb::arg("threads") = 0,
             "Rows of sparse points, and of the far neighbours that each is to be joined with.")
        .def("seed_order", [](const KdTree& self) { return give(seed_order(self)); });

    m.def(
        "in_free_cells",
        [](const Matrix3<float>& taken, const Matrix3<float>& points, double size, int threads) {
            std::vector<std::int64_t> rows;
            {
                nb::gil_scoped_release release;
                rows = in_free_cells(taken.data(), taken.shape(0), points.data(), points.shape(0), size, threads);
            }
            return give(std::move(rows));
        },
        nb::arg("taken"), nb::arg("points"), nb::arg("size"), nb::arg("threads") = 0,
        "Rows of the first of `points` in each cell of side `size` that holds none of `taken`.");
    m.def("carve", &carve_discs, nb::arg("centre"), nb::arg("normal"), nb::arg("radius"), nb::arg("ratio"),
          nb::arg("origin"), nb::arg("point"), nb::arg("seen"), nb::arg("rounds"), nb::arg("margin"),
          nb::arg("margin_per_m"), nb::arg("radius_min"), nb::arg("threads") = 0,
          "Radii of discs cut back by the beams from `origin` to `point` that passed them; 0 for those left out.");

    m.def(
        "philox",
        [](std::uint64_t seed, std::uint64_t sweep, std::uint32_t beam, std::uint32_t ray, std::uint32_t purpose) {
            const auto words = Philox(seed, sweep).words(beam, ray, static_cast<Purpose>(purpose));
            return nb::make_tuple(words[0], words[1], words[2], words[3]);
        },
        nb::arg("seed"), nb::arg("sweep"), nb::arg("beam"), nb::arg("ray"), nb::arg("purpose"),
        "The four random words of one purpose, for the tests.");
    m.def("normal", &normal, nb::arg("word"), "The standard normal number of one random word, for the tests.");
    m.def(
        "receive",
        [](const PyPlan& plan, const Matrix3<float>& light, const Vector<std::int32_t>& label,
           const Vector<std::int32_t>& instance) {
            std::vector<Event> events;
            for (std::size_t i = 0; i < light.shape(0); ++i) {
                const float* row = light.data() + 3 * i;
                events.push_back({row[0], row[1], 1.0f, row[2], label.data()[i], instance.data()[i], Kind::kMesh});
            }
            std::vector<Echo> echoes;
            const Status status = receive(plan.receiver, events, echoes);
            nb::list rows;
            for (const Echo& echo : echoes)
                rows.append(nb::make_tuple(echo.range, echo.intensity, echo.label, echo.instance));
            return nb::make_tuple(static_cast<int>(status), rows);
        },
        nb::arg("plan"), nb::arg("light"), nb::arg("label"), nb::arg("instance"),
        "The receiver on the events of one pulse: rows of range, share and reflected light.");
}
