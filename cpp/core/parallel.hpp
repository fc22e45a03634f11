// Work divided into chunks among threads. The result of a chunk must not depend on the thread that computes it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace resweep {

// The most threads that "all cores" stands for in this process; 0: no limit. Workers that share a machine set it.
inline std::atomic<int> thread_limit{0};

// Number of threads to use when `requested` are requested (0: all cores, or as many as the limit).
inline int thread_count(int requested) {
    if (requested > 0) return requested;
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    const int limit = thread_limit;
    return limit > 0 ? std::min(limit, cores) : cores;
}

// Run `worker(chunk)` for every chunk on `threads` threads; each thread makes a worker of its own. If a worker throws,
// no further chunks are begun, and the first exception is thrown again here.
template <class MakeWorker> void parallel(std::size_t chunks, int threads, const MakeWorker& make_worker) {
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex failing;
    const auto run = [&] {
        try {
            auto worker = make_worker();
            for (std::size_t chunk = next++; chunk < chunks; chunk = next++) worker(chunk);
        } catch (...) {
            const std::lock_guard lock(failing);
            if (!failure) failure = std::current_exception();
            next = chunks;
        }
    };
    const auto count = std::min<std::size_t>(static_cast<std::size_t>(threads), std::max<std::size_t>(chunks, 1));
    std::vector<std::thread> pool;
    pool.reserve(count);
    try {
        for (std::size_t i = 1; i < count; ++i) pool.emplace_back(run);
    } catch (const std::system_error&) {
        // The system gives no more threads: those that run do all the work.
    }
    run();
    for (std::thread& thread : pool) thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace resweep
