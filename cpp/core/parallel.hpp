// Work shared out to threads in chunks; what a chunk computes must not depend on who computes it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace resweep {

// Threads used when `asked` are asked for (0: all cores).
inline int thread_count(int asked) {
    if (asked > 0) return asked;
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// Run `worker(chunk)` for every chunk on `threads` threads, each with a worker of its own.
template <class MakeWorker> void parallel(std::size_t chunks, int threads, const MakeWorker& make_worker) {
    std::atomic<std::size_t> next{0};
    const auto run = [&] {
        auto worker = make_worker();
        for (std::size_t chunk = next++; chunk < chunks; chunk = next++) worker(chunk);
    };
    const auto count = std::min<std::size_t>(static_cast<std::size_t>(threads), std::max<std::size_t>(chunks, 1));
    std::vector<std::thread> pool;
    for (std::size_t i = 1; i < count; ++i) pool.emplace_back(run);
    run();
    for (std::thread& thread : pool) thread.join();
}

}  // namespace resweep
