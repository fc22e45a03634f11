#include "core/kdtree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/parallel.hpp"

namespace resweep {
namespace {

constexpr double kReach = 1073741823.0;  // 2³⁰ − 1: differences of two coordinates fit 32 bits

// Without branches, which no processor would predict.
template <class T> float gap(std::int32_t low, std::int32_t high, T value) {
    const T below = static_cast<T>(low) - value, above = value - static_cast<T>(high);
    return static_cast<float>(std::max(std::max(below, above), T{0}));
}

template <class T> float box_distance2(const Box& box, const std::array<T, 3>& query) {
    return squared_length(gap(box.low[0], box.high[0], query[0]), gap(box.low[1], box.high[1], query[1]),
                          gap(box.low[2], box.high[2], query[2]));
}

}  // namespace

float distance2(const Box& box, const GridPoint& query) { return box_distance2(box, query); }
float distance2(const Box& box, const Position& query) { return box_distance2(box, query); }

float distance2(const Box& box, const Box& other) {
    float apart[3];
    for (int a = 0; a < 3; ++a)
        apart[a] = static_cast<float>(std::max({box.low[a] - other.high[a], other.low[a] - box.high[a], 0}));
    return squared_length(apart[0], apart[1], apart[2]);
}

template <class T> KdTree::KdTree(const T* points, std::size_t n, int threads) {
    choose_grid(points, n);
    std::vector<Point> sorted(n);
    for (std::size_t row = 0; row < n; ++row) {
        const Position at = position(points + 3 * row);
        for (int a = 0; a < 3; ++a) sorted[row].at[a] = static_cast<std::int32_t>(std::nearbyint(at[a]));
        sorted[row].row = static_cast<std::uint32_t>(row);
    }
    order_.resize(n);
    if (n == 0) return;
    boxes_.resize(2 * n_leaves() - 1);
    // Halve until there is work for every thread; then each chunk builds one subtree.
    std::vector<Span> spans{{0, 0, n_leaves()}};
    while (spans.size() < 64) {
        std::vector<Span> halves;
        for (const Span& span : spans)
            if (span.n_leaves > 1) halves.insert(halves.end(), {span.left(), span.right()});
        if (halves.size() < 2 * spans.size()) break;
        parallel(spans.size(), threads, [&] {
            return [&](std::size_t i) {
                bound_of(sorted, spans[i]);
                split(sorted, spans[i]);
            };
        });
        spans = std::move(halves);
    }
    parallel(spans.size(), threads, [&] { return [&](std::size_t i) { build(sorted, spans[i]); }; });
    for (std::size_t row = 0; row < n; ++row) order_[row] = sorted[row].row;
    for (int a = 0; a < 3; ++a) {
        axis_[a].resize(n);
        for (std::size_t row = 0; row < n; ++row) axis_[a][row] = sorted[row].at[a];
    }
}

template <class T> void KdTree::choose_grid(const T* points, std::size_t n) {
    double half = 0.0;
    for (int a = 0; a < 3 && n > 0; ++a) {
        double low = points[a], high = points[a];
        for (std::size_t row = 1; row < n; ++row) {
            low = std::min<double>(low, points[3 * row + a]);
            high = std::max<double>(high, points[3 * row + a]);
        }
        origin_[a] = low + 0.5 * (high - low);
        half = std::max(half, 0.5 * (high - low));
    }
    int exponent = 0;
    std::frexp(half / kReach, &exponent);
    step_ = half > 0.0 ? std::ldexp(1.0, std::max(exponent, -40)) : 1.0;
}

template <class T> Position KdTree::position(const T* point) const {
    return {(point[0] - origin_[0]) / step_, (point[1] - origin_[1]) / step_, (point[2] - origin_[2]) / step_};
}

template KdTree::KdTree(const float*, std::size_t, int);
template KdTree::KdTree(const double*, std::size_t, int);
template Position KdTree::position(const float*) const;
template Position KdTree::position(const double*) const;

Box KdTree::leaf_box(std::size_t leaf) const {
    Box box{grid_point(begin(leaf)), grid_point(begin(leaf))};
    for (std::size_t row = begin(leaf) + 1; row < end(leaf); ++row)
        for (int a = 0; a < 3; ++a) {
            box.low[a] = std::min(box.low[a], axis_[a][row]);
            box.high[a] = std::max(box.high[a], axis_[a][row]);
        }
    return box;
}

const Box& KdTree::bound_of(const std::vector<Point>& points, const Span& span) {
    const std::size_t first = begin(span.leaf), last = end(span.leaf + span.n_leaves - 1);
    Box box{points[first].at, points[first].at};
    for (std::size_t row = first + 1; row < last; ++row)
        for (int a = 0; a < 3; ++a) {
            box.low[a] = std::min(box.low[a], points[row].at[a]);
            box.high[a] = std::max(box.high[a], points[row].at[a]);
        }
    return boxes_[span.node] = box;
}

// Halve the points at a whole number of leaves, across the longest side of their box.
void KdTree::split(std::vector<Point>& points, const Span& span) {
    const Box& box = boxes_[span.node];
    int longest = 0;
    for (int a = 1; a < 3; ++a)
        if (box.high[a] - box.low[a] > box.high[longest] - box.low[longest]) longest = a;
    const auto at = [&](std::size_t row) { return points.begin() + static_cast<std::ptrdiff_t>(row); };
    std::nth_element(at(begin(span.leaf)), at(begin(span.right().leaf)), at(end(span.leaf + span.n_leaves - 1)),
                     [longest](const Point& a, const Point& b) {
                         return a.at[longest] != b.at[longest] ? a.at[longest] < b.at[longest] : a.row < b.row;
                     });
}

void KdTree::build(std::vector<Point>& points, const Span& span) {
    if (span.n_leaves == 1) {
        bound_of(points, span);
        const auto at = [&](std::size_t row) { return points.begin() + static_cast<std::ptrdiff_t>(row); };
        std::sort(at(begin(span.leaf)), at(end(span.leaf)),
                  [](const Point& a, const Point& b) { return a.row < b.row; });
        return;
    }
    bound_of(points, span);
    split(points, span);
    build(points, span.left());
    build(points, span.right());
}

template <class Query> void KdTree::nearest(const Query& query, std::size_t k, float bound, Keys& keys) const {
    struct Waiting {
        Span span;
        float distance2;
    };
    Waiting stack[kDeepest];
    std::size_t waiting = 0;
    const std::size_t full = k + std::max<std::size_t>(k / 2, 2 * kLeaf);
    keys.clear();
    if (size() > 0 && k > 0) stack[waiting++] = {{0, 0, n_leaves()}, distance2(boxes_[0], query)};
    while (waiting > 0) {
        const auto [span, apart] = stack[--waiting];
        if (apart > bound) continue;
        if (span.n_leaves == 1) {
            const std::size_t first = begin(span.leaf), count = end(span.leaf) - first;
            const std::int32_t* const axes[3] = {axis(0) + first, axis(1) + first, axis(2) + first};
            float found[kLeaf];
            distances2(axes, count, query, found);
            keys.append_near(found, count, bound, static_cast<std::uint32_t>(first));
            if (keys.size() >= full) {
                keys.keep_nearest(k);
                bound = distance2_of(keys[k - 1]);
            }
            continue;
        }
        Waiting near{span.left(), distance2(boxes_[span.left().node], query)};
        Waiting far{span.right(), distance2(boxes_[span.right().node], query)};
        if (far.distance2 < near.distance2) std::swap(near, far);
        stack[waiting++] = far;
        stack[waiting++] = near;
    }
    keys.keep_nearest(k);
}

template void KdTree::nearest(const GridPoint&, std::size_t, float, Keys&) const;
template void KdTree::nearest(const Position&, std::size_t, float, Keys&) const;

Key KdTree::nearest(const Position& query, float bound) const {
    struct Waiting {
        Span span;
        float distance2;
    };
    Waiting stack[kDeepest];
    std::size_t waiting = 0;
    Key best = kNoKey;
    if (size() > 0) stack[waiting++] = {{0, 0, n_leaves()}, distance2(boxes_[0], query)};
    while (waiting > 0) {
        auto [span, apart] = stack[--waiting];
        if (apart > bound) continue;
        while (span.n_leaves > 1) {
            const Span left = span.left(), right = span.right();
            const float to_left = distance2(boxes_[left.node], query), to_right = distance2(boxes_[right.node], query);
            const bool turned = to_right < to_left;
            stack[waiting] = {turned ? left : right, std::max(to_left, to_right)};
            waiting += stack[waiting].distance2 <= bound;
            span = turned ? right : left, apart = std::min(to_left, to_right);
            if (apart > bound) break;
        }
        if (apart > bound) continue;
        const std::size_t first = begin(span.leaf), count = end(span.leaf) - first;
        const std::int32_t* const axes[3] = {axis(0) + first, axis(1) + first, axis(2) + first};
        float found[kLeaf];
        distances2(axes, count, query, found);
        const float nearest = least(found, count);
        if (nearest > bound) continue;
        const auto at = static_cast<std::uint32_t>(std::find(found, found + count, nearest) - found);
        best = std::min(best, key_of(nearest, static_cast<std::uint32_t>(first) + at));
        bound = nearest;
    }
    return best;
}

std::size_t KdTree::count(const GridPoint& query, float bound) const {
    Span stack[kDeepest];
    std::size_t waiting = 0, found = 0;
    if (size() > 0) stack[waiting++] = {0, 0, n_leaves()};
    while (waiting > 0) {
        const Span span = stack[--waiting];
        const Box& box = boxes_[span.node];
        if (distance2(box, query) > bound) continue;
        const std::size_t first = begin(span.leaf), last = end(span.leaf + span.n_leaves - 1);
        float reach[3];
        for (int a = 0; a < 3; ++a)
            reach[a] = static_cast<float>(std::max(box.high[a] - query[a], query[a] - box.low[a]));
        if (squared_length(reach[0], reach[1], reach[2]) <= bound) {
            found += last - first;
        } else if (span.n_leaves == 1) {
            const std::int32_t* const axes[3] = {axis(0) + first, axis(1) + first, axis(2) + first};
            float apart[kLeaf];
            distances2(axes, last - first, query, apart);
            found += count_near(apart, last - first, bound);
        } else {
            stack[waiting++] = span.right();
            stack[waiting++] = span.left();
        }
    }
    return found;
}

bool KdTree::leaves_near(const Box& box, float bound, std::size_t limit, std::vector<std::uint32_t>& leaves) const {
    Span stack[kDeepest];
    std::size_t waiting = 0;
    leaves.clear();
    stack[waiting++] = {0, 0, n_leaves()};
    while (waiting > 0) {
        const Span span = stack[--waiting];
        if (distance2(boxes_[span.node], box) > bound) continue;
        if (span.n_leaves > 1) {
            stack[waiting++] = span.right();
            stack[waiting++] = span.left();
            continue;
        }
        if (leaves.size() * kLeaf >= limit) return false;
        leaves.push_back(static_cast<std::uint32_t>(span.leaf));
    }
    return true;
}

}  // namespace resweep
