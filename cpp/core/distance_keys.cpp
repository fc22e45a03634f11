#include "core/distance_keys.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/multiversion.hpp"

namespace resweep {
namespace {

RESWEEP_MULTIVERSION void mark_near(const float* distance2, std::size_t count, float bound, std::uint8_t* marks) {
    for (std::size_t i = 0; i < count; ++i) marks[i] = distance2[i] <= bound;
}

}  // namespace

RESWEEP_MULTIVERSION void distances2(const std::int32_t* const axes[3], std::size_t count, const GridPoint& query,
                                     float* out) {
    const std::int32_t *xs = axes[0], *ys = axes[1], *zs = axes[2], qx = query[0], qy = query[1], qz = query[2];
    for (std::size_t i = 0; i < count; ++i)
        out[i] = squared_length(static_cast<float>(xs[i] - qx), static_cast<float>(ys[i] - qy),
                                static_cast<float>(zs[i] - qz));
}

RESWEEP_MULTIVERSION void distances2(const std::int32_t* const axes[3], std::size_t count, const Position& query,
                                     float* out) {
    const std::int32_t *xs = axes[0], *ys = axes[1], *zs = axes[2];
    const double qx = query[0], qy = query[1], qz = query[2];
    for (std::size_t i = 0; i < count; ++i)
        out[i] = squared_length(static_cast<float>(xs[i] - qx), static_cast<float>(ys[i] - qy),
                                static_cast<float>(zs[i] - qz));
}

RESWEEP_MULTIVERSION std::size_t count_near(const float* distance2, std::size_t count, float bound) {
    std::uint32_t found = 0;
    for (std::size_t i = 0; i < count; ++i) found += distance2[i] <= bound;
    return found;
}

RESWEEP_MULTIVERSION float least(const float* distance2, std::size_t count) {
    std::uint32_t bits = std::bit_cast<std::uint32_t>(distance2[0]);  // which rise as the distances do
    for (std::size_t i = 1; i < count; ++i) bits = std::min(bits, std::bit_cast<std::uint32_t>(distance2[i]));
    return std::bit_cast<float>(bits);
}

void Keys::append_near(const float* distance2, std::size_t count, float bound, std::uint32_t first_row) {
    if (size_ + count > capacity_) {
        capacity_ = 2 * (size_ + count);
        auto grown = std::make_unique_for_overwrite<Key[]>(capacity_);
        std::copy(begin(), end(), grown.get());
        data_ = std::move(grown);
    }
    // Most are too far: mark the near ones in a vectorised loop, then visit only the marks.
    constexpr std::size_t kBlock = 512, kWord = sizeof(std::uint64_t);
    std::uint8_t marks[kBlock];
    Key* out = end();
    for (std::size_t first = 0; first < count; first += kBlock) {
        const std::size_t size = std::min(kBlock, count - first);
        mark_near(distance2 + first, size, bound, marks);
        std::fill(marks + size, marks + (size + kWord - 1) / kWord * kWord, std::uint8_t{0});
        for (std::size_t word = 0; word < size; word += kWord) {
            std::uint64_t any;
            std::memcpy(&any, marks + word, kWord);
            if (any == 0) continue;
            for (std::size_t i = first + word; i < std::min(first + word + kWord, count); ++i) {
                *out = key_of(distance2[i], first_row + static_cast<std::uint32_t>(i));
                out += marks[i - first];
            }
        }
    }
    size_ = static_cast<std::size_t>(out - begin());
}

void Keys::keep_nearest(std::size_t k) {
    if (size_ <= k) return;
    std::nth_element(begin(), begin() + k - 1, end());
    size_ = k;
}

}  // namespace resweep
