// Counts of beams in volumes: how many passed each, and how many ended in it (A, section III-C).
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "scene/scene.hpp"

namespace resweep {

// Beams in the world. `length` is the range of the return, or how far a beam without return is followed.
struct MeasuredBeams {
    const float* origin;     // (n, 3)
    const float* direction;  // (n, 3) unit
    const float* length;     // (n,)
    const bool* has_return;  // (n,)
    std::size_t count;
};

class BeamCounter {
  public:
    explicit BeamCounter(Volumes volumes);

    // Count further beams, each `slope` wide at 1 m. A beam that ends within tau of volumes is stopped by the one whose
    // Gaussian is densest there; it has passed those whose centre it crossed before. Sums are of integers, so they do
    // not depend on order or threads.
    void add(const MeasuredBeams& beams, float slope, int threads);

    std::vector<std::uint32_t> passed() const;
    std::vector<std::uint32_t> stopped() const;
    // Mean exposure of the counted beams, metres; 0 where there are none.
    std::vector<float> exposure() const;

  private:
    void count(const MeasuredBeams& beams, std::size_t row, float slope, const std::vector<Crossing>& crossings);

    Scene scene_;
    float tau_, element_;
    std::vector<float> log_det_;
    std::vector<std::atomic<std::uint32_t>> passed_, stopped_;
    std::vector<std::atomic<std::uint64_t>> exposure_;
};

}  // namespace resweep
