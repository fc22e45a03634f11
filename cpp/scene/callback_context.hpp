// What a ray query passes to the callbacks of splats and volumes. A ray's id is its row in each of these arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "core/embree_types.hpp"

namespace resweep {

struct DiscHits;
struct DiscCrossing;
struct Crossing;

// A volume that stopped a ray: the range at which it did, and its number.
struct StoppedBy {
    float range;
    std::uint64_t number;
};

// `embree` comes first: callbacks get a pointer to it, and cast that to the whole.
struct CallbackContext {
    RayQueryContext embree;
    DiscHits* hits = nullptr;                           // where splats are gathered
    const std::uint64_t* keys = nullptr;                // random bits of each ray's pulse
    float slope = 0.0f;                                 // width of the beam at 1 m, if one ray stands for all of it
    std::vector<Crossing>* crossings = nullptr;         // if not null, volumes are recorded here and let all rays pass
    std::vector<DiscCrossing>* passed_discs = nullptr;  // the same of permeable discs
    std::uint32_t* cells = nullptr;                     // the cell of a divided scene that each ray's hit is in
    StoppedBy* stopped = nullptr;                       // the last volume that stopped each ray
    IntersectArguments* arguments = nullptr;            // of this query, to look into a cell with
};

}  // namespace resweep
