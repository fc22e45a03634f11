// How one pulse becomes rays: the shape of its beam, and the order in which rays are traced.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "trace/pulses.hpp"

namespace resweep {

enum class Spot : int { kCircular = 0, kRectangular = 1, kElliptical = 2 };
enum class Profile : int { kUniform = 0, kGaussian = 1 };

// With `random` each ray is drawn over the spot. Otherwise `offsets` has the tangents (h, v) at 1 m of every ray, and
// `shares` how much of the beam it carries.
struct Beam {
    std::vector<std::array<float, 2>> offsets;
    std::vector<float> shares;
    bool random = false;
    int n_rays = 1;
    Spot spot = Spot::kCircular;
    Profile profile = Profile::kUniform;
    float divergence_h = 0.0f, divergence_v = 0.0f;

    // Whether each pulse is one ray on its axis.
    bool axial() const { return !random && n_rays == 1 && offsets[0][0] == 0.0f && offsets[0][1] == 0.0f; }
};

// Unit directions of rays, one array per coordinate. Ray r of pulse p of a batch is row r * count + p.
struct Rays {
    std::vector<float> direction[3];
    void resize(std::size_t count);
};

// Makes the rays of pulses, at fixed offsets from the axis or drawn over the spot.
class RaySpread {
  public:
    RaySpread(const Beam& beam, const Philox& random);
    void spread(const PulseBatch& batch, Rays& rays) const;

  private:
    void draw(std::uint32_t beam, std::uint32_t ray, float& h, float& v) const;

    const Beam& beam_;
    const Philox& random_;
    double half_h_, half_v_;
};

// The order in which the rays of a chunk of pulses are traced: from side to side, so that packets are narrow. Spots
// that overlap share packets.
class RayOrder {
  public:
    // The row of each ray in `Rays`, and the pulse it belongs to.
    struct Order {
        std::vector<std::uint32_t> row, pulse;
    };

    explicit RayOrder(const Beam& beam) : beam_(beam) {}

    // The order for `count` pulses that lie `spacing` radians apart, leftwards.
    const Order& of(std::size_t count, double spacing);

  private:
    const Beam& beam_;
    std::map<std::pair<std::size_t, int>, Order> known_;
};

}  // namespace resweep
