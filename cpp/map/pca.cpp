#include "map/pca.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/multiversion.hpp"
#include "core/symmetric3.hpp"
#include "map/neighbour_search.hpp"

namespace resweep {
namespace {

// Σx Σy Σz Σxx Σxy Σxz Σyy Σyz Σzz of offsets padded with zeros to a multiple of kLanes.
RESWEEP_MULTIVERSION void moments(const float* x, const float* y, const float* z, std::size_t count, double* out) {
    constexpr std::size_t kLanes = NeighbourSearch::kLanes;
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
RESWEEP_MULTIVERSION void plane_moments(const float* x, const float* y, const float* z, std::size_t count,
                                        const double* n, double* out) {
    constexpr std::size_t kLanes = NeighbourSearch::kLanes;
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

// Neighbourhoods in batches, so that their matrices are solved at once.
class PcaBatch {
  public:
    PcaBatch(const KdTree& tree, const Pca& out) : step_(tree.step()), out_(out) {}

    // Add what `search` found for the point in `row`.
    void add(const NeighbourSearch& search, std::size_t row) {
        Entry& entry = batch_[size_];
        entry.row = row;
        entry.count = search.size();
        entry.padded = search.offsets(entry.offsets);
        double m[9];
        moments(entry.offsets[0].data(), entry.offsets[1].data(), entry.offsets[2].data(), entry.padded, m);
        for (double& sum : m) sum /= static_cast<double>(std::max<std::size_t>(entry.count, 1));
        const double covariance[6] = {m[3] - m[0] * m[0], m[4] - m[0] * m[1], m[5] - m[0] * m[2],
                                      m[6] - m[1] * m[1], m[7] - m[1] * m[2], m[8] - m[2] * m[2]};
        for (int e = 0; e < 6; ++e) entries_[e][size_] = covariance[e];
        for (int a = 0; a < 3 && out_.mean_offset; ++a)
            out_.mean_offset[3 * row + a] = static_cast<float>(m[a] * step_);
        if (out_.count) out_.count[row] = static_cast<std::int32_t>(entry.count);
        if (out_.radius) out_.radius[row] = static_cast<float>(std::sqrt(search.farthest2()) * step_);
        if (++size_ == kMatrices) flush();
    }

    void flush() {
        for (std::size_t i = size_; i < kMatrices; ++i)
            for (auto& entry : entries_) entry[i] = 0.0;
        Eigen3 solved[kMatrices];
        eigen(entries_, solved);
        for (std::size_t i = 0; i < size_; ++i) write(batch_[i], solved[i]);
        size_ = 0;
    }

    // Write zeros for a point that is skipped.
    void skip(std::size_t row) {
        for (float* wide : {out_.normal, out_.eigenvalues, out_.mean_offset})
            if (wide) std::fill_n(wide + 3 * row, 3, 0.0f);
        for (float* narrow : {out_.radius, out_.mean_distance, out_.std_distance})
            if (narrow) narrow[row] = 0.0f;
        if (out_.count) out_.count[row] = 0;
    }

  private:
    struct Entry {
        std::size_t row, count, padded;
        std::vector<float> offsets[3];
    };

    void write(const Entry& entry, Eigen3& axes) {
        double *normal = axes.vector[2], plane[2];
        const bool down = normal[2] != 0.0 ? normal[2] < 0.0 : normal[1] != 0.0 ? normal[1] < 0.0 : normal[0] < 0.0;
        for (int a = 0; a < 3; ++a) normal[a] = entry.count < 3 ? 0.0 : down ? -normal[a] : normal[a];
        for (int a = 0; a < 3; ++a) {
            if (out_.normal) out_.normal[3 * entry.row + a] = static_cast<float>(normal[a]);
            if (out_.eigenvalues)
                out_.eigenvalues[3 * entry.row + a] = static_cast<float>(axes.value[a] * step_ * step_);
        }
        if (!out_.mean_distance && !out_.std_distance) return;
        plane_moments(entry.offsets[0].data(), entry.offsets[1].data(), entry.offsets[2].data(), entry.padded, normal,
                      plane);
        for (double& sum : plane) sum /= static_cast<double>(std::max<std::size_t>(entry.count, 1));
        const double variance = std::max(0.0, plane[1] - plane[0] * plane[0]);
        if (out_.mean_distance) out_.mean_distance[entry.row] = static_cast<float>(plane[0] * step_);
        if (out_.std_distance) out_.std_distance[entry.row] = static_cast<float>(std::sqrt(variance) * step_);
    }

    double step_;
    const Pca& out_;
    std::size_t size_ = 0;
    Entry batch_[kMatrices];
    double entries_[6][kMatrices];
};

// Begin a leaf with the largest extent of its points; false if all are skipped.
bool begin_leaf(const KdTree& tree, const Extent& extent, std::size_t leaf, NeighbourSearch& search) {
    std::int32_t k = 0;
    float radius = 0.0f;
    for (std::size_t at = tree.begin(leaf); at < tree.end(leaf); ++at) {
        k = std::max(k, extent.k[tree.order()[at]]);
        radius = std::max(radius, extent.radius[tree.order()[at]]);
    }
    if (k > 0) search.begin(leaf, static_cast<std::size_t>(k), radius);
    return k > 0;
}

}  // namespace

void pca(const KdTree& tree, const Extent& extent, int threads, const Pca& out) {
    for_leaves(
        tree, 1, threads,
        [&](NeighbourSearch& search, PcaBatch& batch, std::size_t leaf) {
            const bool any = begin_leaf(tree, extent, leaf, search);
            for (std::size_t at = tree.begin(leaf); at < tree.end(leaf); ++at) {
                const std::size_t row = tree.order()[at];
                if (!any || extent.k[row] == 0) {
                    batch.skip(row);
                    continue;
                }
                search.find(at, static_cast<std::size_t>(extent.k[row]), extent.radius[row]);
                batch.add(search, row);
            }
            batch.flush();
        },
        [&] { return PcaBatch(tree, out); });
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
        [&](NeighbourSearch& search, PcaBatch& batch, std::size_t leaf) {
            search.begin(leaf, static_cast<std::size_t>(k), radius);
            for (std::size_t at = tree.begin(leaf); at < tree.end(leaf); ++at) {
                search.find(at, static_cast<std::size_t>(k), radius);
                batch.add(search, leaf / stride * KdTree::kLeaf + at - tree.begin(leaf));
            }
            batch.flush();
        },
        [&] { return PcaBatch(tree, out); });
    double sum = 0.0, weight = 0.0;
    for (std::size_t i = 0; i < room; ++i) {
        if (count[i] < 3) continue;
        sum += static_cast<double>(distance[i]) * count[i];
        weight += count[i];
    }
    return weight > 0.0 ? sum / weight : 0.0;
}

}  // namespace resweep
