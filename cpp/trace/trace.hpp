// The one entry of the tracer: pulses in, returns out. Firing, beam, tracing and receiver are fused per chunk of
// pulses.
#pragma once

#include <cstdint>
#include <vector>

#include "core/columns.hpp"
#include "scene/actors.hpp"
#include "scene/scene.hpp"
#include "trace/beam.hpp"
#include "trace/noise.hpp"
#include "trace/pulses.hpp"
#include "trace/receive.hpp"

namespace resweep {

// A sensor as the tracer sees it.
struct Plan {
    Beam beam;
    Receiver receiver;
    Noise noise;
};

struct TraceSettings {
    int threads = 0;  // 0: all cores
    int packet = 8;   // rays per Embree call: 1, 8 or 16. Widths differ in rounding, so all sweeps have the same.
};

// Returns (n,) in the order of the beams, and the status of each beam (b,). `points` (n, 3) are in the sensor's frame
// when it fired.
struct TracedReturns {
    Buffer<std::int32_t> beam, label, instance;
    Buffer<float> range, intensity, points;
    Buffer<std::uint8_t> return_index, kind;
    Buffer<std::uint8_t> status;
};

// What the sensor measures with these pulses. `actors` may be null.
TracedReturns trace_pulses(const Scene& scene, const ActorScene* actors, const Plan& plan, const FiredSweep& sweep,
                           const TraceSettings& settings);

// Origins and directions (n, 3) of all rays that `trace_pulses` traces, in its order.
void pulse_rays(const Plan& plan, const FiredSweep& sweep, std::vector<float>& origins, std::vector<float>& directions);

}  // namespace resweep
