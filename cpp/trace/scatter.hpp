// How the sensor of a recording scatters about what its world predicts: intensities, ranges and lost beams, drawn for
// the returns of a sweep. tests/reference/scatter.py is the NumPy reference, to the byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/random.hpp"

namespace resweep {

// Bins of values: the bin of one is how many edges are not above it.
struct Bins {
    std::vector<float> edges;

    std::size_t count() const { return edges.size() + 1; }
    std::size_t find(float value) const {
        std::size_t bin = 0;
        for (const float edge : edges) bin += value >= edge;
        return bin;
    }
};

// Bins of incidence, by its cosine: the bin of one is how many of the limits are not below it.
struct CosineBins {
    std::vector<float> limits;

    std::size_t count() const { return limits.size() + 1; }
    std::size_t find(float cosine) const {
        std::size_t bin = 0;
        for (const float limit : limits) bin += cosine <= limit;
        return bin;
    }
};

// Distributions of recorded intensities by kind of primitive, range and expected intensity, and what lasers do to them.
struct IntensityTables {
    std::vector<std::int32_t> kinds;  // labels with tables of their own; two more stand for other surfaces and volumes
    Bins range;
    std::vector<std::int32_t> table_of;  // (kinds + 2, ranges)
    std::size_t knots = 0, columns = 0;  // of each table
    std::vector<std::int32_t> last;      // (tables): the last knot that is the table's own
    std::vector<double> expected;        // (tables, knots)
    std::vector<double> quantiles;       // (tables, knots, columns) at evenly spaced normal numbers
    double reach = 0.0;                  // the largest of these; the least is -reach
    std::size_t lasers = 0;
    std::vector<double> response;       // (lasers, ranges): reported over expected
    std::vector<double> shift, spread;  // (kinds + 2, lasers, ranges), of normal numbers
    std::vector<double> independent;    // (kinds + 2): spread of the normal numbers that are drawn
    double next_weight = 0.0;           // of a laser's number in its next one
    double step = 0.0, ceiling = 0.0;   // 0: none
};

// Sigma of ranges by range and incidence.
struct RangeTable {
    Bins range;
    CosineBins incidence;
    std::vector<double> sigma;  // (ranges, incidences)
    double step = 0.0;          // 0: none
};

// The chance that a return is lost by range, incidence and expected intensity.
struct LossTable {
    Bins range;
    CosineBins incidence;
    Bins intensity;
    std::vector<double> chance;  // (ranges, incidences, intensities)
};

// Columns (n) of the returns of a sweep. `cosine` may be null: then light hits everything head on. Beams (b) have a
// ring and a turn, which only intensities of known lasers read.
struct SweepReturns {
    std::size_t count = 0;
    const std::int32_t* beam = nullptr;
    const std::uint8_t* return_index = nullptr;
    const std::int32_t* label = nullptr;
    const bool* surface = nullptr;
    const float* range = nullptr;
    const float* intensity = nullptr;
    const float* cosine = nullptr;
    const std::uint16_t* ring = nullptr;
    const std::int32_t* turn = nullptr;
};

// Intensities (n) drawn about those of the returns, which are expected ones without gains. With the `gain` (n) of
// their lasers, these are those of the tables; without (null), only the scatter of surfaces is known.
void draw_intensities(const IntensityTables& tables, const Philox& random, const SweepReturns& returns,
                      const float* gain, int threads, float* out);

// Ranges (n) with noise.
void draw_ranges(const RangeTable& table, const Philox& random, const SweepReturns& returns, int threads, float* out);

// Marks the beams (b) of `gone` whose first return is lost. No volume loses any.
void draw_losses(const LossTable& table, const Philox& random, const SweepReturns& returns, int threads,
                 std::uint8_t* gone);

}  // namespace resweep
