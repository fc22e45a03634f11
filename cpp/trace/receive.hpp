// The receiver: from the events of one pulse to the echoes that the sensor reports (B, section 3.2.3).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scene/event.hpp"

namespace resweep {

enum class ReturnMode : int { kFirst = 0, kLast = 1, kStrongest = 2, kStrongestAndLast = 3, kMultiple = 4 };

// What makes an echo the strongest: its most intense ray, or the light of its whole window.
enum class StrongestBy : int { kRay = 0, kEcho = 1 };

// Why a beam has a return, or has none.
enum class BeamStatus : std::uint8_t {
    kReturn = 0,
    kNothingHit = 1,
    kBelowThreshold = 2,
    kOutOfRange = 3,
    kDropped = 4,
    kEmptyAsRecorded = 6,  // 5 is a recorded beam without return, of which the reason is unknown
    kUnknown = 7
};

struct Receiver {
    ReturnMode mode = ReturnMode::kStrongest;
    int max_returns = 1;
    StrongestBy strongest_by = StrongestBy::kRay;
    float signal_cutoff = 1.0f;      // metres: length of the window
    float threshold = 0.0f;          // least light of an echo
    float range_min = 0.0f;          // metres
    float range_max = 100.0f;        // metres
    float falloff_reference = 0.0f;  // metres; 0: relative intensity does not fall with range
    float separation = 0.0f;         // metres: of two echoes nearer to each other than that, the stronger is reported
    float signal_reference = 0.0f;   // metres, where an echo's signal is its intensity; 0: it is, at any range
    float min_signal = 0.0f;         // of an echo, else it is lost; drawn for each pulse
};

// What an echo measures, and of what.
struct EchoReading {
    float range;
    float intensity;
    std::int32_t label;
    std::int32_t instance;
};

// What is known of the primitive that gave an echo.
struct EchoSource {
    PrimitiveKind kind;
    Seen seen = 0;
    float cosine = 1.0f;   // of the incidence
    float unknown = 0.0f;  // metres of unobserved space before it
};

// Kept apart by the tracer: most scenes need the readings alone.
struct Echo : EchoReading, EchoSource {};

// Form the echoes of one pulse into `echoes` (at most `receiver.max_returns`), and return why there is one, or none.
//
// A window of the length of the signal cutoff selects the events of an echo. Its position depends on the mode (B,
// figure 2): it begins at the nearest event (first), ends at the farthest (last) or is centred on the most intense ray
// (strongest). The range is the mean over the window, each ray weighted by its share of the beam. A window with less
// light than the threshold is passed over. The intensity is the light of all events in the window; label and instance
// are those that gave most of it. `events` is reordered.
BeamStatus receive(const Receiver& receiver, std::span<Event> events, std::vector<Echo>& echoes);

}  // namespace resweep
