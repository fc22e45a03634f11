// The neighbours of the points of a tree, searched leaf by leaf: the working memory of one thread.
#pragma once

#include <algorithm>
#include <vector>

#include "core/kdtree.hpp"
#include "core/parallel.hpp"

namespace resweep {

// The square of `radius` metres in the tree's steps².
float squared_steps(const KdTree& tree, float radius);

class NeighbourSearch {
  public:
    static constexpr std::size_t kLanes = 8;  // offsets are padded to a multiple of it

    explicit NeighbourSearch(const KdTree& tree) : tree_(&tree) {}

    // Gather the candidates of all points of `leaf`: for their `k` nearest within `radius` metres or, with k = 0, for
    // all points within `radius`.
    void begin(std::size_t leaf, std::size_t k, float radius);
    // Find the `k` nearest of the point in row `at` of that leaf within `radius`; neither may exceed those of `begin`.
    void find(std::size_t at, std::size_t k, float radius);
    // Find the `k` nearest of any position, without `begin`.
    void find(const Position& position, std::size_t k, float radius);
    // How many points lie within `radius` of the point in row `at` of the leaf.
    std::size_t count(std::size_t at, float radius);

    std::size_t size() const { return keys_.size(); }
    void sort() { std::sort(keys_.begin(), keys_.end()); }
    // The i-th neighbour found: its key, its row in the tree, its squared distance in steps².
    Key key(std::size_t i) const { return keys_[i]; }
    std::size_t at(std::size_t i) const { return gathered_ ? rows_[row_of(keys_[i])] : row_of(keys_[i]); }
    float distance2(std::size_t i) const { return distance2_of(keys_[i]); }
    float farthest2() const;
    // Write the neighbours relative to the point, by axis, in steps, padded with zeros; returns the padded length. Only
    // after the search of a point of the leaf.
    std::size_t offsets(std::vector<float> (&to)[3]) const;

  private:
    float reach2(float radius) const;
    float tightened(float bound, std::size_t k) const;

    const KdTree* tree_;
    bool gathered_ = false;                  // false: too many candidates, each point searches the tree
    GridPoint centre_{}, query_{}, last_{};  // centre of the leaf's box; this point; the point before it
    float centre_radius_ = 0.0f;             // upper bound of the distance of the `centre_k_` nearest of the centre
    float last_radius_ = 0.0f;               // upper bound of the distance of the `last_k_` nearest of the last point
    std::size_t centre_k_ = 0, last_k_ = 0;  // 0: not known
    bool radius_limits_ = true;              // the last point had no more than k neighbours within the radius
    std::vector<std::uint32_t> leaves_, rows_;
    std::vector<std::int32_t> axis_[3];
    std::vector<float> distance2_;
    Keys keys_;
};

inline std::size_t chunks_of(std::size_t count, std::size_t size) { return (count + size - 1) / size; }

// Run `work(search, scratch, leaf)` for every `stride`-th leaf; each thread makes a `scratch` of its own.
template <class Work, class MakeScratch>
void for_leaves(const KdTree& tree, std::size_t stride, int threads, const Work& work, const MakeScratch& make) {
    constexpr std::size_t kLeavesPerChunk = 64;
    const std::size_t n_leaves = chunks_of(tree.n_leaves(), stride);
    parallel(chunks_of(n_leaves, kLeavesPerChunk), thread_count(threads), [&] {
        return [&, search = NeighbourSearch(tree), scratch = make()](std::size_t chunk) mutable {
            const std::size_t end = std::min(n_leaves, (chunk + 1) * kLeavesPerChunk);
            for (std::size_t i = chunk * kLeavesPerChunk; i < end; ++i) work(search, scratch, i * stride);
        };
    });
}

template <class Work> void for_leaves(const KdTree& tree, std::size_t stride, int threads, const Work& work) {
    const auto alone = [&](NeighbourSearch& search, int, std::size_t leaf) { work(search, leaf); };
    for_leaves(tree, stride, threads, alone, [] { return 0; });
}

}  // namespace resweep
