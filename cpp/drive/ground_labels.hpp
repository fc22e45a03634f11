// Which hits of a world count as its ground.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace resweep {

// Ids of the classes of the ground, and those that stand for no class.
struct GroundLabels {
    std::vector<std::int32_t> ground, unlabelled;

    bool is_ground(std::int32_t label) const { return std::find(ground.begin(), ground.end(), label) != ground.end(); }
    bool is_unlabelled(std::int32_t label) const {
        return std::find(unlabelled.begin(), unlabelled.end(), label) != unlabelled.end();
    }
};

}  // namespace resweep
