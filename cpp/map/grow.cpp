#include "map/grow.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/parallel.hpp"
#include "map/neighbour_search.hpp"

namespace resweep {
namespace {

// A seed removes later seeds around it, which is sequential. So a block of leaves is taken in a few rounds: each round
// grows some points of every leaf in parallel, and then accepts them one after another. Few growths are rejected, and
// only the growths of one block are in memory.
constexpr std::size_t kBlock = 4096, kChunk = 32;  // leaves; blocks and rounds, chosen by hand, order the seeds
constexpr std::size_t kRounds = 4;                 // of a block

struct Growth {
    std::uint32_t at, count, n_removed;  // row of the seed in the tree; points included; seeds removed
    float shift, radius;
};

struct Chunk {
    std::vector<Growth> growths;
    std::vector<std::uint32_t> removed;  // rows in the tree of the seeds that each growth removes, growth by growth
    std::vector<float> values;
};

// Attributes of the points in the order of the tree, where neighbours are near each other in memory.
struct OrderedPoints {
    std::vector<float> normal, values;
    std::vector<std::int32_t> label;

    OrderedPoints(const KdTree& tree, const GrowthLimits& limits, int threads)
        : normal(3 * tree.size()), values(limits.n_values * tree.size()), label(tree.size()) {
        constexpr std::size_t kRows = 65536;
        parallel((tree.size() + kRows - 1) / kRows, threads, [&] {
            return [&](std::size_t chunk) {
                const std::size_t end = std::min(tree.size(), (chunk + 1) * kRows);
                for (std::size_t at = chunk * kRows; at < end; ++at) {
                    const std::size_t row = tree.order()[at];
                    std::copy_n(limits.normal + 3 * row, 3, normal.data() + 3 * at);
                    std::copy_n(limits.values + limits.n_values * row, limits.n_values,
                                values.data() + limits.n_values * at);
                    label[at] = limits.label[row];
                }
            };
        });
    }
};

class Grower {
  public:
    Grower(const KdTree& tree, const Extent& extent, const GrowthLimits& limits, const OrderedPoints& points,
           const std::vector<std::uint8_t>& is_seed)
        : tree_(tree), extent_(extent), limits_(limits), points_(points), is_seed_(is_seed), search_(tree) {}

    void grow_leaf(std::size_t leaf, std::size_t round, Chunk& chunk) {
        std::int32_t k = 0;
        float radius = 0.0f;
        const auto each = [&](auto&& work) {
            for (std::size_t at = tree_.begin(leaf) + round; at < tree_.end(leaf); at += kRounds)
                if (is_seed_[at]) work(at, tree_.order()[at]);
        };
        each([&](std::size_t, std::size_t row) {
            k = std::max(k, extent_.k[row]);
            radius = std::max(radius, extent_.radius[row]);
        });
        if (k == 0) return;
        search_.begin(leaf, static_cast<std::size_t>(k), radius);
        each([&](std::size_t at, std::size_t row) {
            search_.find(at, static_cast<std::size_t>(extent_.k[row]), extent_.radius[row]);
            grow_one(at, row, chunk);
        });
    }

  private:
    // Neighbours are included by distance until one does not fit: those whose keys are below the smallest key that
    // fails.
    void grow_one(std::size_t at, std::size_t row, Chunk& chunk) {
        const float* normal = &points_.normal[3 * at];
        if (normal[0] == 0.0f && normal[1] == 0.0f && normal[2] == 0.0f) return;
        search_.offsets(offsets_);
        const std::size_t size = search_.size();
        const float bound = limits_.bound[row] / static_cast<float>(tree_.step());
        const float *x = offsets_[0].data(), *y = offsets_[1].data(), *z = offsets_[2].data();
        Key stop = std::numeric_limits<Key>::max();
        off_.resize(std::max(size, off_.size()));
        for (std::size_t i = 0; i < size; ++i) {
            off_[i] = normal[0] * x[i] + normal[1] * y[i] + normal[2] * z[i];  // C, eq. 4
            if (!(std::fabs(off_[i]) <= bound)) stop = std::min(stop, search_.key(i));
        }
        // What takes a look-up in memory is checked last, for the few that are left.
        for (std::size_t i = 0; i < size; ++i) {
            if (search_.key(i) >= stop) continue;
            const std::size_t other = search_.at(i);
            const float* n = &points_.normal[3 * other];
            const float cosine = normal[0] * n[0] + normal[1] * n[1] + normal[2] * n[2];
            if (!(cosine > limits_.beta) || points_.label[other] != points_.label[at])
                stop = std::min(stop, search_.key(i));
        }
        Key last = 0;
        std::size_t last_i = size;
        double sum = 0.0;
        std::uint32_t count = 0;
        for (std::size_t i = 0; i < size; ++i) {
            if (search_.key(i) >= stop) continue;
            sum += off_[i];
            ++count;
            if (last_i == size || search_.key(i) > last) last = search_.key(i), last_i = i;
        }
        if (count < 2) return;
        const auto shift = static_cast<float>(sum / count);  // C, eq. 5
        const float along = off_[last_i];
        const float radius = std::hypot(x[last_i] - along * normal[0], y[last_i] - along * normal[1],
                                        z[last_i] - along * normal[2]);  // C, eq. 6
        if (!(radius > 0.0f)) return;
        const auto step = static_cast<float>(tree_.step());
        chunk.growths.push_back({static_cast<std::uint32_t>(at), count, remove_seeds(normal, shift, radius, chunk),
                                 shift * step, radius * step});
        average(stop, count, chunk);
    }

