// Points in a balanced k-d tree on an integer grid, searched for nearest neighbours.
//
// Coordinates are whole steps, a power of two of a metre: the finest step with which the points span 31 bits (8 µm for
// a map of 10 km). Differences are exact wherever the points lie, in 12 bytes per point. A squared distance is the
// float of three such differences. It depends on the two points alone, not on the path of the search. Of points at the
// same distance, the first in the order of the tree counts as nearer.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/distance_keys.hpp"

namespace resweep {

struct Box {
    GridPoint low, high;
};
float distance2(const Box& box, const GridPoint& query);
float distance2(const Box& box, const Position& query);
float distance2(const Box& box, const Box& other);

class KdTree {
  public:
    static constexpr std::size_t kLeaf = 32;  // points per leaf

    // `points` (n, 3) float or double, in metres, finite; n below 2³¹.
    template <class T> KdTree(const T* points, std::size_t n, int threads);

    std::size_t size() const { return order_.size(); }
    std::size_t n_leaves() const { return (size() + kLeaf - 1) / kLeaf; }
    std::size_t begin(std::size_t leaf) const { return leaf * kLeaf; }
    std::size_t end(std::size_t leaf) const { return std::min(size(), (leaf + 1) * kLeaf); }
    double step() const { return step_; }                               // metres
    const std::vector<std::uint32_t>& order() const { return order_; }  // row in the tree → row of `points`
    const std::int32_t* axis(int a) const { return axis_[a].data(); }
    GridPoint grid_point(std::size_t row) const { return {axis_[0][row], axis_[1][row], axis_[2][row]}; }
    template <class T> Position position(const T* point) const;
    Box leaf_box(std::size_t leaf) const;

    // Keys of the `k` points nearest to `query` and within `bound` (steps²), in any order.
    template <class Query> void nearest(const Query& query, std::size_t k, float bound, Keys& keys) const;
    // The key of the point nearest to `query` and within `bound`; kNoKey if there is none.
    Key nearest(const Position& query, float bound) const;
    // How many points lie within `bound` of `query`.
    std::size_t count(const GridPoint& query, float bound) const;
    // The leaves within `bound` of `box` in the order of the tree; false if they hold more than `limit` points.
    bool leaves_near(const Box& box, float bound, std::size_t limit, std::vector<std::uint32_t>& leaves) const;

  private:
    // Nodes are in preorder: the left child follows its parent, the right child follows the 2 · leaves − 1 nodes of the
    // left one.
    struct Span {
        std::size_t node, leaf, n_leaves;
        Span left() const { return {node + 1, leaf, (n_leaves + 1) / 2}; }
        Span right() const { return {node + 2 * ((n_leaves + 1) / 2), leaf + (n_leaves + 1) / 2, n_leaves / 2}; }
    };
    struct Point {
        GridPoint at;
        std::uint32_t row;
    };
    static constexpr std::size_t kDeepest = 64;

    template <class T> void choose_grid(const T* points, std::size_t n);
    void split(std::vector<Point>& points, const Span& span);
    void build(std::vector<Point>& points, const Span& span);
    const Box& bound_of(const std::vector<Point>& points, const Span& span);

    double origin_[3] = {0.0, 0.0, 0.0}, step_ = 1.0;
    std::vector<std::int32_t> axis_[3];
    std::vector<std::uint32_t> order_;
    std::vector<Box> boxes_;
};

}  // namespace resweep
