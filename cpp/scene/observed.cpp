#include "scene/observed.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "core/multiversion.hpp"
#include "core/parallel.hpp"
#include "scene/voxel_walk.hpp"

namespace resweep {
namespace {

constexpr std::uint32_t kFree = 0xFFFFFFFFu;
constexpr float kInfinite = std::numeric_limits<float>::infinity();

std::uint64_t key_of(std::int64_t x, std::int64_t y, std::int64_t z) {
    const auto part = [](std::int64_t at) { return static_cast<std::uint64_t>(at + VoxelWalk::kHalf) & 0x1FFFFFu; };
    return part(x) << 42 | part(y) << 21 | part(z);
}

std::int32_t place_of(std::uint64_t key, int axis) {
    return static_cast<std::int32_t>(static_cast<std::int64_t>(key >> (42 - 21 * axis) & 0x1FFFFFu) - VoxelWalk::kHalf);
}

std::uint64_t hash(std::uint64_t key) {
    key *= 0x9E3779B97F4A7C15ull;
    return key ^ key >> 32;
}

std::uint64_t bit_of(std::int64_t x, std::int64_t y) { return std::uint64_t{1} << (8 * (y & 7) + (x & 7)); }

bool is_full(const ObservedSpace::Bits& bits) {
    std::uint64_t all = ~std::uint64_t{0};
    for (const std::uint64_t word : bits) all &= word;
    return all == ~std::uint64_t{0};
}

// Whether all of a beam is so near that voxels have numbers.
bool is_near(const float origin[3], double range, double voxel) {
    const double most = 4.0 * static_cast<double>(VoxelWalk::kHalf) * voxel;
    for (int axis = 0; axis < 3; ++axis)
        if (!(std::fabs(double{origin[axis]}) + range < most)) return false;
    return true;
}

// The looks, `step` apart from the range `first` on, at which the voxel that a beam is in is unobserved; with `stop`
// no more than one.
RESWEEP_MULTIVERSION std::size_t count_unknown(const float* origin, const float* direction, double first, double step,
                                               std::size_t count, double scale, bool stop,
                                               ObservedSpace::Reader& reader) {
    // Four numbers and not three, so that they fill a vector.
    const double from[4] = {origin[0], origin[1], origin[2], 0.0};
    const double along[4] = {direction[0], direction[1], direction[2], 0.0};
    std::uint64_t last = ObservedSpace::kNoKey;
    const ObservedSpace::Bits* block = nullptr;
    std::size_t unknown = 0;
    double range = first;
    for (std::size_t i = 0; i < count && !(stop && unknown); ++i, range = first + step * static_cast<double>(i)) {
        std::int32_t at[4];
        for (int axis = 0; axis < 4; ++axis) {
            const double value = (from[axis] + range * along[axis]) * scale;
            const auto whole = static_cast<std::int32_t>(value);
            at[axis] = whole - (value < static_cast<double>(whole) ? 1 : 0);
        }
        const std::uint64_t key = key_of(at[0] >> 3, at[1] >> 3, at[2] >> 3);
        if (key != last) {
            block = reader.find(key);
            last = key;
        }
        unknown += !block || !((*block)[at[2] & 7] & bit_of(at[0], at[1]));
    }
    return unknown;
}

}  // namespace

ObservedSpace::Bits* ObservedSpace::find(std::uint64_t key) const {
    if (slots_.empty()) return nullptr;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash(key) & mask; slots_[at].block != kFree; at = (at + 1) & mask)
        if (slots_[at].key == key) return &bits_[slots_[at].block];
    return nullptr;
}

const ObservedSpace::Bits* ObservedSpace::Reader::find(std::uint64_t key) {
    const std::size_t at = hash(key) & (kKept - 1);
    if (keys_[at] != key) {
        keys_[at] = key;
        blocks_[at] = space_.find(key);
    }
    return blocks_[at];
}

void ObservedSpace::grow() {
    std::vector<Slot> larger(std::max<std::size_t>(1024, 2 * slots_.size()), Slot{0, kFree});
    const std::size_t mask = larger.size() - 1;
    for (std::size_t block = 0; block < keys_.size(); ++block) {
        std::size_t at = hash(keys_[block]) & mask;
        while (larger[at].block != kFree) at = (at + 1) & mask;
        larger[at] = {keys_[block], static_cast<std::uint32_t>(block)};
    }
    slots_.swap(larger);
}

std::size_t ObservedSpace::obtain(std::uint64_t key) {
    if (const Bits* found = find(key)) return static_cast<std::size_t>(found - bits_.data());
    if (2 * (keys_.size() + 1) > slots_.size()) grow();
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash(key) & mask;
    while (slots_[at].block != kFree) at = (at + 1) & mask;
    slots_[at] = {key, static_cast<std::uint32_t>(keys_.size())};
    keys_.push_back(key);
    bits_.push_back(Bits{});
    return keys_.size() - 1;
}

