// Growing of splats over the neighbourhoods of their seeds: C, 3.1 and 3.2.
#include <algorithm>
#include <cmath>
#include <limits>

#include "map/neighbour_search.hpp"
#include "map/neighbours.hpp"
#include "core/parallel.hpp"

namespace resweep {
namespace {

// Seeds clear their surroundings of later seeds, which is sequential. A block of leaves is taken in a few rounds:
// every round grows some points of every leaf, all at once, and then accepts them one after another.
// Few growths are in vain, and only a block's growths are kept at a time.
constexpr std::size_t kBlock = 4096, kChunk = 32;  // leaves
constexpr std::size_t kRounds = 4;

struct Growth {
    std::uint32_t at, count, n_cleared;  // the seed's row in the tree
    float shift, radius;
};

struct Chunk {
    std::vector<Growth> growths;
    std::vector<std::uint32_t> cleared;  // rows in the tree, those of each growth after those of the one before
    std::vector<float> values;
};

// What is asked of neighbours, in the order of the tree, where neighbours are near each other in memory.
struct Points {
    std::vector<float> normal, values;
    std::vector<std::int32_t> label;

    Points(const KdTree& tree, const Growing& growing, int threads)
        : normal(3 * tree.size()), values(growing.n_values * tree.size()), label(tree.size()) {
        constexpr std::size_t kRows = 65536;
        parallel((tree.size() + kRows - 1) / kRows, threads, [&] {
            return [&](std::size_t chunk) {
                const std::size_t end = std::min(tree.size(), (chunk + 1) * kRows);
                for (std::size_t at = chunk * kRows; at < end; ++at) {
                    const std::size_t row = tree.order()[at];
                    std::copy_n(growing.normal + 3 * row, 3, normal.data() + 3 * at);
                    std::copy_n(growing.values + growing.n_values * row, growing.n_values,
                                values.data() + growing.n_values * at);
                    label[at] = growing.label[row];
                }
            };
        });
    }
};

class Grower {
  public:
    Grower(const KdTree& tree, const Extent& extent, const Growing& growing, const Points& points,
           const std::vector<std::uint8_t>& alive)
        : tree_(tree), extent_(extent), growing_(growing), points_(points), alive_(alive), near_(tree) {}

    void grow_leaf(std::size_t leaf, std::size_t round, Chunk& chunk) {
        std::int32_t k = 0;
        float radius = 0.0f;
        const auto each = [&](auto&& work) {
            for (std::size_t at = tree_.begin(leaf) + round; at < tree_.end(leaf); at += kRounds)
                if (alive_[at]) work(at, tree_.order()[at]);
        };
        each([&](std::size_t, std::size_t row) {
            k = std::max(k, extent_.k[row]);
            radius = std::max(radius, extent_.radius[row]);
        });
        if (k == 0) return;
        near_.begin(leaf, static_cast<std::size_t>(k), radius);
        each([&](std::size_t at, std::size_t row) {
            near_.find(at, static_cast<std::size_t>(extent_.k[row]), extent_.radius[row]);
            grow_one(at, row, chunk);
        });
    }

  private:
    // Neighbours come in by distance until one fails: those whose keys are below the least key that fails.
    void grow_one(std::size_t at, std::size_t row, Chunk& chunk) {
        const float* normal = &points_.normal[3 * at];
        if (normal[0] == 0.0f && normal[1] == 0.0f && normal[2] == 0.0f) return;
        near_.offsets(offsets_);
        const std::size_t size = near_.size();
        const float bound = growing_.bound[row] / static_cast<float>(tree_.step());
        const float *x = offsets_[0].data(), *y = offsets_[1].data(), *z = offsets_[2].data();
        Key stop = std::numeric_limits<Key>::max();
        off_.resize(std::max(size, off_.size()));
        for (std::size_t i = 0; i < size; ++i) {
            off_[i] = normal[0] * x[i] + normal[1] * y[i] + normal[2] * z[i];  // C, eq. 4
            if (!(std::fabs(off_[i]) <= bound)) stop = std::min(stop, near_.key(i));
        }
        // Only then what must be fetched, for the few that are still to come in.
        for (std::size_t i = 0; i < size; ++i) {
            if (near_.key(i) >= stop) continue;
            const std::size_t other = near_.at(i);
            const float* n = &points_.normal[3 * other];
            const float cosine = normal[0] * n[0] + normal[1] * n[1] + normal[2] * n[2];
            if (!(cosine > growing_.beta) || points_.label[other] != points_.label[at])
                stop = std::min(stop, near_.key(i));
        }
        Key last = 0;
        std::size_t last_i = size;
        double sum = 0.0;
        std::uint32_t count = 0;
        for (std::size_t i = 0; i < size; ++i) {
            if (near_.key(i) >= stop) continue;
            sum += off_[i];
            ++count;
            if (last_i == size || near_.key(i) > last) last = near_.key(i), last_i = i;
        }
        if (count < 2) return;
        const auto shift = static_cast<float>(sum / count);  // C, eq. 5
        const float along = off_[last_i];
        const float radius = std::hypot(x[last_i] - along * normal[0], y[last_i] - along * normal[1],
                                        z[last_i] - along * normal[2]);  // C, eq. 6
        if (!(radius > 0.0f)) return;
        const auto step = static_cast<float>(tree_.step());
        chunk.growths.push_back(
            {static_cast<std::uint32_t>(at), count, clear(normal, shift, radius, chunk), shift * step, radius * step});
        average(stop, count, chunk);
    }

