// Parts of the tracer on their own, so that tests compare them with their NumPy references.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "core/random.hpp"
#include "python/bindings.hpp"
#include "trace/trace.hpp"

namespace resweep::python {
namespace {

using EchoRow = std::tuple<float, float, std::int32_t, std::int32_t>;

std::pair<BeamStatus, std::vector<EchoRow>> receive_events(const Plan& plan, const Matrix3<float>& light,
                                                           const Row<std::int32_t>& label,
                                                           const Row<std::int32_t>& instance) {
    std::vector<Event> events;
    for (std::size_t i = 0; i < light.shape(0); ++i) {
        const float* row = light.data() + 3 * i;
        events.push_back({row[0], row[1], 1.0f, row[2], label.data()[i], instance.data()[i], PrimitiveKind::kMesh});
    }
    std::vector<Echo> echoes;
    const BeamStatus status = receive(plan.receiver, events, echoes);
    std::vector<EchoRow> rows;
    for (const Echo& echo : echoes) rows.emplace_back(echo.range, echo.intensity, echo.label, echo.instance);
    return {status, std::move(rows)};
}

Out<double> draw_uniform(std::uint64_t seed, std::uint64_t sweep, const Row<std::int32_t>& beams, Purpose purpose) {
    const Philox random(seed, sweep);
    std::vector<double> drawn(beams.shape(0));
    for (std::size_t i = 0; i < drawn.size(); ++i)
        drawn[i] = unit(random.words(static_cast<std::uint32_t>(beams.data()[i]), 0, purpose)[0]);
    return give(std::move(drawn));
}

Out<double> draw_normals(std::uint64_t seed, std::uint64_t sweep, const Row<std::uint32_t>& beams, std::uint32_t ray,
                         Purpose purpose) {
    std::vector<double> drawn(beams.shape(0));
    normals(Philox(seed, sweep), beams.data(), drawn.size(), ray, purpose, drawn.data());
    return give(std::move(drawn));
}

}  // namespace

void bind_references(nb::module_& m) {
    nb::enum_<Purpose>(m, "Purpose", nb::is_arithmetic(), "What a random number is for.")
        .value("RANGE_NOISE", Purpose::kRangeNoise)
        .value("SPOT", Purpose::kSpot)
        .value("POINTING", Purpose::kPointing)
        .value("INTENSITY_NOISE", Purpose::kIntensityNoise)
        .value("VOLUMES", Purpose::kVolumes)
        .value("RAYDROP", Purpose::kRaydrop)
        .value("DETECTION", Purpose::kDetection);
    m.def(
        "philox",
        [](std::uint64_t seed, std::uint64_t sweep, std::uint32_t beam, std::uint32_t ray, Purpose purpose) {
            const auto words = Philox(seed, sweep).words(beam, ray, purpose);
            return std::make_tuple(words[0], words[1], words[2], words[3]);
        },
        nb::arg("seed"), nb::arg("sweep"), nb::arg("beam"), nb::arg("ray"), nb::arg("purpose"),
        "The four random words of one purpose.");
    m.def("draw_uniform", &draw_uniform, nb::arg("seed"), nb::arg("sweep"), nb::arg("beams"), nb::arg("purpose"),
          "A number in (0, 1) for each beam (n,), of one purpose: the first word of its ray 0.");
    m.def("draw_normals", &draw_normals, nb::arg("seed"), nb::arg("sweep"), nb::arg("beams"), nb::arg("ray"),
          nb::arg("purpose"), "`normal` of the first word of each beam (n,), many at once.");
    m.def("normal", &normal, nb::arg("word"), "The standard normal number of one random word.");
    m.def("receive", &receive_events, nb::arg("plan"), nb::arg("light"), nb::arg("label"), nb::arg("instance"),
          "The status and the echoes (range, intensity, label, instance) of one pulse. `light` (n, 3): range, share of "
          "the beam and reflected light of its events.");
}

}  // namespace resweep::python
