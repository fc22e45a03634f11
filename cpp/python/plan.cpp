// A sensor as the tracer sees it: beam, receiver and noise.
#include <algorithm>
#include <stdexcept>

#include "python/bindings.hpp"
#include "trace/trace.hpp"

namespace resweep::python {
namespace {

using Offsets = In<float, nb::shape<-1, 2>, nb::c_contig>;

void make_beam(Beam* self, const Offsets& offsets, const Vector<float>& shares, bool random, int n_rays, Spot spot,
               Profile profile, float divergence_h, float divergence_v) {
    if (shares.shape(0) != offsets.shape(0)) throw std::invalid_argument("offsets, shares: expected one row per ray");
    if (!random && offsets.shape(0) != static_cast<std::size_t>(n_rays))
        throw std::invalid_argument("offsets: a stencil needs one offset per ray");
    const Column<float> share = column(shares);
    Beam beam;
    for (std::size_t i = 0; i < offsets.shape(0); ++i) {
        beam.offsets.push_back({offsets.data()[2 * i], offsets.data()[2 * i + 1]});
        beam.shares.push_back(share[i]);
    }
    beam.random = random;
    beam.n_rays = n_rays;
    beam.spot = spot;
    beam.profile = profile;
    beam.divergence_h = divergence_h;
    beam.divergence_v = divergence_v;
    new (self) Beam(std::move(beam));
}

void make_receiver(Receiver* self, ReturnMode mode, int max_returns, StrongestBy strongest_by, float signal_cutoff,
                   float threshold, float range_min, float range_max, float falloff_reference, float separation,
                   float signal_reference) {
    if (max_returns < 1 || max_returns > 255) throw std::invalid_argument("max_returns: expected 1 to 255");
    new (self) Receiver{mode,      max_returns, strongest_by,      signal_cutoff, threshold,
                        range_min, range_max,   falloff_reference, separation,    signal_reference};
}

void make_noise(Noise* self, double range_sigma, double range_sigma_per_m, double range_quantum, double intensity_sigma,
                double encoder_step, double pointing_sigma_h, double pointing_sigma_v) {
    new (self) Noise{range_sigma,  range_sigma_per_m, range_quantum,   intensity_sigma,
                     encoder_step, pointing_sigma_h,  pointing_sigma_v};
}

void make_sensor_calibration(SensorCalibration* self, const Vector<float>& range_bias, const Vector<float>& gain,
                             const Vector<float>& signal, const Vector<float>& probability,
                             double range_sigma_per_tan) {
    if (signal.shape(0) != probability.shape(0))
        throw std::invalid_argument("signal, probability: expected as many of both");
    const auto copy = [](const Vector<float>& values) {
        const Column<float> from = column(values);
        std::vector<float> to;
        for (std::size_t i = 0; i < values.shape(0); ++i) to.push_back(from[i]);
        return to;
    };
    SensorCalibration made{copy(range_bias), copy(gain), copy(signal), copy(probability), range_sigma_per_tan};
    if (!std::is_sorted(made.signal.begin(), made.signal.end()) ||
        !std::is_sorted(made.probability.begin(), made.probability.end()))
        throw std::invalid_argument("signal, probability: expected rising values");
    new (self) SensorCalibration(std::move(made));
}

void bind_enums(nb::module_& m) {
    nb::enum_<Spot>(m, "Spot", "The shape of a beam's spot.")
        .value("CIRCULAR", Spot::kCircular)
        .value("RECTANGULAR", Spot::kRectangular)
        .value("ELLIPTICAL", Spot::kElliptical);
    nb::enum_<Profile>(m, "Profile", "How light is distributed over the spot.")
        .value("UNIFORM", Profile::kUniform)
        .value("GAUSSIAN", Profile::kGaussian);
    nb::enum_<ReturnMode>(m, "ReturnMode", "Which echoes of a pulse are reported.")
        .value("FIRST", ReturnMode::kFirst)
        .value("LAST", ReturnMode::kLast)
        .value("STRONGEST", ReturnMode::kStrongest)
        .value("STRONGEST_AND_LAST", ReturnMode::kStrongestAndLast)
        .value("MULTIPLE", ReturnMode::kMultiple);
    nb::enum_<StrongestBy>(m, "StrongestBy", "What makes an echo the strongest.")
        .value("RAY", StrongestBy::kRay, "Its most intense ray.")
        .value("ECHO", StrongestBy::kEcho, "The light of its whole window.");
    nb::enum_<BeamStatus>(m, "BeamStatus", nb::is_arithmetic(), "Why a beam has a return, or has none.")
        .value("RETURN", BeamStatus::kReturn)
        .value("NOTHING_HIT", BeamStatus::kNothingHit)
        .value("BELOW_THRESHOLD", BeamStatus::kBelowThreshold)
        .value("OUT_OF_RANGE", BeamStatus::kOutOfRange)
        .value("DROPPED", BeamStatus::kDropped)
        .value("EMPTY_AS_RECORDED", BeamStatus::kEmptyAsRecorded)
        .value("UNKNOWN", BeamStatus::kUnknown);
    nb::enum_<PrimitiveKind>(m, "PrimitiveKind", nb::is_arithmetic(), "Which kind of primitive sent light back.")
        .value("MESH", PrimitiveKind::kMesh)
        .value("SPLATS", PrimitiveKind::kSplats)
        .value("VOLUMES", PrimitiveKind::kVolumes);
}

}  // namespace

void bind_plan(nb::module_& m) {
    bind_enums(m);
    nb::class_<Beam>(m, "Beam", "How one pulse becomes rays.")
        .def("__init__", &make_beam, nb::kw_only(), nb::arg("offsets"), nb::arg("shares"), nb::arg("random"),
             nb::arg("n_rays"), nb::arg("spot").noconvert(), nb::arg("profile").noconvert(), nb::arg("divergence_h"),
             nb::arg("divergence_v"),
             "`offsets` (k, 2): tangents of the rays of a stencil; `shares` (k,): how much of the beam each carries. "
             "Both are empty if rays are drawn at `random`. Divergences are full angles in radians.");
    nb::class_<Receiver>(m, "Receiver", "How the light of a pulse becomes echoes.")
        .def("__init__", &make_receiver, nb::kw_only(), nb::arg("mode").noconvert(), nb::arg("max_returns"),
             nb::arg("strongest_by").noconvert(), nb::arg("signal_cutoff"), nb::arg("threshold"), nb::arg("range_min"),
             nb::arg("range_max"), nb::arg("falloff_reference"), nb::arg("separation") = 0.0f,
             nb::arg("signal_reference") = 0.0f,
             "Lengths in metres. A `falloff_reference` of 0: the intensity does not fall with range. A "
             "`signal_reference` of 0: the signal of an echo is its intensity, else that at this range.");
    nb::class_<Noise>(m, "Noise", "Errors of direction, range and intensity.")
        .def("__init__", &make_noise, nb::kw_only(), nb::arg("range_sigma"), nb::arg("range_sigma_per_m"),
             nb::arg("range_quantum"), nb::arg("intensity_sigma"), nb::arg("encoder_step"), nb::arg("pointing_sigma_h"),
             nb::arg("pointing_sigma_v"), "Metres, radians and relative intensity.");
    nb::class_<SensorCalibration>(m, "SensorCalibration", "Errors and gains of lasers, and chance in what is detected.")
        .def(
            "__init__", &make_sensor_calibration, nb::kw_only(), nb::arg("range_bias"), nb::arg("gain"),
            nb::arg("signal"), nb::arg("probability"), nb::arg("range_sigma_per_tan"),
            "`range_bias` in metres and `gain` have one value a ring, or none; `signal` and `probability` (k,) are the "
            "detection curve, rising both, or empty. Noise in metres.");
    nb::class_<Plan>(m, "Plan", "Beam, receiver and noise of a sensor.")
        .def(
            "__init__",
            [](Plan* self, const Beam& beam, const Receiver& receiver, const Noise& noise,
               const SensorCalibration* calibration) {
                new (self) Plan{beam, receiver, noise, calibration ? *calibration : SensorCalibration{}};
            },
            nb::kw_only(), nb::arg("beam"), nb::arg("receiver"), nb::arg("noise"),
            nb::arg("calibration").none() = nb::none());
}

}  // namespace resweep::python