    // The neighbours inside the sphere of α r about the centre will not be seeds.
    std::uint32_t clear(const float* normal, float shift, float radius, Chunk& chunk) {
        const float reach = growing_.alpha * radius, reach2 = reach * reach;
        std::uint32_t count = 0;
        for (std::size_t i = 0; i < near_.size(); ++i) {
            const float x = offsets_[0][i] - shift * normal[0], y = offsets_[1][i] - shift * normal[1],
                        z = offsets_[2][i] - shift * normal[2];
            if (x * x + y * y + z * z > reach2) continue;
            chunk.cleared.push_back(static_cast<std::uint32_t>(near_.at(i)));
            ++count;
        }
        return count;
    }

    void average(Key stop, std::uint32_t count, Chunk& chunk) {
        const std::size_t width = growing_.n_values;
        if (width == 0) return;
        sums_.assign(width, 0.0);
        for (std::size_t i = 0; i < near_.size(); ++i)
            if (near_.key(i) < stop)
                for (std::size_t v = 0; v < width; ++v) sums_[v] += points_.values[near_.at(i) * width + v];
        for (const double sum : sums_) chunk.values.push_back(static_cast<float>(sum / count));
    }

    const KdTree& tree_;
    const Extent& extent_;
    const Growing& growing_;
    const Points& points_;
    const std::vector<std::uint8_t>& alive_;
    Neighbourhood near_;
    std::vector<float> offsets_[3], off_;
    std::vector<double> sums_;
};

void accept(const KdTree& tree, const Chunk& chunk, std::size_t n_values, std::vector<std::uint8_t>& alive,
            Grown& grown) {
    std::size_t cleared = 0, value = 0;
    for (const Growth& growth : chunk.growths) {
        if (alive[growth.at]) {
            grown.seed.push_back(static_cast<std::int32_t>(tree.order()[growth.at]));
            grown.count.push_back(static_cast<std::int32_t>(growth.count));
            grown.shift.push_back(growth.shift);
            grown.radius.push_back(growth.radius);
            for (std::size_t v = 0; v < n_values; ++v) grown.values.push_back(chunk.values[value + v]);
            for (std::size_t i = 0; i < growth.n_cleared; ++i) alive[chunk.cleared[cleared + i]] = 0;
        }
        cleared += growth.n_cleared;
        value += n_values;
    }
}

}  // namespace

Grown grow(const KdTree& tree, const Extent& extent, const Growing& growing, int asked) {
    const int threads = thread_count(asked);
    const Points points(tree, growing, threads);
    std::vector<std::uint8_t> alive(tree.size(), 1);
    Grown grown;
    for (std::size_t first = 0; first < tree.n_leaves(); first += kBlock) {
        const std::size_t last = std::min(tree.n_leaves(), first + kBlock),
                          n_chunks = (last - first + kChunk - 1) / kChunk;
        for (std::size_t round = 0; round < kRounds; ++round) {
            std::vector<Chunk> chunks(n_chunks);
            parallel(n_chunks, threads, [&] {
                return [&, grower = Grower(tree, extent, growing, points, alive)](std::size_t c) mutable {
                    const std::size_t end = std::min(last, first + (c + 1) * kChunk);
                    for (std::size_t leaf = first + c * kChunk; leaf < end; ++leaf)
                        grower.grow_leaf(leaf, round, chunks[c]);
                };
            });
            for (const Chunk& chunk : chunks) accept(tree, chunk, growing.n_values, alive, grown);
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
