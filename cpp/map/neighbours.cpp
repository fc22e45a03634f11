#include "map/neighbours.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/multiversion.hpp"
#include "map/neighbour_search.hpp"
#include "core/parallel.hpp"
#include "core/symmetric3.hpp"

namespace resweep {
namespace {

constexpr std::size_t kLeavesAChunk = 64, kQueriesAChunk = 1024;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::size_t chunks_of(std::size_t count, std::size_t size) { return (count + size - 1) / size; }

// Run `work(neighbourhood, scratch, leaf)` for every `stride`-th leaf; each thread has a `scratch` of its own.
template <class Work, class MakeScratch>
void for_leaves(const KdTree& tree, std::size_t stride, int threads, const Work& work, const MakeScratch& make) {
    const std::size_t n_leaves = chunks_of(tree.n_leaves(), stride);
    parallel(chunks_of(n_leaves, kLeavesAChunk), thread_count(threads), [&] {
        return [&, near = Neighbourhood(tree), scratch = make()](std::size_t chunk) mutable {
            const std::size_t end = std::min(n_leaves, (chunk + 1) * kLeavesAChunk);
            for (std::size_t i = chunk * kLeavesAChunk; i < end; ++i) work(near, scratch, i * stride);
        };
    });
}

template <class Work> void for_leaves(const KdTree& tree, std::size_t stride, int threads, const Work& work) {
    const auto alone = [&](Neighbourhood& near, int, std::size_t leaf) { work(near, leaf); };
    for_leaves(tree, stride, threads, alone, [] { return 0; });
}

// Σx Σy Σz Σxx Σxy Σxz Σyy Σyz Σzz of offsets padded with zeros to a multiple of kLanes.
RESWEEP_CLONES void moments(const float* x, const float* y, const float* z, std::size_t count, double* out) {
    constexpr std::size_t kLanes = Neighbourhood::kLanes;
    double sums[9][kLanes] = {};
    for (std::size_t i = 0; i < count; i += kLanes)
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const double dx = x[i + lane], dy = y[i + lane], dz = z[i + lane];
            sums[0][lane] += dx, sums[1][lane] += dy, sums[2][lane] += dz;
            sums[3][lane] += dx * dx, sums[4][lane] += dx * dy, sums[5][lane] += dx * dz;
            sums[6][lane] += dy * dy, sums[7][lane] += dy * dz, sums[8][lane] += dz * dz;
        }
    for (int s = 0; s < 9; ++s) {
        out[s] = 0.0;
        for (std::size_t lane = 0; lane < kLanes; ++lane) out[s] += sums[s][lane];
    }
}

// Σ|n·d| of the same offsets, and Σ(n·d)².
RESWEEP_CLONES void plane_moments(const float* x, const float* y, const float* z, std::size_t count, const double* n,
                                  double* out) {
    constexpr std::size_t kLanes = Neighbourhood::kLanes;
    double sum[kLanes] = {}, sum2[kLanes] = {};
    for (std::size_t i = 0; i < count; i += kLanes)
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const double off = n[0] * x[i + lane] + n[1] * y[i + lane] + n[2] * z[i + lane];
            sum[lane] += std::fabs(off);
            sum2[lane] += off * off;
        }
    out[0] = out[1] = 0.0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) out[0] += sum[lane], out[1] += sum2[lane];
}

// The shapes of some points at once, so that their matrices are solved side by side.
class Shapes {
  public:
    Shapes(const KdTree& tree, const Pca& out) : step_(tree.step()), out_(out) {}

    // Take up what `near` has found for the point in `row`.
    void add(const Neighbourhood& near, std::size_t row) {
        Shape& shape = shapes_[size_];
        shape.row = row;
        shape.count = near.size();
        shape.padded = near.offsets(shape.offsets);
        double m[9];
        moments(shape.offsets[0].data(), shape.offsets[1].data(), shape.offsets[2].data(), shape.padded, m);
        for (double& sum : m) sum /= static_cast<double>(std::max<std::size_t>(shape.count, 1));
        const double covariance[6] = {m[3] - m[0] * m[0], m[4] - m[0] * m[1], m[5] - m[0] * m[2],
                                      m[6] - m[1] * m[1], m[7] - m[1] * m[2], m[8] - m[2] * m[2]};
        for (int e = 0; e < 6; ++e) entries_[e][size_] = covariance[e];
        for (int a = 0; a < 3 && out_.mean_offset; ++a)
            out_.mean_offset[3 * row + a] = static_cast<float>(m[a] * step_);
        if (out_.count) out_.count[row] = static_cast<std::int32_t>(shape.count);
        if (out_.radius) out_.radius[row] = static_cast<float>(std::sqrt(near.farthest2()) * step_);
        if (++size_ == kMatrices) flush();
    }

