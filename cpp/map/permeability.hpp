// Beams counted in volumes: how many passed each and how many ended there (A, section III-C).
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "scene/scene.hpp"

namespace resweep {

// Beams in the world: `length` says where each ended, or how far it was followed if it did not return.
struct FiredBeams {
    const float* origin;     // (n, 3)
    const float* direction;  // (n, 3) unit
    const float* length;     // (n,)
    const bool* returned;    // (n,)
    std::size_t count;
};

class BeamCounter {
  public:
    explicit BeamCounter(Volumes volumes);

    // Count further beams, each `slope` wide at 1 m. A beam that ends within tau of volumes is stopped by the one whose
    // Gaussian is densest there, and has passed those whose middle it had reached. Sums are of whole numbers, so that
    // they do not depend on order or threads.
    void add(const FiredBeams& beams, float slope, int threads);

    std::vector<std::uint32_t> passed() const;
    std::vector<std::uint32_t> stopped() const;
    // Mean exposure of the counted beams, metres; 0 where none was.
    std::vector<float> exposure() const;

  private:
    void count(const FiredBeams& beams, std::size_t row, float slope, const std::vector<Crossing>& crossings);

    Scene scene_;
    float tau_, element_;
    std::vector<float> log_det_;
    std::vector<std::atomic<std::uint32_t>> passed_, stopped_;
    std::vector<std::atomic<std::uint64_t>> exposure_;
};

}  // namespace resweep
