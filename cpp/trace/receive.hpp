// The receiver: from the events of one pulse to the echoes that the sensor reports (B, section 3.2.3).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scene/scene.hpp"

namespace resweep {

enum class Mode : int { kFirst = 0, kLast = 1, kStrongest = 2, kStrongestAndLast = 3, kMultiple = 4 };
enum class Status : std::uint8_t { kReturn = 0, kNothingHit = 1, kBelowThreshold = 2, kOutOfRange = 3, kDropped = 4 };

struct Receiver {
    Mode mode = Mode::kStrongest;
    int max_returns = 1;
    bool strongest_by_echo = false;  // the window with most light, instead of the one of the most intense ray
    float signal_cutoff = 1.0f;
    float threshold = 0.0f;
    float range_min = 0.0f;
    float range_max = 100.0f;
    float falloff_reference = 0.0f;  // metres; 0: relative intensity does not fall with range
};

struct Echo {
    float range;
    float intensity;
    std::int32_t label;
    std::int32_t instance;
    Kind kind;
};

// Form the echoes of one pulse into `echoes` (at most `receiver.max_returns`) and say what came of it.
//
// A window of the length of the signal cutoff is laid over the signal, and where it lies depends on
// the mode (B, figure 2): it begins at the nearest event (first), ends at the furthest (last) or is
// centred on the most intense ray (strongest). The range is the mean over the window, each ray counted
// by its share of the beam. A window with less light than the threshold is passed over.
// `events` is reordered. Each echo has the light of all events in its window; its label and
// instance are those that gave most of that light.
Status receive(const Receiver& receiver, std::span<Event> events, std::vector<Echo>& echoes);

}  // namespace resweep
