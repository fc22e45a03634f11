#include "map/tiles.hpp"

#include <algorithm>
#include <cmath>

#include "core/parallel.hpp"

namespace resweep {
namespace {

constexpr std::size_t kChunk = 8192;  // beams
constexpr double kMaxTiles = 4096.0;  // along one axis; a beam that crosses more has no true length; chosen by hand

// The part of a segment (parameter 0 to 1) from `from` by `step` that lies between `low` and `high` is cut out of
// [near, far]; false if nothing is left.
bool clip(double from, double step, double low, double high, double& near, double& far) {
    if (step == 0.0) return from >= low && from <= high;
    double first = (low - from) / step, last = (high - from) / step;
    if (first > last) std::swap(first, last);
    near = std::max(near, first);
    far = std::min(far, last);
    return near <= far;
}

void add_tiles(const BeamSegments& beams, std::size_t row, double size, double margin, TileCrossings& found) {
    if (!std::isfinite(beams.length[row])) return;
    double from[2], step[2];
    std::int32_t first[2], last[2];
    for (int axis = 0; axis < 2; ++axis) {
        from[axis] = beams.origin[3 * row + axis];
        step[axis] = double{beams.direction[3 * row + axis]} * beams.length[row];
        const double low = std::min(from[axis], from[axis] + step[axis]) - margin,
                     high = std::max(from[axis], from[axis] + step[axis]) + margin;
        if (!(high - low < kMaxTiles * size)) return;
        first[axis] = static_cast<std::int32_t>(std::floor(low / size));
        last[axis] = static_cast<std::int32_t>(std::floor(high / size));
    }
    for (std::int32_t x = first[0]; x <= last[0]; ++x)
        for (std::int32_t y = first[1]; y <= last[1]; ++y) {
            double near = 0.0, far = 1.0;
            if (!clip(from[0], step[0], x * size - margin, (x + 1) * size + margin, near, far)) continue;
            if (!clip(from[1], step[1], y * size - margin, (y + 1) * size + margin, near, far)) continue;
            found.beam.push_back(static_cast<std::int64_t>(row));
            found.x.push_back(x);
            found.y.push_back(y);
        }
}

bool is_over(const BeamSegments& beams, std::size_t row, const double low[2], const double high[2]) {
    if (!std::isfinite(beams.length[row])) return false;
    double near = 0.0, far = 1.0;
    for (int axis = 0; axis < 2; ++axis) {
        const double step = double{beams.direction[3 * row + axis]} * beams.length[row];
        if (!clip(beams.origin[3 * row + axis], step, low[axis], high[axis], near, far)) return false;
    }
    return true;
}

}  // namespace

std::vector<std::int64_t> beams_over(const BeamSegments& beams, const double low[2], const double high[2],
                                     int threads) {
    const std::size_t n_chunks = (beams.count + kChunk - 1) / kChunk;
    std::vector<std::vector<std::int64_t>> parts(n_chunks);
    parallel(n_chunks, thread_count(threads), [&] {
        return [&](std::size_t chunk) {
            const std::size_t end = std::min(beams.count, (chunk + 1) * kChunk);
            for (std::size_t row = chunk * kChunk; row < end; ++row)
                if (is_over(beams, row, low, high)) parts[chunk].push_back(static_cast<std::int64_t>(row));
        };
    });
    std::vector<std::int64_t> found;
    for (const auto& part : parts) found.insert(found.end(), part.begin(), part.end());
    return found;
}

TileCrossings tiles_of_beams(const BeamSegments& beams, double size, double margin, int threads) {
    const std::size_t n_chunks = (beams.count + kChunk - 1) / kChunk;
    std::vector<TileCrossings> parts(n_chunks);
    parallel(n_chunks, thread_count(threads), [&] {
        return [&](std::size_t chunk) {
            const std::size_t end = std::min(beams.count, (chunk + 1) * kChunk);
            for (std::size_t row = chunk * kChunk; row < end; ++row) add_tiles(beams, row, size, margin, parts[chunk]);
        };
    });
    TileCrossings found;
    for (const TileCrossings& part : parts) {
        found.beam.insert(found.beam.end(), part.beam.begin(), part.beam.end());
        found.x.insert(found.x.end(), part.x.begin(), part.x.end());
        found.y.insert(found.y.end(), part.y.begin(), part.y.end());
    }
    return found;
}

}  // namespace resweep
