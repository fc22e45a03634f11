// The one entry of the tracer: pulses in, returns out. Firing, beam, tracing and receiver are fused per chunk of
// pulses.
#pragma once

#include <cstdint>
#include <vector>

#include "core/columns.hpp"
#include "scene/actors.hpp"
#include "scene/observed.hpp"
#include "scene/scene.hpp"
#include "trace/beam.hpp"
#include "trace/confidence.hpp"
#include "trace/noise.hpp"
#include "trace/pulses.hpp"
#include "trace/receive.hpp"
#include "trace/sensor_calibration.hpp"

namespace resweep {

// A sensor as the tracer sees it.
struct Plan {
    Beam beam;
    Receiver receiver;
    Noise noise;
    SensorCalibration calibration = {};
};

// What a world knows of how it was recorded. A beam leaves observed space where it crosses more than `gap` metres of
// what no recorded beam crossed. Recorded beams without return looked no farther than `reach` metres.
struct Record {
    const ObservedSpace& space;
    float gap, reach;
    Confidence confidence;
};

struct TraceSettings {
    int threads = 0;  // 0: all cores
    int packet = 8;   // rays per Embree call: 1, 8 or 16. Widths differ in rounding, so all sweeps have the same.
    const Record* record = nullptr;  // null: the world does not know how it was recorded
    bool beyond = true;              // whether beams that hit nothing are followed beyond the maximum range
};

// Returns (n,) in the order of the beams, and the status of each beam (b,). `points` (n, 3) are in the sensor's frame
// when it fired.
struct TracedReturns {
    Buffer<std::int32_t> beam, label, instance;
    Buffer<float> range, intensity, points;
    Buffer<std::uint8_t> return_index, kind;
    Buffer<std::uint8_t> status;
    // Of a world with a record, else without rows: how often the primitive was seen, how far off that was, metres of
    // unknown space before it, the confidence, and whether the primitive was completed; its whole record, and the
    // cosine of the incidence.
    Buffer<std::uint8_t> seen_count, completed;
    Buffer<float> range_ratio, incidence_off, unknown, confidence, cosine;
    Buffer<Seen> seen;

    // Call `use(column, width)` for each column of returns and how many numbers a row of it has; of a world with a
    // record also for those that say how primitives were seen.
    template <class Use> void each(const Use& use, bool recorded) {
        for (auto* column : {&beam, &label, &instance}) use(*column, 1);
        for (auto* column : {&range, &intensity}) use(*column, 1);
        for (auto* column : {&return_index, &kind}) use(*column, 1);
        use(points, 3);
        if (!recorded) return;
        for (auto* column : {&seen_count, &completed}) use(*column, 1);
        for (auto* column : {&range_ratio, &incidence_off, &unknown, &confidence, &cosine}) use(*column, 1);
        use(seen, 1);
    }
};

// What the sensor measures with these pulses. `actors` may be null.
TracedReturns trace_pulses(const Scene& scene, const ActorScene* actors, const Plan& plan, const FiredSweep& sweep,
                           const TraceSettings& settings);

// Origins and directions (n, 3) of all rays that `trace_pulses` traces, in its order.
void pulse_rays(const Plan& plan, const FiredSweep& sweep, std::vector<float>& origins, std::vector<float>& directions);

}  // namespace resweep
