// What the threads that trace one sweep share.
#pragma once

#include <cstdint>

#include "trace/trace.hpp"

namespace resweep {

// What is traced, and where results go.
struct TraceJob {
    const Scene& scene;
    const ActorScene* actors;
    const Plan& plan;
    const FiredSweep& sweep;
    std::size_t largest_chunk;
    // By row of the firing: a thread writes what lies together, and no other writes there.
    std::uint8_t* status;
    std::uint8_t* counts;   // of returns
    EchoReading* readings;  // `max_returns` for each row
    EchoSource* sources;    // the same; null where `kind` decides all
    const Record* record;   // may be null
    bool beyond;            // whether pulses that hit nothing are followed further

    // Whether all that a ray can hit is of one kind, and which.
    bool one_kind() const {
        return scene.one_kind() &&
               (!actors || actors->empty() || (actors->one_kind() && actors->kind() == scene.kind()));
    }
    PrimitiveKind kind() const { return scene.kind(); }
    bool needs_sources() const { return record || !one_kind(); }
};

}  // namespace resweep
