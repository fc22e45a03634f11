// The neighbours of the points of one leaf after another: a thread's own scratch memory.
#pragma once

#include <vector>

#include "core/kdtree.hpp"

namespace resweep {

// The square of `radius` metres in the tree's steps².
float squared_steps(const KdTree& tree, float radius);

class Neighbourhood {
  public:
    static constexpr std::size_t kLanes = 8;  // offsets are padded to a multiple of it

    explicit Neighbourhood(const KdTree& tree) : tree_(&tree) {}

    // Gather what the points of `leaf` may have among their `k` nearest within `radius` metres; with k = 0 all
    // that they have within `radius`.
    void begin(std::size_t leaf, std::size_t k, float radius);
    // The `k` nearest of the point in row `at` of that leaf within `radius`: at most what `begin` was told.
    void find(std::size_t at, std::size_t k, float radius);
    // The `k` nearest of any place, without `begin`.
    void find(const Place& place, std::size_t k, float radius);
    // Points within `radius` of the point in row `at` of the leaf.
    std::size_t count(std::size_t at, float radius);

    std::size_t size() const { return keys_.size(); }
    void sort() { std::sort(keys_.begin(), keys_.end()); }
    // The i-th neighbour: its key, its row in the tree, its squared distance in steps².
    Key key(std::size_t i) const { return keys_[i]; }
    std::size_t at(std::size_t i) const { return gathered_ ? rows_[row_of(keys_[i])] : row_of(keys_[i]); }
    float distance2(std::size_t i) const { return distance2_of(keys_[i]); }
    float farthest2() const;
    // Neighbours less the point by axis, in steps, padded with zeros; returns the padded length. Not after a place.
    std::size_t offsets(std::vector<float> (&to)[3]) const;

  private:
    float reach2(float radius) const;
    float tightened(float bound, std::size_t k) const;

    const KdTree* tree_;
    bool gathered_ = false;                  // false: too many candidates, each point searches the tree
    Grid centre_{}, query_{}, last_{};       // of the leaf's box; the point sought for; the point before it
    float centre_radius_ = 0.0f;             // no farther are the k nearest of the centre
    float last_radius_ = 0.0f;               // no farther are the `last_k_` nearest of the last point
    std::size_t centre_k_ = 0, last_k_ = 0;  // 0: not known
    bool radius_limits_ = true;              // the last point had no more than k within the radius
    std::vector<std::uint32_t> leaves_, rows_;
    std::vector<std::int32_t> axis_[3];
    std::vector<float> distance2_;
    Keys keys_;
};

}  // namespace resweep
