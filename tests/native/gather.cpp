// A thread that fails while others wait for blocks to gather, for test_gather.py: prints what was gathered.
#include "trace/gather.hpp"

#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

using namespace resweep;

// Two blocks of beams, whose pulses are a chunk each; nothing but their results is looked at.
struct Sweep {
    static constexpr std::size_t kBlock = Firing::kBlock, kBeams = 2 * kBlock;
    std::vector<float> direction = std::vector<float>(3 * kBeams, 1.0f);
    std::vector<double> time = std::vector<double>(kBeams, 0.0);
    std::vector<std::int32_t> order = std::vector<std::int32_t>(kBeams), chunk = {0, kBlock, kBeams};
    double pose[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, start = 0.0;
    std::vector<std::uint8_t> status, counts;
    std::vector<EchoReading> readings;
    std::vector<EchoSource> sources;

    Sweep() {
        for (std::size_t i = 0; i < kBeams; ++i) order[i] = static_cast<std::int32_t>(i);
    }
};

// How many returns were gathered, where the first chunk is traced and a thread fails before the second is, or not.
std::size_t gather(Sweep& sweep, const Scene& unused, bool fails) {
    const Firing firing({sweep.direction.data(), sweep.time.data(), sweep.direction.data(), nullptr, Sweep::kBeams},
                        sweep.order.data(), Sweep::kBeams, sweep.chunk.data(), sweep.chunk.size());
    const Motion motion(&sweep.start, sweep.pose, 1);
    const FiredSweep fired{firing, motion, 0.0, Philox(1, 0)};
    Plan plan{};
    plan.receiver.max_returns = 1;
    sweep.status.assign(firing.n_rows(), static_cast<std::uint8_t>(BeamStatus::kReturn));
    sweep.counts.assign(firing.n_rows(), 1);
    sweep.readings.assign(firing.n_rows(), EchoReading{});
    sweep.sources.assign(firing.n_rows(), EchoSource{});
    const TraceJob job{unused,
                       nullptr,
                       plan,
                       fired,
                       firing.largest_chunk(),
                       sweep.status.data(),
                       sweep.counts.data(),
                       sweep.readings.data(),
                       sweep.sources.data(),
                       nullptr,
                       false};
    TracedReturns returns;
    Gatherer gatherer(job, returns);
    std::vector<std::thread> waiting;
    for (int i = 0; i < 3; ++i) waiting.emplace_back([&] { gatherer.gather_rest(); });
    gatherer.finish(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // they wait by now
    fails ? gatherer.abort() : gatherer.finish(1);
    for (std::thread& thread : waiting) thread.join();
    if (fails) {
        gatherer.finish(1);  // of a thread that was still tracing: nobody waits for it
        gatherer.gather_rest();
        return 0;
    }
    gatherer.close();
    return returns.range.size;
}

}  // namespace

int main() {
    Sweep sweep;
    alignas(Scene) static unsigned char nothing[sizeof(Scene)] = {};  // a gatherer asks no scene where it has sources
    const Scene& unused = reinterpret_cast<const Scene&>(nothing);
    std::printf("%zu\n", gather(sweep, unused, false));
    for (int i = 0; i < 20; ++i) gather(sweep, unused, true);
    std::puts("went on");
    return 0;
}
