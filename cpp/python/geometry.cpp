#include "python/geometry.hpp"

#include <algorithm>
#include <stdexcept>

namespace resweep::python {

template <class Array> Array KeptArrays::array(nb::object source, const char* name) {
    nb::object value = source.attr(name);
    kept_.push_back(value);
    return nb::cast<Array>(value, false);
}

Triangles KeptArrays::triangles(nb::object source) {
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
    for (std::size_t i = 0; i < materials.shape(0); ++i) {
        const float* row = materials.data() + 3 * i;
        native.materials.push_back({row[0], row[1], row[2]});
    }
    return native;
}

InstanceArray KeptArrays::instances(nb::object source) {
    InstanceArray native;
    native.triangles = triangles(source.attr("triangles"));
    const auto transforms = array<In<float, nb::shape<-1, 3, 4>, nb::c_contig>>(source, "transforms");
    native.transforms = transforms.data();
    native.n_instances = transforms.shape(0);
    native.instance = column(array<Vector<std::int32_t>>(source, "instance"));
    native.label = column(array<Vector<std::int32_t>>(source, "label"));
    return native;
}

Discs KeptArrays::discs(nb::object source) {
    Discs native;
    const auto centre = array<Matrix3<float>>(source, "centre");
    native.centre = centre.data();
    native.normal = array<Matrix3<float>>(source, "normal").data();
    native.radius = array<Row<float>>(source, "radius").data();
    native.n_discs = centre.shape(0);
    native.label = column(array<Vector<std::int32_t>>(source, "label"));
    native.instance = column(array<Vector<std::int32_t>>(source, "instance"));
    native.reflectance = column(array<Vector<float>>(source, "reflectance"));
    if (!source.attr("seen").is_none()) native.seen = column(array<Vector<std::uint32_t>>(source, "seen"));
    if (!source.attr("permeability").is_none())
        native.permeability = column(array<Vector<float>>(source, "permeability"));
    native.depth = nb::cast<int>(source.attr("depth"));
    native.gap = nb::cast<float>(source.attr("gap_m"));
    native.incidence_exponent = nb::cast<float>(source.attr("incidence_exponent"));
    if (native.depth < 1 || native.depth > kMaxDepth)
        throw std::invalid_argument("discs: depth must be from 1 to " + std::to_string(kMaxDepth));
    return native;
}

Volumes volumes(nb::object source) {
    const auto mean = nb::cast<Matrix3<float>>(source.attr("mean"), false);
    const auto half = nb::cast<Matrix3<float>>(source.attr("half"), false);
    const auto precision = nb::cast<In<float, nb::shape<-1, 6>, nb::c_contig>>(source.attr("precision"), false);
    const auto log_pass = column(nb::cast<Vector<float>>(source.attr("log_pass"), false));
    const auto reflectance = column(nb::cast<Vector<float>>(source.attr("reflectance"), false));
    const auto label = column(nb::cast<Vector<std::int32_t>>(source.attr("label"), false));
    const auto instance = column(nb::cast<Vector<std::int32_t>>(source.attr("instance"), false));
    Volumes native;
    native.tau = nb::cast<float>(source.attr("tau"));
    native.extinction = nb::cast<bool>(source.attr("extinction"));
    native.element = nb::cast<float>(source.attr("element_m"));
    native.volume.resize(mean.shape(0));
    if (const nb::object number = source.attr("number"); !number.is_none()) {
        const auto row = nb::cast<Row<std::uint32_t>>(number, false);
        if (row.shape(0) != mean.shape(0))
            throw std::invalid_argument("volumes: number must have one value per volume");
        native.numbers.assign(row.data(), row.data() + row.shape(0));
    }
    if (const nb::object seen = source.attr("seen"); !seen.is_none()) {
        const auto row = nb::cast<Vector<std::uint32_t>>(seen, false);
        if (row.shape(0) != mean.shape(0)) throw std::invalid_argument("volumes: seen must have one value per volume");
        native.seen.resize(row.shape(0));
        for (std::size_t i = 0; i < native.seen.size(); ++i) native.seen[i] = column(row)[i];
    }
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

}  // namespace resweep::python
