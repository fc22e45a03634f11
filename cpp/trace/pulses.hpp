// The pulses of a sweep: when and where the sensor fires them, and their axes in the world.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/motion.hpp"
#include "core/random.hpp"
#include "trace/noise.hpp"

namespace resweep {

// The beams of a sweep by row. The arrays belong to the caller; `reported`, `origin` and `ring`
// outlive the firing.
struct BeamColumns {
    const float* direction;  // (b, 3) unit vectors in the sensor's frame, along which pulses leave
    const double* time;      // (b,) seconds from the start of the sweep
    const float* reported;   // (b, 3) unit vectors as the sensor reports them
    const float* origin;     // (b, 3) in the sensor's frame, or null
    std::size_t count;
    const std::int32_t* ring = nullptr;  // (b,), or null where lasers are alike
};

// The pulses of a sweep in the order in which they are traced, in chunks of neighbours. Beams without a pulse are not
// traced: they are dropped.
class Firing {
  public:
    // `order` (n,) are the rows of the beams to fire, `chunk` (c,) where each chunk of them begins, and the end. Throws
    // std::invalid_argument if these do not fit the beams.
    Firing(const BeamColumns& beams, const std::int32_t* order, std::size_t n_pulses, const std::int32_t* chunk,
           std::size_t n_bounds);

    std::size_t n_beams() const { return n_beams_; }
    std::size_t n_pulses() const { return beam.size(); }
    std::size_t n_chunks() const { return chunk_.size() - 1; }
    std::size_t begin(std::size_t chunk) const { return static_cast<std::size_t>(chunk_[chunk]); }
    std::size_t end(std::size_t chunk) const { return static_cast<std::size_t>(chunk_[chunk + 1]); }
    std::size_t largest_chunk() const;

    // Where the results of pulses are kept: those of a chunk follow each other from row `first_row` on. Between chunks
    // rows are left out, so that pulses of one column, a chunk apart, do not compete for the same lines of a cache.
    static constexpr std::size_t kSpareRows = 2;
    std::size_t first_row(std::size_t chunk) const { return begin(chunk) + kSpareRows * chunk; }
    std::size_t n_rows() const { return n_pulses() + kSpareRows * n_chunks(); }

    // Beams are gathered in blocks of so many; of how many in a block there are pulses.
    static constexpr std::size_t kBlock = 4096;
    std::size_t n_blocks() const { return pulses_in_.size(); }
    std::uint32_t pulses_in(std::size_t block) const { return pulses_in_[block]; }

    // Pulses of a chunk that follow each other and are of beams of one block.
    struct Run {
        std::uint32_t block, pulses;
    };
    std::span<const Run> runs(std::size_t chunk) const {
        return {runs_.data() + first_run_[chunk], runs_.data() + first_run_[chunk + 1]};
    }

    // The row of each beam (b,); `kNoRow` of one that is not fired.
    static constexpr std::uint32_t kNoRow = 0xFFFFFFFFu;
    const std::uint32_t* rows() const { return row_of_.data(); }
    const float* origin() const { return origin_; }
    const float* reported() const { return reported_; }
    std::size_t ring(std::size_t of_beam) const { return ring_ ? static_cast<std::size_t>(ring_[of_beam]) : 0; }

    // By pulse, in the order of tracing.
    std::vector<float> direction[3];
    std::vector<double> time;
    std::vector<std::int32_t> beam;

  private:
    std::size_t n_beams_;
    const float *reported_, *origin_;
    const std::int32_t* ring_;
    std::vector<std::int32_t> chunk_;
    std::vector<std::uint32_t> row_of_, pulses_in_;
    std::vector<Run> runs_;
    std::vector<std::size_t> first_run_;  // of each chunk, and the end

    void find_runs();
};

// What is fired: the pulses of a sensor that moves so, the first second of the sweep, and the random numbers of the
// sweep.
struct FiredSweep {
    const Firing& firing;
    const Motion& motion;
    double start;
    Philox random;
};

// Neighbouring pulses in the world, one array per coordinate: origins, axes d, and the directions h and v across them,
// all unit vectors.
struct PulseBatch {
    std::vector<float> origin[3], d[3], h[3], v[3];
    std::vector<std::uint32_t> beam;
    std::size_t count = 0;
    bool one_origin = true;  // all origins are that of the first

    void resize(std::size_t count);
};

class PulseMaker {
  public:
    // `axial`: every ray lies on the axis of its pulse, so h and v are left out.
    PulseMaker(const FiredSweep& sweep, const Noise& noise, bool axial);

    // The pulses first..last-1 in the order of tracing.
    void make(std::size_t first, std::size_t last, PulseBatch& batch);

  private:
    void add_pointing_errors(PulseBatch& batch);
    void add_pointing_error(std::uint32_t beam, double direction[3]) const;
    void to_world(std::size_t first, PulseBatch& batch);
    void place_moving(std::size_t first, PulseBatch& batch);
    void find_poses(std::size_t first, std::size_t count);

    const FiredSweep& sweep_;
    const Noise& noise_;
    bool pointing_error_, axial_;
    // Poses of a moving sensor at the firing times of the last batch: the rings of a column fire at one time, and
    // neighbouring chunks are rings over the same columns.
    std::vector<double> time_, position_[3];
    std::vector<float> turn_[9];
    std::vector<std::uint32_t> words_;
};

// Mean angle, radians, from one pulse to the next, leftwards, of the pulses first..last-1.
double pulse_spacing(const Firing& firing, std::size_t first, std::size_t last);

}  // namespace resweep
