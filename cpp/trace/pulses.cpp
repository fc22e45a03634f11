// The NumPy reference is in resweep/simulate/reference.py.
#include "trace/pulses.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/multiversion.hpp"
#include "core/small_angles.hpp"

namespace resweep {
namespace {

constexpr std::size_t kMaxChunk = 65'535;  // pulses: the order of rays counts them in 16 bits

template <class Real> void rotate(const Real m[9], const Real v[3], Real out[3]) {
    for (int row = 0; row < 3; ++row) out[row] = m[3 * row] * v[0] + m[3 * row + 1] * v[1] + m[3 * row + 2] * v[2];
}

void normalise(double v[3]) {
    const double scale = 1.0 / std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int i = 0; i < 3; ++i) v[i] *= scale;
}

// h points left and v up of the direction d; straight up or down, h is y.
void tangent_frame(const double d[3], double h[3], double v[3]) {
    const double length = std::sqrt(d[0] * d[0] + d[1] * d[1]);
    const bool upright = length < 1e-6;
    const double scale = upright ? 0.0 : 1.0 / length;
    h[0] = -d[1] * scale;
    h[1] = upright ? 1.0 : d[0] * scale;
    h[2] = 0.0;
    v[0] = -d[2] * h[1];
    v[1] = d[2] * h[0];
    v[2] = d[0] * h[1] - d[1] * h[0];
}

RESWEEP_MULTIVERSION void tangent_frames(const float* dx, const float* dy, const float* dz, float* hx, float* hy,
                                         float* vx, float* vy, float* vz, std::size_t count) {
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

// Turn unit vectors about z by an encoder's error, as `PulseMaker::add_pointing_error` does, for small steps.
RESWEEP_MULTIVERSION void turn_by_encoder(const std::uint32_t* words, double step, float* x, float* y, float* z,
                                          std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const double turn = (unit(words[i]) - 0.5) * step, c = small_cosine(turn), s = small_sine(turn);
        const double a = c * x[i] - s * y[i], b = s * x[i] + c * y[i], up = z[i];
        const double scale = 1.0 / std::sqrt(a * a + b * b + up * up);
        x[i] = static_cast<float>(a * scale);
        y[i] = static_cast<float>(b * scale);
        z[i] = static_cast<float>(up * scale);
    }
}

RESWEEP_MULTIVERSION void rotate_all(const float* m, float* x, float* y, float* z, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const float a = x[i], b = y[i], c = z[i];
        x[i] = m[0] * a + m[1] * b + m[2] * c;
        y[i] = m[3] * a + m[4] * b + m[5] * c;
        z[i] = m[6] * a + m[7] * b + m[8] * c;
    }
}

// The same with a rotation for each vector, one array per coefficient.
RESWEEP_MULTIVERSION void rotate_each(const float* const* m, float* x, float* y, float* z, std::size_t count) {
    const float *m0 = m[0], *m1 = m[1], *m2 = m[2], *m3 = m[3], *m4 = m[4], *m5 = m[5], *m6 = m[6], *m7 = m[7],
                *m8 = m[8];
    for (std::size_t i = 0; i < count; ++i) {
        const float a = x[i], b = y[i], c = z[i];
        x[i] = m0[i] * a + m1[i] * b + m2[i] * c;
        y[i] = m3[i] * a + m4[i] * b + m5[i] * c;
        z[i] = m6[i] * a + m7[i] * b + m8[i] * c;
    }
}

}  // namespace