    void flush() {
        for (std::size_t i = size_; i < kMatrices; ++i)
            for (auto& entry : entries_) entry[i] = 0.0;
        Eigen3 solved[kMatrices];
        eigen(entries_, solved);
        for (std::size_t i = 0; i < size_; ++i) write(shapes_[i], solved[i]);
        size_ = 0;
    }

    struct Shape {
        std::size_t row, count, padded;
        std::vector<float> offsets[3];
    };

    void write(const Shape& shape, Eigen3& axes) {
        double *normal = axes.vector[2], plane[2];
        const bool down = normal[2] != 0.0 ? normal[2] < 0.0 : normal[1] != 0.0 ? normal[1] < 0.0 : normal[0] < 0.0;
        for (int a = 0; a < 3; ++a) normal[a] = shape.count < 3 ? 0.0 : down ? -normal[a] : normal[a];
        for (int a = 0; a < 3; ++a) {
            if (out_.normal) out_.normal[3 * shape.row + a] = static_cast<float>(normal[a]);
            if (out_.eigenvalues)
                out_.eigenvalues[3 * shape.row + a] = static_cast<float>(axes.value[a] * step_ * step_);
        }
        if (!out_.mean_distance && !out_.std_distance) return;
        plane_moments(shape.offsets[0].data(), shape.offsets[1].data(), shape.offsets[2].data(), shape.padded, normal,
                      plane);
        for (double& sum : plane) sum /= static_cast<double>(std::max<std::size_t>(shape.count, 1));
        const double variance = std::max(0.0, plane[1] - plane[0] * plane[0]);
        if (out_.mean_distance) out_.mean_distance[shape.row] = static_cast<float>(plane[0] * step_);
        if (out_.std_distance) out_.std_distance[shape.row] = static_cast<float>(std::sqrt(variance) * step_);
    }

    // A point that is not looked at.
    void skip(std::size_t row) {
        for (float* wide : {out_.normal, out_.eigenvalues, out_.mean_offset})
            if (wide) std::fill_n(wide + 3 * row, 3, 0.0f);
        for (float* narrow : {out_.radius, out_.mean_distance, out_.std_distance})
            if (narrow) narrow[row] = 0.0f;
        if (out_.count) out_.count[row] = 0;
    }

  private:
    double step_;
    const Pca& out_;
    std::size_t size_ = 0;
    Shape shapes_[kMatrices];
    double entries_[6][kMatrices];
};

// Begin a leaf with what is asked for its points; false if nothing is.
bool begin_leaf(const KdTree& tree, const Extent& extent, std::size_t leaf, Neighbourhood& near) {
    std::int32_t k = 0;
    float radius = 0.0f;
    for (std::size_t at = tree.begin(leaf); at < tree.end(leaf); ++at) {
        k = std::max(k, extent.k[tree.order()[at]]);
        radius = std::max(radius, extent.radius[tree.order()[at]]);
    }
    if (k > 0) near.begin(leaf, static_cast<std::size_t>(k), radius);
    return k > 0;
}

void write_row(const KdTree& tree, Neighbourhood& near, std::size_t k, std::int32_t* index, float* distance2) {
    near.sort();
    const double step = tree.step();
    for (std::size_t i = 0; i < k; ++i) {
        const bool found = i < near.size();
        index[i] = found ? static_cast<std::int32_t>(tree.order()[near.at(i)]) : -1;
        distance2[i] = found ? static_cast<float>(near.distance2(i) * step * step) : kInfinity;
    }
}

// One neighbour a query: each query looks no farther than the point found for the one before it, as queries that follow
// each other are mostly near.
void nearest_points(const KdTree& tree, const double* queries, std::size_t n_queries, float radius, int threads,
                    std::int32_t* index, float* distance2) {
    const double step2 = tree.step() * tree.step();
    const float reach2 = squared_steps(tree, radius);
    parallel(chunks_of(n_queries, kQueriesAChunk), thread_count(threads), [&] {
        return [&](std::size_t chunk) {
            Key found = kNoKey;
            const std::size_t end = std::min(n_queries, (chunk + 1) * kQueriesAChunk);
            for (std::size_t row = chunk * kQueriesAChunk; row < end; ++row) {
                const Place place = tree.place(queries + 3 * row);
                float bound = reach2;
                if (found != kNoKey) {
                    const std::int32_t* const last[3] = {tree.axis(0) + row_of(found), tree.axis(1) + row_of(found),
                                                         tree.axis(2) + row_of(found)};
                    float apart;
                    distances2(last, 1, place, &apart);
                    bound = std::min(bound, apart);
                }
                found = tree.nearest(place, bound);
                const bool any = found != kNoKey;
                index[row] = any ? static_cast<std::int32_t>(tree.order()[row_of(found)]) : -1;
                distance2[row] = any ? static_cast<float>(distance2_of(found) * step2) : kInfinity;
            }
        };
    });
}

}  // namespace

