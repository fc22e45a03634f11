#include "trace/scatter.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/parallel.hpp"

namespace resweep {
namespace {

constexpr std::size_t kChunk = 8192, kBlock = 256;  // returns that a thread takes, and that are drawn at once
constexpr std::uint32_t kRay = 1;                   // ray 0 of a beam has the sensor's own noise
constexpr int kReturnShift = 26;  // bits of the number of a beam; further returns of it have numbers of their own
constexpr double kMinRange = 1e-3;

// From 0 to `most`, without a branch.
double clip(double value, double most) {
    value = value > 0.0 ? value : 0.0;
    return value < most ? value : most;
}

// Calls `work(first, last)` for all of `count`, chunk by chunk.
template <class Work> void each_chunk(std::size_t count, int threads, const Work& work) {
    const std::size_t chunks = (count + kChunk - 1) / kChunk;
    const auto make = [&] {
        return [&](std::size_t chunk) { work(chunk * kChunk, std::min(count, (chunk + 1) * kChunk)); };
    };
    parallel(chunks, chunks < 2 ? 1 : thread_count(threads), make);
}

// A standard normal number for each return.
std::vector<double> draw_numbers(const Philox& random, const SweepReturns& returns, int threads) {
    std::vector<double> drawn(returns.count);
    each_chunk(returns.count, threads, [&](std::size_t first, std::size_t last) {
        std::uint32_t number[kBlock];
        for (std::size_t begin = first; begin < last; begin += kBlock) {
            const std::size_t size = std::min(kBlock, last - begin);
            for (std::size_t k = 0; k < size; ++k)
                number[k] = static_cast<std::uint32_t>(returns.beam[begin + k]) |
                            static_cast<std::uint32_t>(returns.return_index[begin + k]) << kReturnShift;
            normals(random, number, size, kRay, Purpose::kIntensityNoise, drawn.data() + begin);
        }
    });
    return drawn;
}

// The returns in the order in which each ring fired them; empty if they lie so. Those of one ring and turn stay.
std::vector<std::uint32_t> order_along_rings(const SweepReturns& returns) {
    const auto key = [&](std::size_t i) {
        const std::int32_t beam = returns.beam[i];
        return static_cast<std::uint64_t>(returns.ring[beam]) << 32 |
               (static_cast<std::uint32_t>(returns.turn[beam]) ^ 0x80000000u);
    };
    std::vector<std::uint64_t> keys(returns.count);
    for (std::size_t i = 0; i < returns.count; ++i) keys[i] = key(i);
    if (std::is_sorted(keys.begin(), keys.end())) return {};
    std::vector<std::size_t> begin(65537);
    for (const std::uint64_t own : keys) ++begin[(own >> 32) + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
    std::vector<std::uint32_t> order(returns.count);
    for (std::size_t i = 0; i < returns.count; ++i) order[next[keys[i] >> 32]++] = static_cast<std::uint32_t>(i);
    const auto before = [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; };
    for (std::size_t ring = 0; ring + 1 < begin.size(); ++ring) {
        const auto from = order.begin() + static_cast<std::ptrdiff_t>(begin[ring]);
        const auto to = order.begin() + static_cast<std::ptrdiff_t>(begin[ring + 1]);
        if (!std::is_sorted(from, to, before)) std::stable_sort(from, to, before);
    }
    return order;
}

std::size_t find_kind(const IntensityTables& tables, std::int32_t label, bool surface) {
    const auto found = std::find(tables.kinds.begin(), tables.kinds.end(), label);
    if (found != tables.kinds.end()) return static_cast<std::size_t>(found - tables.kinds.begin());
    return tables.kinds.size() + (surface ? 0 : 1);
}

// The intensity at a normal number of a table about an expected one. Beyond its ends the last row is scaled.
double read(const IntensityTables& tables, std::size_t which, double expected, double normal) {
    const double* knots = tables.expected.data() + which * tables.knots;
    std::size_t low = 0;
    for (std::size_t at = 1; at + 1 < tables.knots; ++at) low += expected >= knots[at];
    low = std::min(low, static_cast<std::size_t>(std::max(tables.last[which] - 1, 0)));
    const std::size_t high = std::min(low + 1, tables.knots - 1);
    const double between = knots[high] > knots[low] ? knots[high] - knots[low] : 1.0;
    const double within = std::min(std::max(expected, knots[low]), std::max(knots[low], knots[high]));
    const double factor = within > 0.0 ? expected / within : 1.0;
    const double part = (within - knots[low]) / between;
    const auto most = static_cast<double>(tables.columns - 1);
    const double along = clip((normal + tables.reach) * (most / (2.0 * tables.reach)), most);
    const std::size_t column = std::min(static_cast<std::size_t>(along), tables.columns - 2);
    const double rest = along - static_cast<double>(column);
    const auto at = [&](std::size_t knot) {
        const double* cell = tables.quantiles.data() + (which * tables.knots + knot) * tables.columns + column;
        return cell[0] + rest * (cell[1] - cell[0]);
    };
    const double below = at(low), above = at(high);
    return factor * (below + part * (above - below));
}

// The intensity of return `i` of which a normal number was drawn; `gain` is null where its laser is unknown.
float scatter(const IntensityTables& tables, const SweepReturns& returns, std::size_t i, std::size_t kind,
              double normal, const float* gain) {
    const std::size_t bin = tables.range.find(returns.range[i]), bins = tables.range.count();
    double expected = returns.intensity[i];
    normal *= tables.independent[kind];
    const std::size_t ring = gain != nullptr ? returns.ring[returns.beam[i]] : tables.lasers;
    if (ring < tables.lasers) {
        expected *= tables.response[ring * bins + bin];
        const std::size_t cell = (kind * tables.lasers + ring) * bins + bin;
        normal = tables.shift[cell] + tables.spread[cell] * normal;
    }
    const auto which = static_cast<std::size_t>(tables.table_of[kind * bins + bin]);
    double drawn = read(tables, which, expected, normal);
    if (gain != nullptr) drawn *= gain[i];
    if (tables.step != 0.0) drawn = std::nearbyint(drawn / tables.step) * tables.step;
    if (tables.ceiling != 0.0) drawn = std::min(drawn, tables.ceiling);
    return static_cast<float>(drawn);
}

}  // namespace

void draw_intensities(const IntensityTables& tables, const Philox& random, const SweepReturns& returns,
                      const float* gain, int threads, float* out) {
    const std::vector<double> normal = draw_numbers(random, returns, threads);
    const double weight = gain != nullptr && tables.lasers > 0 ? tables.next_weight : 0.0;
    const std::vector<std::uint32_t> order = weight != 0.0 ? order_along_rings(returns) : std::vector<std::uint32_t>{};
    const double size = std::sqrt(1.0 + weight * weight);
    each_chunk(returns.count, threads, [&](std::size_t first, std::size_t last) {
        // Neighbours mostly have one label, whose kind is looked for once.
        std::int32_t label = 0;
        bool surface = true;
        std::size_t kind = find_kind(tables, label, surface);
        for (std::size_t place = first; place < last; ++place) {
            const std::size_t i = order.empty() ? place : order[place];
            double own = normal[i];
            if (weight != 0.0 && place > 0)
                own = (own + weight * normal[order.empty() ? place - 1 : order[place - 1]]) / size;
            if (returns.label[i] != label || returns.surface[i] != surface) {
                label = returns.label[i];
                surface = returns.surface[i];
                kind = find_kind(tables, label, surface);
            }
            out[i] = scatter(tables, returns, i, kind, own, gain);
        }
    });
}

void draw_ranges(const RangeTable& table, const Philox& random, const SweepReturns& returns, int threads, float* out) {
    each_chunk(returns.count, threads, [&](std::size_t first, std::size_t last) {
        std::uint32_t number[kBlock];
        double drawn[kBlock];
        for (std::size_t begin = first; begin < last; begin += kBlock) {
            const std::size_t size = std::min(kBlock, last - begin);
            for (std::size_t k = 0; k < size; ++k) number[k] = static_cast<std::uint32_t>(returns.beam[begin + k]);
            normals(random, number, size, kRay, Purpose::kRangeNoise, drawn);
            for (std::size_t k = 0; k < size; ++k) {
                const std::size_t i = begin + k;
                const float cosine = returns.cosine != nullptr ? returns.cosine[i] : 1.0f;
                const std::size_t cell =
                    table.range.find(returns.range[i]) * table.incidence.count() + table.incidence.find(cosine);
                const double sigma = returns.surface[i] ? table.sigma[cell] : 0.0;
                double noisy = std::max(returns.range[i] + sigma * drawn[k], kMinRange);
                if (table.step != 0.0) noisy = std::nearbyint(noisy / table.step) * table.step;
                out[i] = static_cast<float>(noisy);
            }
        }
    });
}

void draw_losses(const LossTable& table, const Philox& random, const SweepReturns& returns, int threads,
                 std::uint8_t* gone) {
    each_chunk(returns.count, threads, [&](std::size_t first, std::size_t last) {
        std::uint32_t number[kBlock], word[kBlock];
        for (std::size_t begin = first; begin < last; begin += kBlock) {
            const std::size_t size = std::min(kBlock, last - begin);
            for (std::size_t k = 0; k < size; ++k) number[k] = static_cast<std::uint32_t>(returns.beam[begin + k]);
            first_words(random, number, size, 0, Purpose::kRaydrop, word);
            for (std::size_t k = 0; k < size; ++k) {
                const std::size_t i = begin + k;
                if (returns.return_index[i] != 0 || !returns.surface[i]) continue;
                const float cosine = returns.cosine != nullptr ? returns.cosine[i] : 1.0f;
                const std::size_t row =
                    table.range.find(returns.range[i]) * table.incidence.count() + table.incidence.find(cosine);
                const std::size_t cell = row * table.intensity.count() + table.intensity.find(returns.intensity[i]);
                if (unit(word[k]) < table.chance[cell]) gone[returns.beam[i]] = 1;
            }
        }
    });
}

}  // namespace resweep
