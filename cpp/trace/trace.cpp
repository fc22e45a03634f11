#include "trace/trace.hpp"

#include <algorithm>
#include <atomic>

#include "core/parallel.hpp"
#include "trace/chunk_tracer.hpp"
#include "trace/gather.hpp"

namespace resweep {
namespace {

// Trace all chunks, and gather what is done meanwhile.
template <int N> void trace_chunks(const TraceJob& job, Gatherer& gatherer, int threads) {
    const std::size_t n_chunks = job.sweep.firing.n_chunks();
    std::atomic<std::size_t> next{0};
    const auto work = [&](std::size_t) {
        try {
            ChunkTracer<N> tracer(job, gatherer);
            for (std::size_t chunk = next++; chunk < n_chunks; chunk = next++) {
                tracer(chunk);
                gatherer.gather_ready();
            }
            gatherer.gather_rest();
        } catch (...) {
            gatherer.abort();
            throw;
        }
    };
    const auto workers = std::min<std::size_t>(static_cast<std::size_t>(threads), std::max<std::size_t>(n_chunks, 1));
    parallel(workers, threads, [&] { return work; });
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
    TraceJob job{scene,         actors,          plan,    sweep,           firing.largest_chunk(), status.data(),
                 counts.data(), readings.data(), nullptr, settings.record, settings.beyond};
    if (job.needs_sources()) {
        sources.resize(readings.size());
        job.sources = sources.data();
    }
    Gatherer gatherer(job, returns);
    const int threads = thread_count(settings.threads);
    switch (settings.packet) {
        case 1: trace_chunks<1>(job, gatherer, threads); break;
        case 16: trace_chunks<16>(job, gatherer, threads); break;
        default: trace_chunks<8>(job, gatherer, threads); break;
    }
    gatherer.close();
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
