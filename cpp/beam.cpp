// From a pulse to its rays: motion, pointing error, stencil. The NumPy reference is in
// resweep/sensors/stencil.py and resweep/simulate/reference.py.
#include "beam.hpp"

#include <algorithm>

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

void matrix_to_rotvec(const double m[9], double axis[3], double& angle) {
    const double sine[3] = {m[7] - m[5], m[2] - m[6], m[3] - m[1]};
    const double s = 0.5 * std::sqrt(sine[0] * sine[0] + sine[1] * sine[1] + sine[2] * sine[2]);
    const double c = 0.5 * (m[0] + m[4] + m[8] - 1.0);
    angle = std::atan2(s, c);
    if (s > 1e-12) {
        for (int i = 0; i < 3; ++i) axis[i] = sine[i] / (2.0 * s);
        return;
    }
    axis[0] = 1.0;
    axis[1] = axis[2] = 0.0;
    if (c < 0.0) {  // half a turn: the axis is the column of (R + I) that is longest
        int best = 0;
        for (int i = 1; i < 3; ++i)
            if (m[4 * i] > m[4 * best]) best = i;
        double column[3];
        for (int i = 0; i < 3; ++i) column[i] = m[3 * i + best] + (i == best ? 1.0 : 0.0);
        normalise(column);
        for (int i = 0; i < 3; ++i) axis[i] = column[i];
    }
}

}  // namespace

Motion::Motion(const double* times, const double* poses, std::size_t count)
    : times_(times, times + count), knots_(count) {
    for (std::size_t k = 0; k < count; ++k) {
        const double* pose = poses + 16 * k;
        for (int row = 0; row < 3; ++row) {
            for (int column = 0; column < 3; ++column) knots_[k].rotation[3 * row + column] = pose[4 * row + column];
            knots_[k].position[row] = pose[4 * row + 3];
        }
    }
    for (std::size_t k = 0; k + 1 < count; ++k) {
        double relative[9];  // transpose(R_k) R_k+1
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) {
                relative[3 * i + j] = 0.0;
                for (int l = 0; l < 3; ++l)
                    relative[3 * i + j] += knots_[k].rotation[3 * l + i] * knots_[k + 1].rotation[3 * l + j];
            }
        matrix_to_rotvec(relative, knots_[k].axis, knots_[k].angle);
    }
}

void Motion::at(double time, double rotation[9], double position[3]) const {
    std::size_t k = 0;
    while (k + 2 < times_.size() && time >= times_[k + 1]) ++k;
    const Knot& knot = knots_[k];
    if (times_.size() == 1) {
        for (int i = 0; i < 9; ++i) rotation[i] = knot.rotation[i];
        for (int i = 0; i < 3; ++i) position[i] = knot.position[i];
        return;
    }
    const Knot& next = knots_[k + 1];
    double share = (time - times_[k]) / (times_[k + 1] - times_[k]);
    share = share < 0.0 ? 0.0 : share > 1.0 ? 1.0 : share;
    for (int i = 0; i < 3; ++i) position[i] = (1.0 - share) * knot.position[i] + share * next.position[i];
    const double angle = share * knot.angle, s = std::sin(angle), c = std::cos(angle), t = 1.0 - c;
    const double *a = knot.axis, x = a[0], y = a[1], z = a[2];
    const double turn[9] = {t * x * x + c,     t * x * y - s * z, t * x * z + s * y,
                            t * x * y + s * z, t * y * y + c,     t * y * z - s * x,
                            t * x * z - s * y, t * y * z + s * x, t * z * z + c};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            rotation[3 * i + j] = 0.0;
            for (int l = 0; l < 3; ++l) rotation[3 * i + j] += knot.rotation[3 * i + l] * turn[3 * l + j];
        }
}

PulseMaker::PulseMaker(const Firing& firing, const Motion& motion, double start, const Noise& noise,
                       const Philox& random)
    : firing_(firing), motion_(motion), start_(start), noise_(noise), random_(random) {
    aimed_ = noise.encoder_step > 0.0 || noise.pointing_sigma_h > 0.0 || noise.pointing_sigma_v > 0.0;
    turn_to(start);
}

void PulseMaker::turn_to(double time) {
    double rotation[9];
    motion_.at(time, rotation, position_);
    for (int i = 0; i < 9; ++i) rotation_[i] = static_cast<float>(rotation[i]);
}