Firing::Firing(const BeamColumns& beams, const std::int32_t* order, std::size_t n_pulses, const std::int32_t* chunk,
               std::size_t n_bounds)
    : time(n_pulses),
      beam(order, order + n_pulses),
      n_beams_(beams.count),
      reported_(beams.reported),
      origin_(beams.origin),
      ring_(beams.ring),
      chunk_(chunk, chunk + n_bounds),
      row_of_(beams.count, kNoRow),
      pulses_in_((beams.count + kBlock - 1) / kBlock, 0) {
    if (chunk_.empty() || chunk_.front() != 0 || static_cast<std::size_t>(chunk_.back()) != n_pulses ||
        !std::is_sorted(chunk_.begin(), chunk_.end()))
        throw std::invalid_argument("chunk: expected the ascending bounds of chunks that cover all pulses");
    if (largest_chunk() > kMaxChunk) throw std::invalid_argument("chunk: a chunk has more than 65,535 pulses");
    for (auto& axis : direction) axis.resize(n_pulses);
    for (std::size_t i = 0, own = 0; i < n_pulses; ++i) {
        while (i >= end(own)) ++own;
        const auto row = static_cast<std::size_t>(order[i]);
        if (order[i] < 0 || row >= beams.count) throw std::invalid_argument("order: a pulse is of no beam");
        if (row_of_[row] != kNoRow) throw std::invalid_argument("order: a beam is fired twice");
        ++pulses_in_[row / kBlock];
        row_of_[row] = static_cast<std::uint32_t>(first_row(own) + i - begin(own));
        for (std::size_t axis = 0; axis < 3; ++axis) direction[axis][i] = beams.direction[3 * row + axis];
        time[i] = beams.time[row];
    }
    find_runs();
}

void Firing::find_runs() {
    for (std::size_t chunk = 0; chunk < n_chunks(); ++chunk) {
        first_run_.push_back(runs_.size());
        for (std::size_t i = begin(chunk); i < end(chunk); ++i) {
            const auto block = static_cast<std::uint32_t>(static_cast<std::size_t>(beam[i]) / kBlock);
            if (i == begin(chunk) || runs_.back().block != block) runs_.push_back({block, 0});
            ++runs_.back().pulses;
        }
    }
    first_run_.push_back(runs_.size());
}

std::size_t Firing::largest_chunk() const {
    std::size_t largest = 0;
    for (std::size_t c = 0; c < n_chunks(); ++c) largest = std::max(largest, end(c) - begin(c));
    return largest;
}

void PulseBatch::resize(std::size_t size) {
    for (auto* axes : {origin, d, h, v})
        for (int i = 0; i < 3; ++i) axes[i].resize(size);
    beam.resize(size);
}

PulseMaker::PulseMaker(const FiredSweep& sweep, const Noise& noise, bool axial)
    : sweep_(sweep), noise_(noise), axial_(axial) {
    pointing_error_ = noise.encoder_step > 0.0 || noise.pointing_sigma_h > 0.0 || noise.pointing_sigma_v > 0.0;
}

void PulseMaker::make(std::size_t first, std::size_t last, PulseBatch& batch) {
    const Firing& firing = sweep_.firing;
    batch.count = last - first;
    for (std::size_t i = 0; i < batch.count; ++i) batch.beam[i] = static_cast<std::uint32_t>(firing.beam[first + i]);
    for (int axis = 0; axis < 3; ++axis)
        std::copy_n(firing.direction[axis].data() + first, batch.count, batch.d[axis].begin());
    if (pointing_error_) add_pointing_errors(batch);
    if (!axial_) {
        tangent_frames(batch.d[0].data(), batch.d[1].data(), batch.d[2].data(), batch.h[0].data(), batch.h[1].data(),
                       batch.v[0].data(), batch.v[1].data(), batch.v[2].data(), batch.count);
        std::fill_n(batch.h[2].begin(), batch.count, 0.0f);
    }
    to_world(first, batch);
}

// Transform the batch from the sensor's frame, at the time of each pulse, to the world's.
void PulseMaker::to_world(std::size_t first, PulseBatch& batch) {
    const Firing& firing = sweep_.firing;
    batch.one_origin = sweep_.motion.still() && !firing.origin();
    if (!sweep_.motion.still()) return place_moving(first, batch);
    double rotation[9], position[3];
    float turn[9];
    sweep_.motion.at(sweep_.start, rotation, position);
    std::copy(rotation, rotation + 9, turn);
    for (auto* axes : {batch.d, batch.h, batch.v}) {
        rotate_all(turn, axes[0].data(), axes[1].data(), axes[2].data(), batch.count);
        if (axial_) break;
    }
    const std::size_t origins = batch.one_origin ? 1 : batch.count;
    for (std::size_t i = 0; i < origins; ++i) {
        float offset[3] = {0.0f, 0.0f, 0.0f};
        if (firing.origin()) rotate(turn, firing.origin() + 3 * batch.beam[i], offset);
        for (int axis = 0; axis < 3; ++axis) batch.origin[axis][i] = static_cast<float>(position[axis] + offset[axis]);
    }
}

