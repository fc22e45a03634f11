// From a pulse to its rays: motion, pointing error, stencil. The NumPy reference is in
// resweep/sensors/stencil.py and resweep/simulate/reference.py.
#include "trace/beam.hpp"

#include <algorithm>

#include "core/multiversion.hpp"

namespace resweep {
namespace {

constexpr double kPi = 3.14159265358979323846;

template <class Real> void rotate(const Real m[9], const Real v[3], Real out[3]) {
    for (int row = 0; row < 3; ++row) out[row] = m[3 * row] * v[0] + m[3 * row + 1] * v[1] + m[3 * row + 2] * v[2];
}

void normalise(double v[3]) {
    const double scale = 1.0 / std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int i = 0; i < 3; ++i) v[i] *= scale;
}

// h points left and v up of the direction d; straight up or down, h is y.
template <class Real> void tangent_frame(const Real d[3], Real h[3], Real v[3]) {
    const Real length = std::sqrt(d[0] * d[0] + d[1] * d[1]);
    const bool upright = length < Real(1e-6);
    const Real scale = upright ? Real(0) : Real(1) / length;
    h[0] = -d[1] * scale;
    h[1] = upright ? Real(1) : d[0] * scale;
    h[2] = Real(0);
    v[0] = -d[2] * h[1];
    v[1] = d[2] * h[0];
    v[2] = d[0] * h[1] - d[1] * h[0];
}

RESWEEP_CLONES void tangent_frames(const float* dx, const float* dy, const float* dz, float* hx, float* hy, float* vx,
                                   float* vy, float* vz, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const float length = std::sqrt(dx[i] * dx[i] + dy[i] * dy[i]);
        const bool upright = length < 1e-6f;
        const float scale = upright ? 0.0f : 1.0f / length;
        const float x = -dy[i] * scale, y = upright ? 1.0f : dx[i] * scale;
        hx[i] = x;
        hy[i] = y;
        vx[i] = -dz[i] * y;
        vy[i] = dz[i] * x;
        vz[i] = dx[i] * y - dy[i] * x;
    }
}

RESWEEP_CLONES void rotate_all(const float* m, float* x, float* y, float* z, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const float a = x[i], b = y[i], c = z[i];
        x[i] = m[0] * a + m[1] * b + m[2] * c;
        y[i] = m[3] * a + m[4] * b + m[5] * c;
        z[i] = m[6] * a + m[7] * b + m[8] * c;
    }
}

RESWEEP_CLONES void offset_all(const float* d, const float* h, const float* v, float oh, float ov, float scale,
                               float* out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out[i] = (d[i] + oh * h[i] + ov * v[i]) * scale;
}

}  // namespace

void PulseBatch::resize(std::size_t size) {
    for (auto* axes : {origin, d, h, v})
        for (int i = 0; i < 3; ++i) axes[i].resize(size);
    beam.resize(size);
}

PulseMaker::PulseMaker(const Firing& firing, const Motion& motion, double start, const Noise& noise,
                       const Philox& random, bool axial)
    : firing_(firing), motion_(motion), start_(start), noise_(noise), random_(random), axial_(axial) {
    aimed_ = noise.encoder_step > 0.0 || noise.pointing_sigma_h > 0.0 || noise.pointing_sigma_v > 0.0;
}

void PulseMaker::make(std::size_t first, std::size_t last, PulseBatch& batch) {
    batch.count = last - first;
    for (std::size_t i = 0; i < batch.count; ++i) batch.beam[i] = static_cast<std::uint32_t>(firing_.beam[first + i]);
    for (int axis = 0; axis < 3; ++axis)
        std::copy(firing_.direction[axis] + first, firing_.direction[axis] + last, batch.d[axis].begin());
    if (aimed_)
        for (std::size_t i = 0; i < batch.count; ++i) {
            double d[3] = {batch.d[0][i], batch.d[1][i], batch.d[2][i]};
            aim(batch.beam[i], d);
            for (int axis = 0; axis < 3; ++axis) batch.d[axis][i] = static_cast<float>(d[axis]);
        }
    if (!axial_) {
        tangent_frames(batch.d[0].data(), batch.d[1].data(), batch.d[2].data(), batch.h[0].data(), batch.h[1].data(),
                       batch.v[0].data(), batch.v[1].data(), batch.v[2].data(), batch.count);
        std::fill_n(batch.h[2].begin(), batch.count, 0.0f);
    }
    place(first, batch);
}

// Put the batch, made in the sensor's frame, into the world.
void PulseMaker::place(std::size_t first, PulseBatch& batch) {
    double rotation[9], position[3];
    float turn[9];
    batch.one_origin = motion_.still() && !firing_.origin;
    const std::size_t stretch = motion_.still() ? batch.count : 1;  // pulses that share a pose
    for (std::size_t i = 0; i < batch.count; i += stretch) {
        motion_.at(start_ + firing_.time[first + i], rotation, position);
        std::copy(rotation, rotation + 9, turn);
        for (auto* axes : {batch.d, batch.h, batch.v}) {
            rotate_all(turn, axes[0].data() + i, axes[1].data() + i, axes[2].data() + i, stretch);
            if (axial_) break;
        }
        for (std::size_t j = i; j < i + stretch; ++j) {
            float offset[3] = {0.0f, 0.0f, 0.0f};
            if (firing_.origin) rotate(turn, firing_.origin + 3 * batch.beam[j], offset);
            for (int axis = 0; axis < 3; ++axis)
                batch.origin[axis][j] = static_cast<float>(position[axis] + offset[axis]);
            if (batch.one_origin) break;
        }
    }
}

// Encoder and pointing error (A, section IV): the pulse leaves in another direction than the one reported.
void PulseMaker::aim(std::uint32_t beam, double d[3]) const {
    const auto words = random_.words(beam, 0, Purpose::kPointing);
    const double turn = (unit(words[0]) - 0.5) * noise_.encoder_step, c = std::cos(turn), s = std::sin(turn);
    const double x = d[0], y = d[1];
    d[0] = c * x - s * y;
    d[1] = s * x + c * y;
    const double across = normal(words[1]) * noise_.pointing_sigma_h;
    const double along = normal(words[2]) * noise_.pointing_sigma_v;
    double h[3], v[3];
    tangent_frame(d, h, v);
    for (int i = 0; i < 3; ++i) d[i] += across * h[i] + along * v[i];
    normalise(d);
}

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

// The map of resweep/sensors/stencil.py, random_offsets.
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

double pulse_spacing(const Firing& firing, std::size_t first, std::size_t last) {
    if (last - first < 2) return 0.0;
    const double ax = firing.direction[0][first], ay = firing.direction[1][first];
    const double bx = firing.direction[0][last - 1], by = firing.direction[1][last - 1];
    const double turn = std::atan2(ax * by - ay * bx, ax * bx + ay * by);
    return turn * std::sqrt(ax * ax + ay * ay) / static_cast<double>(last - first - 1);
}

const RayOrder::Order& RayOrder::of(std::size_t count, double spacing) {
    // Spacings are rounded to an eighth of an octave, so that a few orders serve a whole sweep. The
    // order is a function of the chunk alone: packets, and so bytes, do not depend on the threads.
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
