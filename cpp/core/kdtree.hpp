// Points in a balanced k-d tree on an integer grid, searched for nearest neighbours.
//
// Coordinates are whole steps of a power of two of a metre, the finest with which the points span 31 bits (8 µm for a
// map of 10 km): differences are exact wherever the points lie, in 12 bytes a point. A squared distance is
// the float of three such differences, so it depends on the two points alone, never on the way of the
// search; among points at one distance the first in the tree's order counts as nearer.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

namespace resweep {

using Grid = std::array<std::int32_t, 3>;  // a place on the grid
using Place = std::array<double, 3>;       // a place anywhere, in steps
using Key = std::uint64_t;                 // a squared distance in steps² and a row, ordered as (distance, row)

// Keys in memory that is not cleared first.
class Keys {
  public:
    Key* begin() { return data_.get(); }
    Key* end() { return data_.get() + size_; }
    const Key* begin() const { return data_.get(); }
    const Key* end() const { return data_.get() + size_; }
    Key operator[](std::size_t i) const { return data_[i]; }
    std::size_t size() const { return size_; }
    void clear() { size_ = 0; }
    void shrink(std::size_t size) { size_ = size; }
    // Append the keys of those of `count` distances that are at most `bound`; rows count up from `first_row`.
    void append_near(const float* distance2, std::size_t count, float bound, std::uint32_t first_row);
    // Keep the `k` smallest, in any order but that the last is the largest if there were more.
    void keep_nearest(std::size_t k);

  private:
    std::unique_ptr<Key[]> data_;
    std::size_t size_ = 0, capacity_ = 0;
};

inline std::uint32_t row_of(Key key) { return static_cast<std::uint32_t>(key); }
inline float distance2_of(Key key) { return std::bit_cast<float>(static_cast<std::uint32_t>(key >> 32)); }
// Floats that are not negative sort as their bits do.
inline Key key_of(float distance2, std::uint32_t row) {
    return (Key{std::bit_cast<std::uint32_t>(distance2)} << 32) | row;
}

constexpr Key kNoKey = ~Key{0};

// Squared distances (count) of points given by axis from `query`.
void distances2(const std::int32_t* const axes[3], std::size_t count, const Grid& query, float* out);
void distances2(const std::int32_t* const axes[3], std::size_t count, const Place& query, float* out);
// How many of the distances are at most `bound`.
std::size_t count_near(const float* distance2, std::size_t count, float bound);

struct Box {
    Grid low, high;
};
float distance2(const Box& box, const Grid& query);
float distance2(const Box& box, const Place& query);
float distance2(const Box& box, const Box& other);

class KdTree {
  public:
    static constexpr std::size_t kLeaf = 32;  // points a leaf

    // `points` (n, 3) float or double, in metres, finite; n below 2³¹.
    template <class T> KdTree(const T* points, std::size_t n, int threads);

    std::size_t size() const { return order_.size(); }
    std::size_t n_leaves() const { return (size() + kLeaf - 1) / kLeaf; }
    std::size_t begin(std::size_t leaf) const { return leaf * kLeaf; }
    std::size_t end(std::size_t leaf) const { return std::min(size(), (leaf + 1) * kLeaf); }
    double step() const { return step_; }                               // metres
    const std::vector<std::uint32_t>& order() const { return order_; }  // row in the tree → row of `points`
    const std::int32_t* axis(int a) const { return axis_[a].data(); }
    Grid grid(std::size_t row) const { return {axis_[0][row], axis_[1][row], axis_[2][row]}; }
    template <class T> Place place(const T* point) const;
    Box leaf_box(std::size_t leaf) const;

    // Keys of the `k` points nearest to `query` and within `bound` (steps²), in any order.
    template <class Query> void nearest(const Query& query, std::size_t k, float bound, Keys& keys) const;
    // The key of the point nearest to `query` and within `bound`; kNoKey if there is none.
    Key nearest(const Place& query, float bound) const;
    // Points within `bound` of `query`.
    std::size_t count(const Grid& query, float bound) const;
    // The leaves within `bound` of `box` in the order of the tree; false if they hold more than `limit` points.
    bool leaves_near(const Box& box, float bound, std::size_t limit, std::vector<std::uint32_t>& leaves) const;

  private:
    // Preorder: the left child of a node follows it, the right child follows the left one's 2 · leaves − 1 nodes.
    struct Span {
        std::size_t node, leaf, n_leaves;
        Span left() const { return {node + 1, leaf, (n_leaves + 1) / 2}; }
        Span right() const { return {node + 2 * ((n_leaves + 1) / 2), leaf + (n_leaves + 1) / 2, n_leaves / 2}; }
    };
    struct Point {
        Grid at;
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
