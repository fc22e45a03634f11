// The NumPy reference is in resweep/sensors/stencil.py.
#include "trace/beam.hpp"

#include <algorithm>
#include <cmath>

#include "core/multiversion.hpp"

namespace resweep {
namespace {

constexpr double kPi = 3.14159265358979323846;

RESWEEP_MULTIVERSION void offset_all(const float* d, const float* h, const float* v, float oh, float ov, float scale,
                                     float* out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out[i] = (d[i] + oh * h[i] + ov * v[i]) * scale;
}

}  // namespace

void Rays::resize(std::size_t count) {
    for (auto& column : direction) column.resize(count);
}

RaySpread::RaySpread(const Beam& beam, const Philox& random)
    : beam_(beam),
      random_(random),
      half_h_(std::tan(0.5 * beam.divergence_h)),
      half_v_(std::tan(0.5 * beam.divergence_v)) {}

void RaySpread::spread(const PulseBatch& batch, Rays& rays) const {
    const std::size_t count = batch.count;
    if (beam_.axial()) {
        for (int axis = 0; axis < 3; ++axis) std::copy_n(batch.d[axis].begin(), count, rays.direction[axis].begin());
        return;
    }
    for (std::size_t ray = 0; ray < static_cast<std::size_t>(beam_.n_rays); ++ray) {
        float* out[3];
        for (int axis = 0; axis < 3; ++axis) out[axis] = rays.direction[axis].data() + ray * count;
        if (!beam_.random) {
            const float h = beam_.offsets[ray][0], v = beam_.offsets[ray][1];
            const float scale = 1.0f / std::sqrt(1.0f + h * h + v * v);  // d, h and v are orthonormal
            for (int axis = 0; axis < 3; ++axis)
                offset_all(batch.d[axis].data(), batch.h[axis].data(), batch.v[axis].data(), h, v, scale, out[axis],
                           count);
            continue;
        }
        for (std::size_t i = 0; i < count; ++i) {
            float h, v;
            draw(batch.beam[i], static_cast<std::uint32_t>(ray), h, v);
            const float scale = 1.0f / std::sqrt(1.0f + h * h + v * v);
            for (int axis = 0; axis < 3; ++axis)
                out[axis][i] = (batch.d[axis][i] + h * batch.h[axis][i] + v * batch.v[axis][i]) * scale;
        }
    }
}

// As `random_offsets` of resweep/sensors/stencil.py does.
void RaySpread::draw(std::uint32_t beam, std::uint32_t ray, float& h, float& v) const {
    const auto words = random_.words(beam, ray, Purpose::kSpot);
    const double u = unit(words[0]), w = unit(words[1]);
    double across, along;
    if (beam_.spot == Spot::kRectangular && beam_.profile == Profile::kUniform) {
        across = 2.0 * u - 1.0;
        along = 2.0 * w - 1.0;
    } else {
        // A Gaussian spot ends at its 1/e^2 edge: an inverse truncated Rayleigh distribution.
        const double radius = beam_.profile == Profile::kGaussian
                                  ? std::sqrt(-0.5 * std::log1p(-u * (1.0 - std::exp(-2.0))))
                                  : std::sqrt(u);
        across = radius * std::cos(2.0 * kPi * w);
        along = radius * std::sin(2.0 * kPi * w);
    }
    h = static_cast<float>(across * half_h_);
    v = static_cast<float>(along * half_v_);
}

const RayOrder::Order& RayOrder::of(std::size_t count, double spacing) {
    // Spacings are rounded to an eighth of an octave, so that a few orders serve a whole sweep. The
    // order depends on the chunk alone. So packets, and bytes, do not depend on the threads.
    int step = 0;
    if (!beam_.random && beam_.n_rays > 1 && spacing != 0.0) {
        step = static_cast<int>(std::lround(8.0 * std::log2(std::fabs(spacing)))) * 2 + (spacing < 0.0 ? 1 : 0);
        spacing = std::copysign(std::exp2(std::floor(step / 2.0) / 8.0), spacing);
    }
    auto [found, fresh] = known_.try_emplace({count, step});
    Order& order = found->second;
    if (!fresh) return order;
    std::vector<std::pair<std::uint16_t, std::uint16_t>> places;
    for (std::size_t pulse = 0; pulse < count; ++pulse)
        for (int ray = 0; ray < beam_.n_rays; ++ray)
            places.emplace_back(static_cast<std::uint16_t>(pulse), static_cast<std::uint16_t>(ray));
    if (step != 0) {
        const auto across = [&](const auto& place) { return place.first * spacing + beam_.offsets[place.second][0]; };
        std::stable_sort(places.begin(), places.end(),
                         [&](const auto& a, const auto& b) { return across(a) < across(b); });
    }
    for (const auto& [pulse, ray] : places) {
        order.row.push_back(static_cast<std::uint32_t>(ray * count + pulse));
        order.pulse.push_back(pulse);
    }
    return order;
}

}  // namespace resweep
