// Observed space: the voxels that recorded beams crossed. Blocks of 8 x 8 x 8 voxels have a bit for each.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace resweep {

// Beams from `origin` (n, 3) along unit `direction` (n, 3), as far as `length` (n,); metres.
struct CrossingBeams {
    const float* origin;
    const float* direction;
    const float* length;
    std::size_t count;
};

// What a beam crosses up to some range: metres of it that no recorded beam crossed, and the range at which it first
// leaves observed space for more than a gap; infinity if it does not.
struct ObservedPath {
    float unknown, left;
};

class ObservedSpace {
  public:
    using Bits = std::array<std::uint64_t, 8>;  // a word for each z of the block; bit 8 y + x of it

    static constexpr std::uint64_t kNoKey = ~std::uint64_t{0};  // of no block

    // Finds blocks for beams of one thread, and remembers the last ones: neighbouring beams cross the same. The space
    // does not change while it is read.
    class Reader {
      public:
        explicit Reader(const ObservedSpace& space) : space_(space), keys_(kKept, kNoKey), blocks_(kKept) {}

        // Null where nothing of the block was observed.
        const Bits* find(std::uint64_t key);

      private:
        static constexpr std::size_t kKept = 512;
        const ObservedSpace& space_;
        std::vector<std::uint64_t> keys_;
        std::vector<const Bits*> blocks_;
    };

    explicit ObservedSpace(double voxel) : voxel_(voxel) {}

    double voxel() const { return voxel_; }

    // Add the voxels that the beams cross, the last one included. Half the angle between neighbouring beams of one
    // column, `spread` radians, is added above and below each of them.
    void mark(const CrossingBeams& beams, double spread, int threads);

    // Add blocks: their places (n, 3) and their bits (n, 8).
    void add(const std::int32_t* place, const std::uint64_t* bits, std::size_t count);

    // The blocks, in the order of their places: x, then y, then z.
    void blocks(std::vector<std::int32_t>& place, std::vector<std::uint64_t>& bits) const;

    // Follow a beam up to `range`. With `stop` it is followed no farther than to where it leaves observed space.
    ObservedPath follow(const float origin[3], const float direction[3], float range, float gap, bool stop,
                        Reader& reader) const;

    // Whether a beam surely leaves observed space nowhere up to `range` for more than `gap`: from two looks or more in
    // each gap, so it is quicker than `follow`. False decides nothing.
    bool stays_observed(const float origin[3], const float direction[3], float range, float gap, Reader& reader) const;

    // Metres of a beam up to `range` that nobody observed, from one look in every 2 m: quicker, for beams that
    // returned.
    float sample(const float origin[3], const float direction[3], float range, Reader& reader) const;

    std::size_t n_blocks() const { return keys_.size(); }

  private:
    struct Slot {
        std::uint64_t key;
        std::uint32_t block;
    };

    Bits* find(std::uint64_t key) const;
    std::size_t obtain(std::uint64_t key);  // the number of a block, which is added if it is not there
    void grow();
    void mark_beam(const float origin[3], const float direction[3], double length, double spread);

    double voxel_;
    std::vector<std::uint64_t> keys_;  // of each block
    mutable std::vector<Bits> bits_;
    std::vector<Slot> slots_;  // open addressing; a power of two of them
};

}  // namespace resweep
