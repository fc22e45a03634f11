// What a ray query hands to the callbacks of splats and volumes; a ray's id says which place is its own.
#pragma once

#include <cstdint>
#include <vector>

#include "core/embree.hpp"

namespace resweep {

struct DiscHits;
struct Crossing;

struct QueryContext {
    RayQueryContext embree;
    DiscHits* hits = nullptr;                    // where splats are gathered
    const std::uint64_t* keys = nullptr;         // random bits of each ray's pulse
    float slope = 0.0f;                          // width of the beam at 1 m, if one ray stands for all of it
    std::vector<Crossing>* crossings = nullptr;  // if not null, volumes are noted here and let all rays pass
};

}  // namespace resweep
