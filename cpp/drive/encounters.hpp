// How near a vehicle and an actor come to each other, over their continuous motion.
#pragma once

#include "core/motion.hpp"

namespace resweep {

// Something that moves: its poses over time, and lowest and highest corner (2, 3) in its own frame.
struct MovingBox {
    const Motion& motion;
    const double* box;
};

// `time`: the second of the first contact, NaN if there is none. `distance`: the least before it, metres.
struct Contact {
    double time, distance;
};

// What happens between two boxes from one second to another, as far as the actor is there. The distance cannot shrink
// faster than both move: intervals in which it cannot reach zero are left out whole, others are divided down to a tenth
// of a millisecond (conservative advancement). Distances are measured every 20 ms, and at the knots of both motions.
Contact find_contact(const MovingBox& vehicle, const MovingBox& actor, double from, double to);

// `present`: whether the actor is there. Distances of those that cannot come within `near` metres are infinite. The
// time to collision is that until both boxes touch if they keep their velocities, in tenths of a second; infinity if
// that takes longer than `horizon` seconds.
struct Encounter {
    bool present;
    Contact contact;
    double time_to_collision;
};

struct EncounterSettings {
    double reach;  // from the vehicle's origin to the farthest corner of its box, metres
    double near, horizon;
};

// What happens along the whole motion of the vehicle; `radius` is the reach of the actor.
Encounter watch(const MovingBox& vehicle, const MovingBox& actor, double radius, const EncounterSettings& settings);

}  // namespace resweep