    // Neighbours within α r of the centre are no longer seeds. Returns how many.
    std::uint32_t remove_seeds(const float* normal, float shift, float radius, Chunk& chunk) {
        const float reach = limits_.alpha * radius, reach2 = reach * reach;
        std::uint32_t count = 0;
        for (std::size_t i = 0; i < search_.size(); ++i) {
            const float x = offsets_[0][i] - shift * normal[0], y = offsets_[1][i] - shift * normal[1],
                        z = offsets_[2][i] - shift * normal[2];
            if (x * x + y * y + z * z > reach2) continue;
            chunk.removed.push_back(static_cast<std::uint32_t>(search_.at(i)));
            ++count;
        }
        return count;
    }

    void average(Key stop, std::uint32_t count, Chunk& chunk) {
        const std::size_t width = limits_.n_values;
        if (width == 0) return;
        sums_.assign(width, 0.0);
        for (std::size_t i = 0; i < search_.size(); ++i)
            if (search_.key(i) < stop)
                for (std::size_t v = 0; v < width; ++v) sums_[v] += points_.values[search_.at(i) * width + v];
        for (const double sum : sums_) chunk.values.push_back(static_cast<float>(sum / count));
    }

    const KdTree& tree_;
    const Extent& extent_;
    const GrowthLimits& limits_;
    const OrderedPoints& points_;
    const std::vector<std::uint8_t>& is_seed_;
    NeighbourSearch search_;
    std::vector<float> offsets_[3], off_;
    std::vector<double> sums_;
};

// Accept the growths of a chunk whose seeds have not been removed.
void accept(const KdTree& tree, const Chunk& chunk, std::size_t n_values, std::vector<std::uint8_t>& is_seed,
            GrownSplats& grown) {
    std::size_t removed = 0, value = 0;
    for (const Growth& growth : chunk.growths) {
        if (is_seed[growth.at]) {
            grown.seed.push_back(static_cast<std::int32_t>(tree.order()[growth.at]));
            grown.count.push_back(static_cast<std::int32_t>(growth.count));
            grown.shift.push_back(growth.shift);
            grown.radius.push_back(growth.radius);
            for (std::size_t v = 0; v < n_values; ++v) grown.values.push_back(chunk.values[value + v]);
            for (std::size_t i = 0; i < growth.n_removed; ++i) is_seed[chunk.removed[removed + i]] = 0;
        }
        removed += growth.n_removed;
        value += n_values;
    }
}

}  // namespace

GrownSplats grow(const KdTree& tree, const Extent& extent, const GrowthLimits& limits, int requested) {
    const int threads = thread_count(requested);
    const OrderedPoints points(tree, limits, threads);
    std::vector<std::uint8_t> is_seed(tree.size(), 1);
    GrownSplats grown;
    for (std::size_t first = 0; first < tree.n_leaves(); first += kBlock) {
        const std::size_t last = std::min(tree.n_leaves(), first + kBlock),
                          n_chunks = (last - first + kChunk - 1) / kChunk;
        for (std::size_t round = 0; round < kRounds; ++round) {
            std::vector<Chunk> chunks(n_chunks);
            parallel(n_chunks, threads, [&] {
                return [&, grower = Grower(tree, extent, limits, points, is_seed)](std::size_t c) mutable {
                    const std::size_t end = std::min(last, first + (c + 1) * kChunk);
                    for (std::size_t leaf = first + c * kChunk; leaf < end; ++leaf)
                        grower.grow_leaf(leaf, round, chunks[c]);
                };
            });
            for (const Chunk& chunk : chunks) accept(tree, chunk, limits.n_values, is_seed, grown);
        }
    }
    return grown;
}

std::vector<std::int32_t> seed_order(const KdTree& tree) {
    std::vector<std::int32_t> order;
    order.reserve(tree.size());
    for (std::size_t first = 0; first < tree.n_leaves(); first += kBlock)
        for (std::size_t round = 0; round < kRounds; ++round)
            for (std::size_t leaf = first; leaf < std::min(tree.n_leaves(), first + kBlock); ++leaf)
                for (std::size_t at = tree.begin(leaf) + round; at < tree.end(leaf); at += kRounds)
                    order.push_back(static_cast<std::int32_t>(tree.order()[at]));
    return order;
}

}  // namespace resweep
