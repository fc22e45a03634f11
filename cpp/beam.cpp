// From a pulse to its rays: motion, pointing error, stencil. The NumPy reference is in
// resweep/sensors/stencil.py and resweep/simulate/reference.py.
#include <cmath>

#include "beam.hpp"

namespace resweep {
namespace {

constexpr double kPi = 3.14159265358979323846;

void rotate(const double m[9], const double v[3], double out[3]) {
    for (int row = 0; row < 3; ++row) out[row] = m[3 * row] * v[0] + m[3 * row + 1] * v[1] + m[3 * row + 2] * v[2];
}

void normalise(double v[3]) {
    const double scale = 1.0 / std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int i = 0; i < 3; ++i) v[i] *= scale;
}

void cross(const double a[3], const double b[3], double out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

// h points left and v up of the direction d; straight up or down, h is y.
void tangent_frame(const double d[3], double h[3], double v[3]) {
    h[0] = -d[1];
    h[1] = d[0];
    h[2] = 0.0;
    const double length = std::sqrt(h[0] * h[0] + h[1] * h[1]);
    if (length < 1e-6) {
        h[0] = 0.0;
        h[1] = 1.0;
    } else {
        h[0] /= length;
        h[1] /= length;
    }
    cross(d, h, v);
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

// The tangent offset of a random ray: the map of resweep/sensors/stencil.py, random_offsets.
std::array<double, 2> random_offset(const Beam& beam, std::uint32_t a, std::uint32_t b) {
    const double half_h = std::tan(0.5 * beam.divergence_h), half_v = std::tan(0.5 * beam.divergence_v);
    const double u = unit(a), w = unit(b);
    if (beam.spot == Spot::kRectangular && beam.profile == Profile::kUniform)
        return {(2.0 * u - 1.0) * half_h, (2.0 * w - 1.0) * half_v};
    // A Gaussian spot ends at its 1/e^2 edge: an inverse truncated Rayleigh distribution.
    const double radius = beam.profile == Profile::kGaussian
                              ? std::sqrt(-0.5 * std::log1p(-u * (1.0 - std::exp(-2.0))))
                              : std::sqrt(u);
    return {radius * std::cos(2.0 * kPi * w) * half_h, radius * std::sin(2.0 * kPi * w) * half_v};
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

RayMaker::RayMaker(const Firing& firing, const Motion& motion, double start, const Beam& beam, const Noise& noise,
                   const Philox& random)
    : firing_(firing), motion_(motion), start_(start), beam_(beam), noise_(noise), random_(random) {
    motion_.at(start_, rotation_, position_);
}

void RayMaker::rays(std::size_t pulse, float origin[3], float* directions) {
    if (!motion_.still()) motion_.at(start_ + firing_.time[pulse], rotation_, position_);
    double d[3] = {firing_.direction[3 * pulse], firing_.direction[3 * pulse + 1], firing_.direction[3 * pulse + 2]};
    aim(static_cast<std::uint32_t>(pulse), d);
    double h[3], v[3], world_d[3], world_h[3], world_v[3];
    tangent_frame(d, h, v);
    rotate(rotation_, d, world_d);
    rotate(rotation_, h, world_h);
    rotate(rotation_, v, world_v);
    double offset[3] = {0.0, 0.0, 0.0};
    if (firing_.origin) {
        const double local[3] = {firing_.origin[3 * pulse], firing_.origin[3 * pulse + 1],
                                 firing_.origin[3 * pulse + 2]};
        rotate(rotation_, local, offset);
    }
    for (int i = 0; i < 3; ++i) origin[i] = static_cast<float>(position_[i] + offset[i]);
    const float fd[3] = {float(world_d[0]), float(world_d[1]), float(world_d[2])};
    const float fh[3] = {float(world_h[0]), float(world_h[1]), float(world_h[2])};
    const float fv[3] = {float(world_v[0]), float(world_v[1]), float(world_v[2])};
    for (int ray = 0; ray < beam_.n_rays; ++ray) {
        float oh, ov;
        if (beam_.random) {
            const auto words = random_.words(static_cast<std::uint32_t>(pulse), ray, Purpose::kSpot);
            const auto drawn = random_offset(beam_, words[0], words[1]);
            oh = static_cast<float>(drawn[0]);
            ov = static_cast<float>(drawn[1]);
        } else {
            oh = beam_.offsets[ray][0];
            ov = beam_.offsets[ray][1];
        }
        const float scale = 1.0f / std::sqrt(1.0f + oh * oh + ov * ov);  // d, h and v are orthonormal
        for (int i = 0; i < 3; ++i) directions[3 * ray + i] = (fd[i] + oh * fh[i] + ov * fv[i]) * scale;
    }
}

// Encoder and pointing error (A, section IV): the pulse leaves in another direction than the one reported.
void RayMaker::aim(std::uint32_t pulse, double d[3]) const {
    if (noise_.encoder_step <= 0.0 && noise_.pointing_sigma_h <= 0.0 && noise_.pointing_sigma_v <= 0.0) return;
    const auto words = random_.words(pulse, 0, Purpose::kPointing);
    const double turn = (unit(words[0]) - 0.5) * noise_.encoder_step, c = std::cos(turn), s = std::sin(turn);
    const double x = d[0], y = d[1];
    d[0] = c * x - s * y;
    d[1] = s * x + c * y;
    const auto draw = normal_pair(words[1], words[2]);
    double h[3], v[3];
    tangent_frame(d, h, v);
    for (int i = 0; i < 3; ++i)
        d[i] += draw[0] * noise_.pointing_sigma_h * h[i] + draw[1] * noise_.pointing_sigma_v * v[i];
    normalise(d);
}

}  // namespace resweep