// The same for a sensor that moves: each pulse by the pose at its own time.
void PulseMaker::place_moving(std::size_t first, PulseBatch& batch) {
    const Firing& firing = sweep_.firing;
    find_poses(first, batch.count);
    const float* turn[9];
    for (int k = 0; k < 9; ++k) turn[k] = turn_[k].data();
    for (auto* axes : {batch.d, batch.h, batch.v}) {
        rotate_each(turn, axes[0].data(), axes[1].data(), axes[2].data(), batch.count);
        if (axial_) break;
    }
    for (int axis = 0; axis < 3; ++axis)
        for (std::size_t i = 0; i < batch.count; ++i) batch.origin[axis][i] = static_cast<float>(position_[axis][i]);
    if (!firing.origin()) return;
    for (std::size_t i = 0; i < batch.count; ++i) {
        float own[9], offset[3];
        for (int k = 0; k < 9; ++k) own[k] = turn_[k][i];
        rotate(own, firing.origin() + 3 * batch.beam[i], offset);
        for (int axis = 0; axis < 3; ++axis)
            batch.origin[axis][i] = static_cast<float>(position_[axis][i] + offset[axis]);
    }
}

// Find the poses at the firing times of the pulses from `first` on. Those of the last call are kept.
void PulseMaker::find_poses(std::size_t first, std::size_t count) {
    if (time_.size() < count) {
        time_.resize(count, std::numeric_limits<double>::quiet_NaN());
        for (auto& axis : position_) axis.resize(count);
        for (auto& coefficient : turn_) coefficient.resize(count);
    }
    const double* const times = sweep_.firing.time.data() + first;
    bool known = true;
    for (std::size_t i = 0; i < count; ++i) {
        const double time = sweep_.start + times[i];
        known &= time_[i] == time;
        time_[i] = time;
    }
    if (known) return;
    float* turn[9];
    double* position[3];
    for (int k = 0; k < 9; ++k) turn[k] = turn_[k].data();
    for (int axis = 0; axis < 3; ++axis) position[axis] = position_[axis].data();
    sweep_.motion.at(time_.data(), count, turn, position);
}

void PulseMaker::add_pointing_errors(PulseBatch& batch) {
    if (noise_.pointing_sigma_h == 0.0 && noise_.pointing_sigma_v == 0.0 && noise_.encoder_step <= kSmallAngle) {
        words_.resize(batch.count);
        first_words(sweep_.random, batch.beam.data(), batch.count, 0, Purpose::kPointing, words_.data());
        turn_by_encoder(words_.data(), noise_.encoder_step, batch.d[0].data(), batch.d[1].data(), batch.d[2].data(),
                        batch.count);
        return;
    }
    for (std::size_t i = 0; i < batch.count; ++i) {
        double d[3] = {batch.d[0][i], batch.d[1][i], batch.d[2][i]};
        add_pointing_error(batch.beam[i], d);
        for (int axis = 0; axis < 3; ++axis) batch.d[axis][i] = static_cast<float>(d[axis]);
    }
}

// Encoder and pointing error (A, section IV): the pulse leaves in another direction than the one reported.
void PulseMaker::add_pointing_error(std::uint32_t beam, double d[3]) const {
    const auto words = sweep_.random.words(beam, 0, Purpose::kPointing);
    const double turn = (unit(words[0]) - 0.5) * noise_.encoder_step;
    const bool small = noise_.encoder_step <= kSmallAngle;
    const double c = small ? small_cosine(turn) : std::cos(turn), s = small ? small_sine(turn) : std::sin(turn);
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

double pulse_spacing(const Firing& firing, std::size_t first, std::size_t last) {
    if (last - first < 2) return 0.0;
    const double ax = firing.direction[0][first], ay = firing.direction[1][first];
    const double bx = firing.direction[0][last - 1], by = firing.direction[1][last - 1];
    const double turn = std::atan2(ax * by - ay * bx, ax * bx + ay * by);
    return turn * std::sqrt(ax * ax + ay * ay) / static_cast<double>(last - first - 1);
}

}  // namespace resweep
