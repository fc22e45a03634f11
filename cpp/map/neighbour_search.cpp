#include "map/neighbour_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace resweep {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kSlack = 1.0f + 1e-5f;  // keeps bounds by the triangle inequality valid after rounding
// What follows decides how fast neighbours are found, not which.
constexpr std::size_t kCandidates = 8192;  // more than these are not gathered
constexpr std::size_t kCandidatesPerNeighbour = 24;
constexpr int kTrials = 12;
constexpr float kAim = 1.1f;        // times the number of neighbours wanted
constexpr float kMaxGrowth = 4.0f;  // of a trial to the next

float length(const GridPoint& a, const GridPoint& b) {
    double sum = 0.0;
    for (int i = 0; i < 3; ++i) {
        const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        sum += d * d;
    }
    return static_cast<float>(std::sqrt(sum));
}

float squared(float length) { return length * length * kSlack; }

}  // namespace

float squared_steps(const KdTree& tree, float radius) {
    const double steps = static_cast<double>(radius) / tree.step();
    return static_cast<float>(std::min(steps * steps, static_cast<double>(std::numeric_limits<float>::max())));
}

float NeighbourSearch::reach2(float radius) const { return squared_steps(*tree_, radius); }

void NeighbourSearch::begin(std::size_t leaf, std::size_t k, float radius) {
    const Box box = tree_->leaf_box(leaf);
    const GridPoint before = centre_;
    for (int a = 0; a < 3; ++a)
        centre_[a] = static_cast<std::int32_t>((static_cast<std::int64_t>(box.low[a]) + box.high[a]) / 2);
    const float half = length(box.high, centre_) * kSlack;
    float reach = std::sqrt(reach2(radius)) * kSlack;
    if (k == 0) centre_k_ = 0;
    last_k_ = 0;
    if (k > 0) {
        // The leaf before this one is mostly near, which bounds the distance to search.
        float bound = squared(reach + half);
        if (centre_k_ >= k) bound = std::min(bound, squared(centre_radius_ + length(centre_, before)));
        tree_->nearest(centre_, k, bound, keys_);
        centre_k_ = keys_.size() == k ? k : 0;
        centre_radius_ = centre_k_ > 0 ? std::sqrt(farthest2()) * kSlack : kInfinity;
        reach = std::min(reach, centre_radius_ + half);
    }
    const std::size_t limit = std::max(kCandidates, kCandidatesPerNeighbour * k);
    gathered_ = tree_->leaves_near(box, squared(reach), limit, leaves_);
    if (!gathered_) return;
    const std::size_t room = leaves_.size() * KdTree::kLeaf;
    rows_.resize(room);
    distance2_.resize(room);
    for (auto& axis : axis_) axis.resize(room);
    std::size_t count = 0;
    for (const std::uint32_t near : leaves_) {
        const std::size_t first = tree_->begin(near), size = tree_->end(near) - first;
        for (int a = 0; a < 3; ++a) std::copy_n(tree_->axis(a) + first, size, axis_[a].data() + count);
        for (std::size_t i = 0; i < size; ++i) rows_[count + i] = static_cast<std::uint32_t>(first + i);
        count += size;
    }
    rows_.resize(count);
}

void NeighbourSearch::find(std::size_t at, std::size_t k, float radius) {
    query_ = tree_->grid_point(at);
    const float reach = reach2(radius);
    float bound = reach;
    if (centre_k_ >= k) bound = std::min(bound, squared(centre_radius_ + length(query_, centre_)));
    if (last_k_ >= k) bound = std::min(bound, squared(last_radius_ + length(query_, last_)));
    if (gathered_) {
        const std::int32_t* const axes[3] = {axis_[0].data(), axis_[1].data(), axis_[2].data()};
        distances2(axes, rows_.size(), query_, distance2_.data());
        keys_.clear();
        bound = tightened(bound, k);
        keys_.append_near(distance2_.data(), rows_.size(), bound, 0);
        radius_limits_ = bound == reach;
        keys_.keep_nearest(k);
    } else {
        tree_->nearest(query_, k, bound, keys_);
    }
    last_k_ = k > 0 && keys_.size() == k ? k : 0;
    if (last_k_ > 0) last_radius_ = std::sqrt(farthest2()) * kSlack, last_ = query_;
}

// A smaller bound that holds k candidates and few more: counting costs less than choosing among too many. The points of
// a leaf have similar radii, and on a surface the count grows with the square of the radius.
float NeighbourSearch::tightened(float bound, std::size_t k) const {
    const auto wanted = static_cast<float>(k);
    float low = 0.0f, low_count = 0.0f, high_count = 0.0f;  // counts at `low` and `bound`; 0: not counted yet
    float trial = last_k_ > 0 ? last_radius_ * last_radius_ * wanted / static_cast<float>(last_k_) : 0.0f;
    if (last_k_ == 0 || radius_limits_) {  // so it probably is for this point
        high_count = static_cast<float>(count_near(distance2_.data(), rows_.size(), bound));
        if (high_count <= wanted) return bound;
        trial = bound * wanted / high_count;
    }
    for (int attempt = 0; attempt < kTrials && trial > low && trial < bound; ++attempt) {
        const auto count = static_cast<float>(count_near(distance2_.data(), rows_.size(), trial));
        if (count == wanted) return trial;
        if (count > wanted) {
            bound = trial, high_count = count;
        } else {
            low = trial, low_count = count;
        }
        if (high_count > 0.0f)
            trial = low + (bound - low) * (wanted + 0.5f - low_count) / (high_count + 0.5f - low_count);
        else
            trial *= std::clamp(kAim * wanted / std::max(count, 1.0f), kAim, kMaxGrowth);
    }
    return bound;
}

void NeighbourSearch::find(const Position& position, std::size_t k, float radius) {
    gathered_ = false;
    tree_->nearest(position, k, reach2(radius), keys_);
}

std::size_t NeighbourSearch::count(std::size_t at, float radius) {
    const float bound = reach2(radius);
    const GridPoint query = tree_->grid_point(at);
    if (!gathered_) return tree_->count(query, bound);
    const std::int32_t* const axes[3] = {axis_[0].data(), axis_[1].data(), axis_[2].data()};
    distances2(axes, rows_.size(), query, distance2_.data());
    return count_near(distance2_.data(), rows_.size(), bound);
}

float NeighbourSearch::farthest2() const {
    return keys_.size() > 0 ? distance2_of(*std::max_element(keys_.begin(), keys_.end())) : 0.0f;
}

std::size_t NeighbourSearch::offsets(std::vector<float> (&to)[3]) const {
    const std::size_t count = size(), padded = (count + kLanes - 1) / kLanes * kLanes;
    for (int a = 0; a < 3; ++a) {
        if (to[a].size() < padded) to[a].resize(padded);
        const std::int32_t* from = gathered_ ? axis_[a].data() : tree_->axis(a);
        float* out = to[a].data();
        for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(from[row_of(keys_[i])] - query_[a]);
        std::fill(out + count, out + padded, 0.0f);
    }
    return padded;
}

}  // namespace resweep
