// New points between sparse splats: which ones to join, and which of the points between them to keep (C, 3.4).
#include <algorithm>
#include <cmath>
#include <limits>

#include "map/neighbour_search.hpp"
#include "map/neighbours.hpp"
#include "core/parallel.hpp"

namespace resweep {
namespace {

constexpr std::size_t kLeavesAChunk = 64, kRows = 65536, kShards = 16;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void join_leaf(const KdTree& tree, const Joining& joining, std::size_t leaf, Neighbourhood& near, Joined& joined) {
    const auto k = static_cast<std::size_t>(joining.k);
    bool begun = false;
    for (std::size_t at = tree.begin(leaf); at < tree.end(leaf); ++at) {
        const std::size_t row = tree.order()[at];
        std::int32_t wanted = joining.missing[row];
        if (wanted <= 0) continue;
        if (!begun) near.begin(leaf, k, joining.radius);
        begun = true;
        near.find(at, k, joining.radius);
        near.sort();
        const float* n = joining.normal + 3 * row;
        for (std::size_t i = near.size(); i-- > 0 && wanted > 0;) {
            const std::size_t other = tree.order()[near.at(i)];
            const float* m = joining.normal + 3 * other;
            if (other == row || joining.kind[other] != joining.kind[row]) continue;
            if (!(n[0] * m[0] + n[1] * m[1] + n[2] * m[2] > joining.beta)) continue;
            joined.first.push_back(static_cast<std::int32_t>(row));
            joined.second.push_back(static_cast<std::int32_t>(other));
            --wanted;
        }
    }
}

std::uint64_t mixed(std::uint64_t number) {
    // The finaliser of SplitMix64 (Steele et al. 2014): one to one, and 0 for 0 only.
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9u;
    number = (number ^ (number >> 27)) * 0x94D049BB133111EBu;
    return number ^ (number >> 31);
}

// For each of `points` a number that is that of its cell alone, mixed and not 0.
void number_cells(const float* points, std::size_t count, const double (&low)[3], const std::uint64_t (&extent)[3],
                  double size, int threads, std::uint64_t* out) {
    parallel((count + kRows - 1) / kRows, threads, [&] {
        return [&](std::size_t chunk) {
            for (std::size_t i = chunk * kRows; i < std::min(count, (chunk + 1) * kRows); ++i) {
                std::uint64_t cell = 0;
                for (int a = 0; a < 3; ++a)
                    cell = cell * extent[a] + static_cast<std::uint64_t>((points[3 * i + a] - low[a]) / size);
                out[i] = mixed(cell + 1);
            }
        };
    });
}

// A set of mixed numbers that are not 0.
class Numbers {
  public:
    // False if it was in the set already.
    bool insert(std::uint64_t number) {
        if (2 * ++size_ > slots_.size()) {
            std::vector<std::uint64_t> before(2 * slots_.size(), 0);
            before.swap(slots_);
            for (const std::uint64_t one : before)
                if (one != 0) *place(one) = one;
        }
        std::uint64_t* slot = place(number);
        if (*slot == number) {
            --size_;
            return false;
        }
        *slot = number;
        return true;
    }

  private:
    // Where the number is, or may be put.
    std::uint64_t* place(std::uint64_t number) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t slot = (number / kShards) & mask;
        while (slots_[slot] != 0 && slots_[slot] != number) slot = (slot + 1) & mask;
        return &slots_[slot];
    }

    std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(1024, 0);
    std::size_t size_ = 0;
};

}  // namespace

Joined join(const KdTree& tree, const Joining& joining, int threads) {
    const std::size_t n_chunks = (tree.n_leaves() + kLeavesAChunk - 1) / kLeavesAChunk;
    std::vector<Joined> parts(n_chunks);
    parallel(n_chunks, thread_count(threads), [&] {
        return [&, near = Neighbourhood(tree)](std::size_t chunk) mutable {
            const std::size_t end = std::min(tree.n_leaves(), (chunk + 1) * kLeavesAChunk);
            for (std::size_t leaf = chunk * kLeavesAChunk; leaf < end; ++leaf)
                join_leaf(tree, joining, leaf, near, parts[chunk]);
        };
    });
    Joined joined;
    for (Joined& part : parts) {
        joined.first.insert(joined.first.end(), part.first.begin(), part.first.end());
        joined.second.insert(joined.second.end(), part.second.begin(), part.second.end());
        part = {};
    }
    return joined;
}

std::vector<std::int64_t> in_free_cells(const float* taken, std::size_t n, const float* points, std::size_t m,
                                        double size, int asked) {
    const int threads = thread_count(asked);
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
    // Cells are shared out by their number: each shard goes through all points in order and minds its own.
    std::vector<std::uint8_t> fresh(m, 0);
    parallel(kShards, threads, [&] {
        return [&](std::size_t shard) {
            Numbers known;
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