Pulse PulseMaker::pulse(std::size_t place) {
    const auto beam = static_cast<std::size_t>(firing_.order[place]);
    if (!motion_.still()) turn_to(start_ + firing_.time[beam]);
    const float* nominal = firing_.direction + 3 * beam;
    float d[3] = {nominal[0], nominal[1], nominal[2]};
    if (aimed_) {
        double aimed[3] = {d[0], d[1], d[2]};
        aim(static_cast<std::uint32_t>(beam), aimed);
        for (int i = 0; i < 3; ++i) d[i] = static_cast<float>(aimed[i]);
    }
    float h[3], v[3];
    tangent_frame(d, h, v);
    Pulse pulse;
    pulse.beam = static_cast<std::uint32_t>(beam);
    rotate(rotation_, d, pulse.d);
    rotate(rotation_, h, pulse.h);
    rotate(rotation_, v, pulse.v);
    float offset[3] = {0.0f, 0.0f, 0.0f};
    if (firing_.origin) rotate(rotation_, firing_.origin + 3 * beam, offset);
    for (int i = 0; i < 3; ++i) pulse.origin[i] = static_cast<float>(position_[i] + offset[i]);
    return pulse;
}

// Encoder and pointing error (A, section IV): the pulse leaves in another direction than the one reported.
void PulseMaker::aim(std::uint32_t beam, double d[3]) const {
    const auto words = random_.words(beam, 0, Purpose::kPointing);
    const double turn = (unit(words[0]) - 0.5) * noise_.encoder_step, c = std::cos(turn), s = std::sin(turn);
    const double x = d[0], y = d[1];
    d[0] = c * x - s * y;
    d[1] = s * x + c * y;
    const double across = normal(words[1]) * noise_.pointing_sigma_h, along = normal(words[2]) * noise_.pointing_sigma_v;
    double h[3], v[3];
    tangent_frame(d, h, v);
    for (int i = 0; i < 3; ++i) d[i] += across * h[i] + along * v[i];
    normalise(d);
}

void Rays::resize(std::size_t count) {
    for (auto* column : {&origin_x, &origin_y, &origin_z, &direction_x, &direction_y, &direction_z})
        column->resize(count);
}

RaySpread::RaySpread(const Beam& beam, const Philox& random)
    : beam_(beam), random_(random), half_h_(std::tan(0.5 * beam.divergence_h)),
      half_v_(std::tan(0.5 * beam.divergence_v)), h_(beam.n_rays), v_(beam.n_rays), scale_(beam.n_rays) {
    for (std::size_t ray = 0; ray < beam.offsets.size(); ++ray) {
        h_[ray] = beam.offsets[ray][0];
        v_[ray] = beam.offsets[ray][1];
        scale_[ray] = 1.0f / std::sqrt(1.0f + h_[ray] * h_[ray] + v_[ray] * v_[ray]);
    }
}

// The map of resweep/sensors/stencil.py, random_offsets.
void RaySpread::draw(std::uint32_t beam) {
    if (!beam_.random) return;
    for (std::uint32_t ray = 0; ray < h_.size(); ++ray) {
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
        h_[ray] = static_cast<float>(across * half_h_);
        v_[ray] = static_cast<float>(along * half_v_);
        scale_[ray] = 1.0f / std::sqrt(1.0f + h_[ray] * h_[ray] + v_[ray] * v_[ray]);
    }
}

double pulse_spacing(const Firing& firing, std::size_t first, std::size_t last) {
    if (last - first < 2) return 0.0;
    const float* a = firing.direction + 3 * firing.order[first];
    const float* b = firing.direction + 3 * firing.order[last - 1];
    const double turn = std::atan2(double{a[0]} * b[1] - double{a[1]} * b[0], double{a[0]} * b[0] + double{a[1]} * b[1]);
    return turn * std::sqrt(double{a[0]} * a[0] + double{a[1]} * a[1]) / static_cast<double>(last - first - 1);
}

const std::vector<RayOrder::Place>& RayOrder::of(std::size_t count, double spacing) {
    // Spacings are rounded to an eighth of an octave, so that a few orders serve a whole sweep. The
    // order is a function of the chunk alone: packets, and so bytes, do not depend on the threads.
    int step = 0;
    if (!beam_.random && beam_.n_rays > 1 && spacing != 0.0) {
        step = static_cast<int>(std::lround(8.0 * std::log2(std::fabs(spacing)))) * 2 + (spacing < 0.0 ? 1 : 0);
        spacing = std::copysign(std::exp2(std::floor(step / 2.0) / 8.0), spacing);
    }
    auto [found, fresh] = known_.try_emplace({count, step});
    std::vector<Place>& order = found->second;
    if (!fresh) return order;
    const auto n_rays = static_cast<std::uint32_t>(beam_.n_rays);
    for (std::uint32_t pulse = 0; pulse < count; ++pulse)
        for (std::uint32_t ray = 0; ray < n_rays; ++ray) order.push_back({pulse, ray});
    if (step != 0) {
        const auto across = [&](const Place& place) { return place.pulse * spacing + beam_.offsets[place.ray][0]; };
        std::stable_sort(order.begin(), order.end(),
                         [&](const Place& a, const Place& b) { return across(a) < across(b); });
    }
    return order;
}

}  // namespace resweep