void ObservedSpace::mark_beam(const float origin[3], const float direction[3], double length, double spread) {
    VoxelWalk walk;
    if (!is_length(length, voxel_) || !walk.begin(origin, direction, voxel_)) return;
    // The blocks that the beam was in last: it goes back and forth between those above each other.
    constexpr std::int64_t kKept = 4;
    std::uint64_t keys[kKept] = {kNoKey, kNoKey, kNoKey, kNoKey};
    std::size_t kept[kKept] = {};
    const double share = 1.0 / (2.0 * voxel_);
    for (double from = 0.0; from < length; walk.advance()) {
        const double to = walk.leaves_at();
        const std::int64_t x = walk.at[0], y = walk.at[1], z = walk.at[2];
        const auto around = static_cast<std::int64_t>(spread * (from + std::min(to, length)) * share + 0.5);
        const std::uint64_t bit = bit_of(x, y);
        for (std::int64_t k = z - around; k <= z + around;) {
            const std::int64_t level = k >> 3, end = std::min(z + around + 1, 8 * (level + 1));
            const std::uint64_t key = key_of(x >> 3, y >> 3, level);
            if (keys[level & (kKept - 1)] != key) {
                keys[level & (kKept - 1)] = key;
                kept[level & (kKept - 1)] = obtain(key);
            }
            Bits& block = bits_[kept[level & (kKept - 1)]];
            for (; k < end; ++k) block[k & 7] |= bit;
        }
        from = to;
    }
}

void ObservedSpace::mark(const CrossingBeams& beams, double spread, int threads) {
    const auto pieces = static_cast<std::size_t>(thread_count(threads));
    std::vector<ObservedSpace> parts(pieces, ObservedSpace(voxel_));
    parallel(pieces, static_cast<int>(pieces), [&] {
        return [&](std::size_t piece) {
            for (std::size_t row = beams.count * piece / pieces; row < beams.count * (piece + 1) / pieces; ++row)
                parts[piece].mark_beam(beams.origin + 3 * row, beams.direction + 3 * row, beams.length[row], spread);
        };
    });
    for (const ObservedSpace& part : parts)
        for (std::size_t block = 0; block < part.keys_.size(); ++block) {
            Bits& own = bits_[obtain(part.keys_[block])];
            for (std::size_t word = 0; word < own.size(); ++word) own[word] |= part.bits_[block][word];
        }
}

void ObservedSpace::add(const std::int32_t* place, const std::uint64_t* bits, std::size_t count) {
    for (std::size_t i = 0; i < 3 * count; ++i)
        if (place[i] < -VoxelWalk::kHalf || place[i] >= VoxelWalk::kHalf)
            throw std::invalid_argument("place: a block is too far away");
    for (std::size_t block = 0; block < count; ++block) {
        Bits& own = bits_[obtain(key_of(place[3 * block], place[3 * block + 1], place[3 * block + 2]))];
        for (std::size_t word = 0; word < own.size(); ++word) own[word] |= bits[own.size() * block + word];
    }
}

void ObservedSpace::blocks(std::vector<std::int32_t>& place, std::vector<std::uint64_t>& bits) const {
    std::vector<std::uint32_t> order(keys_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return keys_[a] < keys_[b]; });
    place.clear();
    bits.clear();
    for (const std::uint32_t block : order) {
        for (int axis = 0; axis < 3; ++axis) place.push_back(place_of(keys_[block], axis));
        bits.insert(bits.end(), bits_[block].begin(), bits_[block].end());
    }
}

ObservedPath ObservedSpace::follow(const float origin[3], const float direction[3], float range, float gap, bool stop,
                                   Reader& reader) const {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    VoxelWalk walk;
    if (!is_length(range, voxel_) || !walk.begin(origin, direction, voxel_)) return {0.0f, kInfinite};
    std::uint64_t last = kNoKey;
    const Bits* block = nullptr;
    bool whole = false;                                // all of the block is observed, or nothing
    double unknown = 0.0, open = -1.0, left = kNever;  // `open`: where the unobserved stretch began
    for (double from = 0.0; from < range && !(stop && left < kNever);) {
        const std::int64_t x = walk.at[0], y = walk.at[1], z = walk.at[2];
        const std::uint64_t key = key_of(x >> 3, y >> 3, z >> 3);
        if (key != last) {
            block = reader.find(key);
            whole = !block || is_full(*block);
            last = key;
        }
        int axis = 0;
        const double end = whole ? walk.leaves_block_at(axis) : walk.leaves_at();
        const double to = std::min(end, double{range});
        if (block && (whole || (*block)[z & 7] & bit_of(x, y))) {
            open = -1.0;
        } else {
            unknown += std::max(0.0, to - from);
            if (open < 0.0) open = from;
            if (to - open > gap) left = std::min(left, open);
        }
        whole ? walk.leave_block(end, axis) : walk.advance();
        from = std::max(from, end);
    }
    return {static_cast<float>(unknown), static_cast<float>(left)};
}

bool ObservedSpace::stays_observed(const float origin[3], const float direction[3], float range, float gap,
                                   Reader& reader) const {
    const double step = 0.45 * gap;  // two looks in each gap: one that rounding puts into another voxel does not matter
    if (step < 0.5 * voxel_ || !is_length(range, voxel_) || !is_near(origin, range, voxel_)) return false;
    const auto count = static_cast<std::size_t>(range / step) + 1;
    return count_unknown(origin, direction, 0.0, step, count, 1.0 / voxel_, true, reader) == 0;
}

float ObservedSpace::sample(const float origin[3], const float direction[3], float range, Reader& reader) const {
    constexpr double kStep = 2.0;
    if (!is_length(range, voxel_)) return 0.0f;
    if (!is_near(origin, range, voxel_)) return range;
    // Whole steps are looked at in their middles, and so is what is left of the range.
    const auto whole = static_cast<std::size_t>(range / kStep);
    const double covered = kStep * static_cast<double>(whole), scale = 1.0 / voxel_;
    double unknown =
        kStep * static_cast<double>(count_unknown(origin, direction, 0.5 * kStep, kStep, whole, scale, false, reader));
    if (covered < range && count_unknown(origin, direction, 0.5 * (covered + range), 0.0, 1, scale, false, reader))
        unknown += range - covered;
    return static_cast<float>(unknown);
}

}  // namespace resweep
