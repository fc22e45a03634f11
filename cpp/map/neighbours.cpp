#include "map/neighbours.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/parallel.hpp"
#include "map/neighbour_search.hpp"

namespace resweep {
namespace {

constexpr std::size_t kQueriesPerChunk = 1024;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

void write_row(const KdTree& tree, NeighbourSearch& search, std::size_t k, std::int32_t* index, float* distance2) {
    search.sort();
    const double step = tree.step();
    for (std::size_t i = 0; i < k; ++i) {
        const bool found = i < search.size();
        index[i] = found ? static_cast<std::int32_t>(tree.order()[search.at(i)]) : -1;
        distance2[i] = found ? static_cast<float>(search.distance2(i) * step * step) : kInfinity;
    }
}

// One neighbour per query. Consecutive queries are mostly near each other, so each searches no farther than the point
// found for the one before it.
void nearest_points(const KdTree& tree, const double* queries, std::size_t n_queries, float radius, int threads,
                    std::int32_t* index, float* distance2) {
    const double step2 = tree.step() * tree.step();
    const float reach2 = squared_steps(tree, radius);
    parallel(chunks_of(n_queries, kQueriesPerChunk), thread_count(threads), [&] {
        return [&](std::size_t chunk) {
            Key found = kNoKey;
            const std::size_t end = std::min(n_queries, (chunk + 1) * kQueriesPerChunk);
            for (std::size_t row = chunk * kQueriesPerChunk; row < end; ++row) {
                const Position position = tree.position(queries + 3 * row);
                float bound = reach2;
                if (found != kNoKey) {
                    const std::int32_t* const last[3] = {tree.axis(0) + row_of(found), tree.axis(1) + row_of(found),
                                                         tree.axis(2) + row_of(found)};
                    float apart;
                    distances2(last, 1, position, &apart);
                    bound = std::min(bound, apart);
                }
                found = tree.nearest(position, bound);
                const bool any = found != kNoKey;
                index[row] = any ? static_cast<std::int32_t>(tree.order()[row_of(found)]) : -1;
                distance2[row] = any ? static_cast<float>(distance2_of(found) * step2) : kInfinity;
            }
        };
    });
}

}  // namespace

void knn(const KdTree& tree, const double* queries, std::size_t n_queries, std::int32_t requested, float radius,
         int threads, std::int32_t* index, float* distance2) {
    const auto k = static_cast<std::size_t>(requested);
    if (!queries) {
        for_leaves(tree, 1, threads, [&](NeighbourSearch& search, std::size_t leaf) {
            search.begin(leaf, k, radius);
            for (std::size_t at = tree.begin(leaf); at < tree.end(leaf); ++at) {
                const std::size_t row = tree.order()[at];
                search.find(at, k, radius);
                write_row(tree, search, k, index + row * k, distance2 + row * k);
            }
        });
        return;
    }
    if (k == 1) return nearest_points(tree, queries, n_queries, radius, threads, index, distance2);
    parallel(chunks_of(n_queries, kQueriesPerChunk), thread_count(threads), [&] {
        return [&, search = NeighbourSearch(tree)](std::size_t chunk) mutable {
            const std::size_t end = std::min(n_queries, (chunk + 1) * kQueriesPerChunk);
            for (std::size_t row = chunk * kQueriesPerChunk; row < end; ++row) {
                search.find(tree.position(queries + 3 * row), k, radius);
                write_row(tree, search, k, index + row * k, distance2 + row * k);
            }
        };
    });
}

void radius_count(const KdTree& tree, float radius, int threads, std::int32_t* count) {
    for_leaves(tree, 1, threads, [&](NeighbourSearch& search, std::size_t leaf) {
        search.begin(leaf, 0, radius);
        for (std::size_t at = tree.begin(leaf); at < tree.end(leaf); ++at)
            count[tree.order()[at]] = static_cast<std::int32_t>(search.count(at, radius));
    });
}

double mean_radius(const KdTree& tree, std::int32_t k, std::size_t stride, int threads) {
    // Summed per leaf, and then in order: the same sum on any number of threads.
    std::vector<double> sums(chunks_of(tree.n_leaves(), stride), 0.0);
    for_leaves(tree, stride, threads, [&](NeighbourSearch& search, std::size_t leaf) {
        search.begin(leaf, static_cast<std::size_t>(k), kInfinity);
        for (std::size_t at = tree.begin(leaf); at < tree.end(leaf); ++at) {
            search.find(at, static_cast<std::size_t>(k), kInfinity);
            sums[leaf / stride] += std::sqrt(static_cast<double>(search.farthest2()));
        }
    });
    double sum = 0.0, count = 0.0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        sum += sums[i];
        count += static_cast<double>(tree.end(i * stride) - tree.begin(i * stride));
    }
    return count > 0.0 ? sum / count * tree.step() : 0.0;
}

}  // namespace resweep
