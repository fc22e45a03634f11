// Returns as columns in the order of the beams, made while other beams are still traced.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "trace/job.hpp"

namespace resweep {

// Gathers blocks of beams as soon as all pulses of a block, and of the blocks before it, are traced: what they gave is
// in the cache then. Any thread may gather any block; where a return goes depends only on the returns before it.
class Gatherer {
  public:
    // `returns` get room for all that pulses may return.
    Gatherer(const TraceJob& job, TracedReturns& returns);

    // Note that the pulses of a chunk are traced.
    void finish(std::size_t chunk);

    // Gather the blocks that are ready and that no other thread has taken.
    void gather_ready();

    // Gather what is left, with the other threads, once no chunk is left to begin.
    void gather_rest();

    // Let nobody wait for blocks any more: a thread has failed.
    void abort();

    // Cut the columns down to the returns that there are. All blocks must be gathered.
    void close();

  private:
    void advance();
    void gather(std::size_t block);

    const TraceJob& job_;
    TracedReturns& returns_;
    std::size_t n_blocks_;
    std::vector<std::atomic<std::uint32_t>> open_, counts_;  // of each block: pulses not traced yet, and returns
    std::vector<std::size_t> begins_;                        // first return of each block up to `ready_`
    std::mutex advancing_;
    std::atomic<std::size_t> ready_ = 0, taken_ = 0;  // blocks that can be gathered; that are, or were
};

}  // namespace resweep
