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

// The returns of all beams as columns, in the order of the beams.
void gather_columns(const TraceJob& job, int threads, TracedReturns& returns) {
    constexpr std::size_t kBlock = TraceJob::kBlock;
    const Firing& firing = job.sweep.firing;
    const std::size_t n_beams = firing.n_beams(), n_blocks = (n_beams + kBlock - 1) / kBlock;
    const auto max_returns = static_cast<std::size_t>(job.plan.receiver.max_returns);
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
            std::size_t row = begins[block];
            const std::size_t end = std::min(n_beams, (block + 1) * kBlock);
            for (std::size_t beam = block * kBlock; beam < end; ++beam) {
                const std::size_t pulse = firing.pulse_of(beam);
                if (pulse == Firing::kNoPulse) {
                    returns.status.data[beam] = static_cast<std::uint8_t>(BeamStatus::kDropped);
                    continue;
                }
                returns.status.data[beam] = job.status[pulse];
                for (std::uint8_t k = 0; k < job.counts[pulse]; ++k, ++row) {
                    const Echo& echo = job.echoes[pulse * max_returns + k];
                    returns.beam.data[row] = static_cast<std::int32_t>(beam);
                    returns.range.data[row] = echo.range;
                    returns.intensity.data[row] = echo.intensity;
                    returns.return_index.data[row] = k;
                    returns.kind.data[row] = static_cast<std::uint8_t>(echo.kind);
                    returns.label.data[row] = echo.label;
                    returns.instance.data[row] = echo.instance;
                    if (record) judge_return(record->confidence, echo, row, returns);
                    for (int axis = 0; axis < 3; ++axis) {
                        const float from = firing.origin() ? firing.origin()[3 * beam + axis] : 0.0f;
                        returns.points.data[3 * row + axis] = firing.reported()[3 * beam + axis] * echo.range + from;
                    }
                }
            }
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
    thread_local std::vector<Echo> echoes;
    status.resize(firing.n_pulses());
    counts.resize(firing.n_pulses());
    echoes.resize(firing.n_pulses() * static_cast<std::size_t>(plan.receiver.max_returns));
    std::vector<std::atomic<std::uint32_t>> blocks((firing.n_beams() + TraceJob::kBlock - 1) / TraceJob::kBlock);
    const TraceJob job{scene,         actors,        plan,          sweep,         firing.largest_chunk(),
                       status.data(), counts.data(), echoes.data(), blocks.data(), settings.record};
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
