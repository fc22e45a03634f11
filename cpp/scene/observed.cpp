#include "scene/observed.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "core/parallel.hpp"

namespace resweep {
namespace {

constexpr std::uint32_t kFree = 0xFFFFFFFFu;
constexpr std::int64_t kHalf = 1 << 20;    // of the places that 21 bits can tell apart
constexpr double kMostVoxels = 100'000.0;  // along one beam; one that crosses more has no true length
constexpr std::uint64_t kNoKey = ~std::uint64_t{0};

std::uint64_t key_of(std::int64_t x, std::int64_t y, std::int64_t z) {
    const auto part = [](std::int64_t at) { return static_cast<std::uint64_t>(at + kHalf) & 0x1FFFFFu; };
    return part(x) << 42 | part(y) << 21 | part(z);
}

std::int32_t place_of(std::uint64_t key, int axis) {
    return static_cast<std::int32_t>(static_cast<std::int64_t>(key >> (42 - 21 * axis) & 0x1FFFFFu) - kHalf);
}

std::uint64_t hash(std::uint64_t key) {
    key *= 0x9E3779B97F4A7C15ull;
    return key ^ key >> 32;
}

std::uint64_t bit_of(std::int64_t x, std::int64_t y) { return std::uint64_t{1} << (8 * (y & 7) + (x & 7)); }

// Call `visit(x, y, z, from, to)` for each voxel that a segment crosses, from range to range, until it returns false
// (Amanatides and Woo 1987).
template <class Visit>
void cross_voxels(const float origin[3], const float direction[3], double length, double voxel, const Visit& visit) {
    if (!(length > 0.0) || !(length < kMostVoxels * voxel)) return;
    std::int64_t at[3];
    int step[3];
    double next[3], stride[3];
    for (int axis = 0; axis < 3; ++axis) {
        const double from = origin[axis], along = direction[axis];
        if (!std::isfinite(from) || !std::isfinite(along) || std::fabs(from) > 8.0 * (kHalf - 1) * voxel / 2) return;
        at[axis] = static_cast<std::int64_t>(std::floor(from / voxel));
        step[axis] = along > 0.0 ? 1 : -1;
        const double border = static_cast<double>(at[axis] + (along > 0.0)) * voxel;
        const double infinite = std::numeric_limits<double>::infinity();
        next[axis] = along != 0.0 ? (border - from) / along : infinite;
        stride[axis] = along != 0.0 ? voxel / std::fabs(along) : infinite;
    }
    double from = 0.0;
    while (from < length) {
        const int axis = next[0] < next[1] ? (next[0] < next[2] ? 0 : 2) : (next[1] < next[2] ? 1 : 2);
        const double to = std::min(next[axis], length);
        if (!visit(at[0], at[1], at[2], from, to)) return;
        from = next[axis];
        at[axis] += step[axis];
        next[axis] += stride[axis];
    }
}

}  // namespace

ObservedSpace::Bits* ObservedSpace::find(std::uint64_t key) const {
    if (slots_.empty()) return nullptr;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash(key) & mask; slots_[at].block != kFree; at = (at + 1) & mask)
        if (slots_[at].key == key) return &bits_[slots_[at].block];
    return nullptr;
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

ObservedSpace::Bits& ObservedSpace::obtain(std::uint64_t key) {
    if (Bits* found = find(key)) return *found;
    if (2 * (keys_.size() + 1) > slots_.size()) grow();
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash(key) & mask;
    while (slots_[at].block != kFree) at = (at + 1) & mask;
    slots_[at] = {key, static_cast<std::uint32_t>(keys_.size())};
    keys_.push_back(key);
    bits_.push_back(Bits{});
    return bits_.back();
}

void ObservedSpace::mark_beam(const float origin[3], const float direction[3], double length, double spread) {
    std::uint64_t last = kNoKey;
    Bits* block = nullptr;
    cross_voxels(origin, direction, length, voxel_,
                 [&](std::int64_t x, std::int64_t y, std::int64_t z, double from, double to) {
                     const auto around = static_cast<std::int64_t>(spread * (from + to) / (2.0 * voxel_) + 0.5);
                     for (std::int64_t k = z - around; k <= z + around; ++k) {
                         const std::uint64_t key = key_of(x >> 3, y >> 3, k >> 3);
                         if (key != last) {
                             block = &obtain(key);
                             last = key;
                         }
                         (*block)[k & 7] |= bit_of(x, y);
                     }
                     return true;
                 });
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
            Bits& own = obtain(part.keys_[block]);
            for (std::size_t word = 0; word < own.size(); ++word) own[word] |= part.bits_[block][word];
        }
}

void ObservedSpace::add(const std::int32_t* place, const std::uint64_t* bits, std::size_t count) {
    for (std::size_t i = 0; i < 3 * count; ++i)
        if (place[i] < -kHalf || place[i] >= kHalf) throw std::invalid_argument("place: a block is too far away");
    for (std::size_t block = 0; block < count; ++block) {
        Bits& own = obtain(key_of(place[3 * block], place[3 * block + 1], place[3 * block + 2]));
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

ObservedPath ObservedSpace::follow(const float origin[3], const float direction[3], float range, float gap,
                                   bool stop) const {
    std::uint64_t last = kNoKey;
    const Bits* block = nullptr;
    double unknown = 0.0, open = -1.0;  // where the stretch that nobody observed began
    double left = std::numeric_limits<double>::infinity();
    cross_voxels(origin, direction, range, voxel_,
                 [&](std::int64_t x, std::int64_t y, std::int64_t z, double from, double to) {
                     const std::uint64_t key = key_of(x >> 3, y >> 3, z >> 3);
                     if (key != last) {
                         block = find(key);
                         last = key;
                     }
                     if (block && (*block)[z & 7] & bit_of(x, y)) {
                         open = -1.0;
                         return true;
                     }
                     unknown += to - from;
                     if (open < 0.0) open = from;
                     if (to - open > gap) left = std::min(left, open);
                     return !(stop && left < range);
                 });
    return {static_cast<float>(unknown), static_cast<float>(left)};
}

}  // namespace resweep
