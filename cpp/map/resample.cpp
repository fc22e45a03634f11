#include "map/resample.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/parallel.hpp"
#include "core/random.hpp"
#include "map/neighbour_search.hpp"

namespace resweep {
namespace {

constexpr std::size_t kLeavesPerChunk = 64, kRows = 65536, kShards = 16;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void join_leaf(const KdTree& tree, const JoinLimits& limits, std::size_t leaf, NeighbourSearch& search,
               JoinedPairs& joined) {
    const auto k = static_cast<std::size_t>(limits.k);
    bool begun = false;
    for (std::size_t at = tree.begin(leaf); at < tree.end(leaf); ++at) {
        const std::size_t row = tree.order()[at];
        std::int32_t wanted = limits.missing[row];
        if (wanted <= 0) continue;
        if (!begun) search.begin(leaf, k, limits.radius);
        begun = true;
        search.find(at, k, limits.radius);
        search.sort();
        const float* n = limits.normal + 3 * row;
        for (std::size_t i = search.size(); i-- > 0 && wanted > 0;) {
            const std::size_t other = tree.order()[search.at(i)];
            const float* m = limits.normal + 3 * other;
            if (other == row || limits.kind[other] != limits.kind[row]) continue;
            if (!(n[0] * m[0] + n[1] * m[1] + n[2] * m[2] > limits.beta)) continue;
            joined.first.push_back(static_cast<std::int32_t>(row));
            joined.second.push_back(static_cast<std::int32_t>(other));
            --wanted;
        }
    }
}

// For each of `points` the mixed number of its cell, which is never 0.
void number_cells(const float* points, std::size_t count, const double (&low)[3], const std::uint64_t (&extent)[3],
                  double size, int threads, std::uint64_t* out) {
    parallel((count + kRows - 1) / kRows, threads, [&] {
        return [&](std::size_t chunk) {
            for (std::size_t i = chunk * kRows; i < std::min(count, (chunk + 1) * kRows); ++i) {
                std::uint64_t cell = 0;
                for (int a = 0; a < 3; ++a)
                    cell = cell * extent[a] + static_cast<std::uint64_t>((points[3 * i + a] - low[a]) / size);
                out[i] = mix64(cell + 1);
            }
        };
    });
}

// A set of mixed numbers, none of them 0.
class NumberSet {
  public:
    // False if the number was in the set already.
    bool insert(std::uint64_t number) {
        if (2 * ++size_ > slots_.size()) {
            std::vector<std::uint64_t> before(2 * slots_.size(), 0);
            before.swap(slots_);
            for (const std::uint64_t one : before)
                if (one != 0) *slot_of(one) = one;
        }
        std::uint64_t* slot = slot_of(number);
        if (*slot == number) {
            --size_;
            return false;
        }
        *slot = number;
        return true;
    }

  private:
    // The slot of the number, or the free slot for it.
    std::uint64_t* slot_of(std::uint64_t number) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t slot = (number / kShards) & mask;
        while (slots_[slot] != 0 && slots_[slot] != number) slot = (slot + 1) & mask;
        return &slots_[slot];
    }

    std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(1024, 0);
    std::size_t size_ = 0;
};

}  // namespace

JoinedPairs join(const KdTree& tree, const JoinLimits& limits, int threads) {
    const std::size_t n_chunks = (tree.n_leaves() + kLeavesPerChunk - 1) / kLeavesPerChunk;
    std::vector<JoinedPairs> parts(n_chunks);
    parallel(n_chunks, thread_count(threads), [&] {
        return [&, search = NeighbourSearch(tree)](std::size_t chunk) mutable {
            const std::size_t end = std::min(tree.n_leaves(), (chunk + 1) * kLeavesPerChunk);
            for (std::size_t leaf = chunk * kLeavesPerChunk; leaf < end; ++leaf)
                join_leaf(tree, limits, leaf, search, parts[chunk]);
        };
    });
    JoinedPairs joined;
    for (JoinedPairs& part : parts) {
        joined.first.insert(joined.first.end(), part.first.begin(), part.first.end());
        joined.second.insert(joined.second.end(), part.second.begin(), part.second.end());
        part = {};
    }
    return joined;
}

std::vector<std::int64_t> in_free_cells(const float* taken, std::size_t n, const float* points, std::size_t m,
                                        double size, int requested) {
    const int threads = thread_count(requested);
    double low[3];
    std::uint64_t extent[3];
    for (int a = 0; a < 3; ++a) {
        double high = -kInfinity;
        low[a] = kInfinity;
        const auto span = [&](double value) { low[a] = std::min(low[a], value), high = std::max(high, value); };
        for (std::size_t i = 0; i < n; ++i) span(taken[3 * i + a]);
        for (std::size_t i = 0; i < m; ++i) span(points[3 * i + a]);
        extent[a] = n + m > 0 ? static_cast<std::uint64_t>((high - low[a]) / size) + 1 : 1;
    }
    std::vector<std::uint64_t> cells(n + m);
    number_cells(taken, n, low, extent, size, threads, cells.data());
    number_cells(points, m, low, extent, size, threads, cells.data() + n);
    // Each shard takes the cells of some numbers: it goes through all points in order and skips those of other shards.
    std::vector<std::uint8_t> fresh(m, 0);
    parallel(kShards, threads, [&] {
        return [&](std::size_t shard) {
            NumberSet known;
            for (std::size_t i = 0; i < n + m; ++i)
                if (cells[i] % kShards == shard && known.insert(cells[i]) && i >= n) fresh[i - n] = 1;
        };
    });
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i < m; ++i)
        if (fresh[i]) rows.push_back(static_cast<std::int64_t>(i));
    return rows;
}

}  // namespace resweep
