#include "trace/trace.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/parallel.hpp"
#include "trace/chunk_tracer.hpp"

namespace resweep {
namespace {

// Compare a return with how its primitive was seen. One that was made up has no range or incidence to be off from.
void judge_return(const Confidence& model, const Echo& echo, std::size_t row, TracedReturns& returns) {
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    const SeenInterval seen = unpack_seen(echo.seen);
    const bool measured = echo.seen && !seen.completed;
    const SeenOff off = measured ? compare_seen(seen, echo.range, echo.cosine) : SeenOff{1.0f, 0.0f};
    returns.seen_count.data[row] = static_cast<std::uint8_t>(seen.count);
    returns.completed.data[row] = seen.completed;
    returns.range_ratio.data[row] = measured ? off.range_ratio : kNone;
    returns.incidence_off.data[row] = measured ? off.incidence : kNone;
    returns.unknown.data[row] = echo.unknown;
    returns.seen.data[row] = echo.seen;
    returns.cosine.data[row] = echo.cosine;
    const Evidence evidence{echo.kind == PrimitiveKind::kVolumes,
                            seen.count,
                            seen.completed,
                            echo.range,
                            echo.cosine,
                            off.range_ratio,
                            off.incidence,
                            echo.unknown};
    returns.confidence.data[row] = echo.seen ? model.of(evidence) : kNone;
}

void prefetch([[maybe_unused]] const void* place) {
#ifdef __GNUC__
    __builtin_prefetch(place);
#endif
}

// Write the status of the beams first..last-1, and their returns from row `row` on.
void gather_block(const TraceJob& job, std::size_t first, std::size_t last, std::size_t row, TracedReturns& returns) {
    // Stores of bytes may change anything, as far as the compiler knows: what the loop reads is kept here.
    const Firing& firing = job.sweep.firing;
    const std::uint32_t* const rows = firing.rows();
    const float *const reported = firing.reported(), *const origin = firing.origin();
    const std::uint8_t *const status = job.status, *const counts = job.counts;
    const EchoReading* const readings = job.readings;
    const EchoSource* const sources = job.sources;
    const auto one_kind = static_cast<std::uint8_t>(job.kind());
    constexpr std::size_t kAhead = 24;  // beams: results of one column lie far apart
    const auto width = static_cast<std::size_t>(job.plan.receiver.max_returns);
    std::uint8_t* const beam_status = returns.status.data.get();
    std::int32_t *const beams = returns.beam.data.get(), *const label = returns.label.data.get(),
                        *const instance = returns.instance.data.get();
    float *const range = returns.range.data.get(), *const intensity = returns.intensity.data.get();
    std::uint8_t *const return_index = returns.return_index.data.get(), *const kind = returns.kind.data.get();
    float* point = returns.points.data.get() + 3 * row;
    for (std::size_t beam = first; beam < last; ++beam) {
        const std::size_t from = rows[beam];
        if (beam + kAhead < last && rows[beam + kAhead] != Firing::kNoRow)
            prefetch(readings + rows[beam + kAhead] * width);
        if (from == Firing::kNoRow) {
            beam_status[beam] = static_cast<std::uint8_t>(BeamStatus::kDropped);
            continue;
        }
        beam_status[beam] = status[from];
        const unsigned count = counts[from];
        for (unsigned k = 0; k < count; ++k, ++row, point += 3) {
            const EchoReading& echo = readings[from * width + k];
            beams[row] = static_cast<std::int32_t>(beam);
            range[row] = echo.range;
            intensity[row] = echo.intensity;
            label[row] = echo.label;
            instance[row] = echo.instance;
            for (std::size_t axis = 0; axis < 3; ++axis)
                point[axis] = reported[3 * beam + axis] * echo.range + (origin ? origin[3 * beam + axis] : 0.0f);
            kind[row] = sources ? static_cast<std::uint8_t>(sources[from * width + k].kind) : one_kind;
            return_index[row] = static_cast<std::uint8_t>(k);
            if (job.record) judge_return(job.record->confidence, {echo, sources[from * width + k]}, row, returns);
        }
    }
}

// The returns of all beams as columns, in the order of the beams.
void gather_columns(const TraceJob& job, int threads, TracedReturns& returns) {
    constexpr std::size_t kBlock = TraceJob::kBlock;
    const std::size_t n_beams = job.sweep.firing.n_beams(), n_blocks = (n_beams + kBlock - 1) / kBlock;
    std::vector<std::size_t> begins(n_blocks + 1, 0);
    for (std::size_t block = 0; block < n_blocks; ++block) begins[block + 1] = begins[block] + job.blocks[block];
    const std::size_t total = begins[n_blocks];
    returns.status.allocate(n_beams);
    returns.beam.allocate(total);
    returns.label.allocate(total);
    returns.instance.allocate(total);
    returns.range.allocate(total);
    returns.intensity.allocate(total);
    returns.return_index.allocate(total);
    returns.kind.allocate(total);
    returns.points.allocate(3 * total);
    const Record* record = job.record;
    if (record) {
        for (auto* column : {&returns.seen_count, &returns.completed}) column->allocate(total);
        for (auto* column :
             {&returns.range_ratio, &returns.incidence_off, &returns.unknown, &returns.confidence, &returns.cosine})
            column->allocate(total);
        returns.seen.allocate(total);
    }
    parallel(n_blocks, threads, [&] {
        return [&](std::size_t block) {
            const std::size_t end = std::min(n_beams, (block + 1) * kBlock);
            gather_block(job, block * kBlock, end, begins[block], returns);
        };
    });
}

template <int N> void trace_chunks(const TraceJob& job, int threads) {
    parallel(job.sweep.firing.n_chunks(), threads, [&] { return ChunkTracer<N>(job); });
}

}  // namespace

TracedReturns trace_pulses(const Scene& scene, const ActorScene* actors, const Plan& plan, const FiredSweep& sweep,
                           const TraceSettings& settings) {
    const Firing& firing = sweep.firing;
    TracedReturns returns;
    // Kept from sweep to sweep: new memory costs a page fault for every four kilobytes.
    thread_local std::vector<std::uint8_t> status, counts;
    thread_local std::vector<EchoReading> readings;
    thread_local std::vector<EchoSource> sources;
    status.resize(firing.n_rows());
    counts.resize(firing.n_rows());
    readings.resize(firing.n_rows() * static_cast<std::size_t>(plan.receiver.max_returns));
    std::vector<std::atomic<std::uint32_t>> blocks((firing.n_beams() + TraceJob::kBlock - 1) / TraceJob::kBlock);
    TraceJob job{scene,         actors,          plan,    sweep,         firing.largest_chunk(), status.data(),
                 counts.data(), readings.data(), nullptr, blocks.data(), settings.record};
    if (job.needs_sources()) {
        sources.resize(readings.size());
        job.sources = sources.data();
    }
    const int threads = thread_count(settings.threads);
    switch (settings.packet) {
        case 1: trace_chunks<1>(job, threads); break;
        case 16: trace_chunks<16>(job, threads); break;
        default: trace_chunks<8>(job, threads); break;
    }
    gather_columns(job, threads, returns);
    return returns;
}

void pulse_rays(const Plan& plan, const FiredSweep& sweep, std::vector<float>& origins,
                std::vector<float>& directions) {
    const Firing& firing = sweep.firing;
    const auto n_rays = static_cast<std::size_t>(plan.beam.n_rays), largest = firing.largest_chunk();
    origins.resize(3 * firing.n_pulses() * n_rays);
    directions.resize(3 * firing.n_pulses() * n_rays);
    PulseMaker maker(sweep, plan.noise, plan.beam.axial());
    const RaySpread spread(plan.beam, sweep.random);
    RayOrder ray_order(plan.beam);
    PulseBatch pulses;
    pulses.resize(largest);
    Rays rays;
    rays.resize(largest * n_rays);
    std::size_t out = 0;
    for (std::size_t chunk = 0; chunk < firing.n_chunks(); ++chunk) {
        const std::size_t first = firing.begin(chunk), last = firing.end(chunk);
        maker.make(first, last, pulses);
        spread.spread(pulses, rays);
        const RayOrder::Order& order = ray_order.of(pulses.count, pulse_spacing(firing, first, last));
        for (std::size_t i = 0; i < order.row.size(); ++i)
            for (int axis = 0; axis < 3; ++axis, ++out) {
                origins[out] = pulses.origin[axis][pulses.one_origin ? 0 : order.pulse[i]];
                directions[out] = rays.direction[axis][order.row[i]];
            }
    }
}

}  // namespace resweep
