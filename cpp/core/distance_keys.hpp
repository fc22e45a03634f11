// Squared distances of points on an integer grid, and keys that order points by distance.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace resweep {

using GridPoint = std::array<std::int32_t, 3>;  // in whole steps of the grid
using Position = std::array<double, 3>;         // anywhere, in steps
using Key = std::uint64_t;                      // a squared distance in steps² and a row, ordered as (distance, row)

// A list of keys whose memory is not cleared first.
class Keys {
  public:
    Key* begin() { return data_.get(); }
    Key* end() { return data_.get() + size_; }
    const Key* begin() const { return data_.get(); }
    const Key* end() const { return data_.get() + size_; }
    Key operator[](std::size_t i) const { return data_[i]; }
    std::size_t size() const { return size_; }
    void clear() { size_ = 0; }
    // Append the keys of those of `count` distances that are at most `bound`; rows count up from `first_row`.
    void append_near(const float* distance2, std::size_t count, float bound, std::uint32_t first_row);
    // Keep the `k` smallest, in any order; if some were removed, the largest of those kept comes last.
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

// x² + y² + z². All distances add in this order, so that a box is never farther than a point in it.
inline float squared_length(float x, float y, float z) { return (x * x + y * y) + z * z; }

// Squared distances (count) from `query` of points given by axis.
void distances2(const std::int32_t* const axes[3], std::size_t count, const GridPoint& query, float* out);
void distances2(const std::int32_t* const axes[3], std::size_t count, const Position& query, float* out);
// The least of the distances, of which there is one at least.
float least(const float* distance2, std::size_t count);
// How many of the distances are at most `bound`.
std::size_t count_near(const float* distance2, std::size_t count, float bound);

}  // namespace resweep