void knn(const KdTree& tree, const double* queries, std::size_t n_queries, std::int32_t asked, float radius,
         int threads, std::int32_t* index, float* distance2) {
    const auto k = static_cast<std::size_t>(asked);
    if (!queries) {
        for_leaves(tree, 1, threads, [&](Neighbourhood& near, std::size_t leaf) {
            near.begin(leaf, k, radius);
            for (std::size_t at = tree.begin(leaf); at < tree.end(leaf); ++at) {
                const std::size_t row = tree.order()[at];
                near.find(at, k, radius);
                write_row(tree, near, k, index + row * k, distance2 + row * k);
            }
        });
        return;
    }
    if (k == 1) return nearest_points(tree, queries, n_queries, radius, threads, index, distance2);
    parallel(chunks_of(n_queries, kQueriesAChunk), thread_count(threads), [&] {
        return [&, near = Neighbourhood(tree)](std::size_t chunk) mutable {
            const std::size_t end = std::min(n_queries, (chunk + 1) * kQueriesAChunk);
            for (std::size_t row = chunk * kQueriesAChunk; row < end; ++row) {
                near.find(tree.place(queries + 3 * row), k, radius);
                write_row(tree, near, k, index + row * k, distance2 + row * k);
            }
        };
    });
}

void radius_count(const KdTree& tree, float radius, int threads, std::int32_t* count) {
    for_leaves(tree, 1, threads, [&](Neighbourhood& near, std::size_t leaf) {
        near.begin(leaf, 0, radius);
        for (std::size_t at = tree.begin(leaf); at < tree.end(leaf); ++at)
            count[tree.order()[at]] = static_cast<std::int32_t>(near.count(at, radius));
    });
}

double mean_radius(const KdTree& tree, std::int32_t k, std::size_t stride, int threads) {
    // Summed a leaf at a time and then in order: the same sum on any number of threads.
    std::vector<double> sums(chunks_of(tree.n_leaves(), stride), 0.0);
    for_leaves(tree, stride, threads, [&](Neighbourhood& near, std::size_t leaf) {
        near.begin(leaf, static_cast<std::size_t>(k), kInfinity);
        for (std::size_t at = tree.begin(leaf); at < tree.end(leaf); ++at) {
            near.find(at, static_cast<std::size_t>(k), kInfinity);
            sums[leaf / stride] += std::sqrt(static_cast<double>(near.farthest2()));
        }
    });
    double sum = 0.0, count = 0.0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        sum += sums[i];
        count += static_cast<double>(tree.end(i * stride) - tree.begin(i * stride));
    }
    return count > 0.0 ? sum / count * tree.step() : 0.0;
}

void pca(const KdTree& tree, const Extent& extent, int threads, const Pca& out) {
    for_leaves(
        tree, 1, threads,
        [&](Neighbourhood& near, Shapes& shapes, std::size_t leaf) {
            const bool any = begin_leaf(tree, extent, leaf, near);
            for (std::size_t at = tree.begin(leaf); at < tree.end(leaf); ++at) {
                const std::size_t row = tree.order()[at];
                if (!any || extent.k[row] == 0) {
                    shapes.skip(row);
                    continue;
                }
                near.find(at, static_cast<std::size_t>(extent.k[row]), extent.radius[row]);
                shapes.add(near, row);
            }
            shapes.flush();
        },
        [&] { return Shapes(tree, out); });
}

double mean_plane_distance(const KdTree& tree, std::int32_t k, float radius, std::size_t stride, int threads) {
    const std::size_t room = chunks_of(tree.n_leaves(), stride) * KdTree::kLeaf;
    std::vector<float> distance(room, 0.0f);
    std::vector<std::int32_t> count(room, 0);
    Pca out;
    out.mean_distance = distance.data();
    out.count = count.data();
    for_leaves(
        tree, stride, threads,
        [&](Neighbourhood& near, Shapes& shapes, std::size_t leaf) {
            near.begin(leaf, static_cast<std::size_t>(k), radius);
            for (std::size_t at = tree.begin(leaf); at < tree.end(leaf); ++at) {
                near.find(at, static_cast<std::size_t>(k), radius);
                shapes.add(near, leaf / stride * KdTree::kLeaf + at - tree.begin(leaf));
            }
            shapes.flush();
        },
        [&] { return Shapes(tree, out); });
    double sum = 0.0, weight = 0.0;
    for (std::size_t i = 0; i < room; ++i) {
        if (count[i] < 3) continue;
        sum += static_cast<double>(distance[i]) * count[i];
        weight += count[i];
    }
    return weight > 0.0 ? sum / weight : 0.0;
}

}  // namespace resweep
