#include "trace/gather.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#define RESWEEP_FOUR_RETURNS
#endif

namespace resweep {
namespace {

constexpr std::size_t kBlock = Firing::kBlock;

// Compare a return with how its primitive was seen. One that was completed has no range or incidence to be off from.
void judge_return(const Confidence& model, const Echo& echo, std::size_t row, TracedReturns& returns) {
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    const SeenInterval seen = unpack_seen(echo.seen);
    const bool measured = echo.seen && !seen.completed;
    const SeenOff off = measured ? compare_seen(seen, echo.range, echo.cosine) : SeenOff{1.0f, 0.0f};
    returns.seen_count[row] = static_cast<std::uint8_t>(seen.count);
    returns.completed[row] = seen.completed;
    returns.range_ratio[row] = measured ? off.range_ratio : kNone;
    returns.incidence_off[row] = measured ? off.incidence : kNone;
    returns.unknown[row] = echo.unknown;
    returns.seen[row] = echo.seen;
    returns.cosine[row] = echo.cosine;
    const Evidence evidence{echo.kind == PrimitiveKind::kVolumes,
                            seen.count,
                            seen.completed,
                            echo.range,
                            echo.cosine,
                            off.range_ratio,
                            off.incidence,
                            echo.unknown};
    returns.confidence[row] = echo.seen ? model.of(evidence) : kNone;
}

// Write the status of the beams first..last-1, and beam and number of their returns from row `row` on. Gives how many
// there are, and where each is among the readings.
std::size_t list_returns(const TraceJob& job, std::size_t first, std::size_t last, std::size_t row,
                         std::vector<std::uint32_t>& places, TracedReturns& returns) {
    // Stores of bytes may change anything, as far as the compiler knows: what the loop reads is kept here.
    const std::uint32_t* const rows = job.sweep.firing.rows();
    const std::uint8_t *const status = job.status, *const counts = job.counts;
    const auto width = static_cast<std::size_t>(job.plan.receiver.max_returns);
    std::uint8_t *const beam_status = returns.status.data.get(), *const return_index =
                                                                     returns.return_index.data.get() + row;
    std::int32_t* const beams = returns.beam.data.get() + row;
    places.resize((last - first) * width);
    std::uint32_t* const place = places.data();
    std::size_t count = 0;
    for (std::size_t beam = first; beam < last; ++beam) {
        const std::size_t from = rows[beam];
        if (from == Firing::kNoRow) {
            beam_status[beam] = static_cast<std::uint8_t>(BeamStatus::kDropped);
            continue;
        }
        beam_status[beam] = status[from];
        const unsigned n_returns = counts[from];
        for (unsigned k = 0; k < n_returns; ++k, ++count) {
            place[count] = static_cast<std::uint32_t>(from * width + k);
            beams[count] = static_cast<std::int32_t>(beam);
            return_index[count] = static_cast<std::uint8_t>(k);
        }
    }
    return count;
}

// The same where pulses have one return at most. Which of them do is not predictable: all are listed without branches,
// apart from the columns, where the next belong to another block.
std::size_t list_single_returns(const TraceJob& job, std::size_t first, std::size_t last, std::size_t row,
                                std::vector<std::uint32_t>& places, TracedReturns& returns) {
    const std::uint32_t* const rows = job.sweep.firing.rows();
    const std::uint8_t* const status = job.status;
    std::uint8_t* const beam_status = returns.status.data.get();
    std::uint32_t place[kBlock + 1];
    std::int32_t beams[kBlock + 1];
    std::size_t count = 0;
    for (std::size_t beam = first; beam < last; ++beam) {
        const std::uint32_t from = rows[beam];
        const auto code = from == Firing::kNoRow ? static_cast<std::uint8_t>(BeamStatus::kDropped) : status[from];
        beam_status[beam] = code;
        place[count] = from;
        beams[count] = static_cast<std::int32_t>(beam);
        count += code == static_cast<std::uint8_t>(BeamStatus::kReturn);
    }
    places.assign(place, place + count);
    std::copy_n(beams, count, returns.beam.data.get() + row);
    std::fill_n(returns.return_index.data.get() + row, count, std::uint8_t{0});
    return count;
}

// Where the columns of readings go, and what their points are made of.
struct ReadingColumns {
    const float *reported, *origin;  // by beam
    const std::int32_t* beam;        // of each return
    float *range, *intensity, *point;
    std::int32_t *label, *instance;

    void copy(std::size_t i, const EchoReading& echo) const {
        range[i] = echo.range;
        intensity[i] = echo.intensity;
        label[i] = echo.label;
        instance[i] = echo.instance;
        const std::size_t of = 3 * static_cast<std::size_t>(beam[i]);
        for (std::size_t axis = 0; axis < 3; ++axis)
            point[3 * i + axis] = reported[of + axis] * echo.range + (origin ? origin[of + axis] : 0.0f);
    }
};

#ifdef RESWEEP_FOUR_RETURNS
// As `copy` for the returns i..i+3, of neighbouring beams without origins.
inline void copy_four(const ReadingColumns& to, std::size_t i, const EchoReading* readings,
                      const std::uint32_t* places) {
    static_assert(sizeof(EchoReading) == 16);
    __m128 column[4];
    for (int k = 0; k < 4; ++k) column[k] = _mm_loadu_ps(&readings[places[k]].range);
    _MM_TRANSPOSE4_PS(column[0], column[1], column[2], column[3]);
    const __m128 range = column[0], zero = _mm_setzero_ps();
    _mm_storeu_ps(to.range + i, range);
    _mm_storeu_ps(to.intensity + i, column[1]);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to.label + i), _mm_castps_si128(column[2]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to.instance + i), _mm_castps_si128(column[3]));
    const float* const reported = to.reported + 3 * static_cast<std::size_t>(to.beam[i]);
    const __m128 ranges[3] = {_mm_shuffle_ps(range, range, _MM_SHUFFLE(1, 0, 0, 0)),
                              _mm_shuffle_ps(range, range, _MM_SHUFFLE(2, 2, 1, 1)),
                              _mm_shuffle_ps(range, range, _MM_SHUFFLE(3, 3, 3, 2))};
    for (int part = 0; part < 3; ++part) {
        const __m128 scaled = _mm_mul_ps(_mm_loadu_ps(reported + 4 * part), ranges[part]);
        _mm_storeu_ps(to.point + 3 * i + 4 * part, _mm_add_ps(scaled, zero));  // no negative zeros
    }
}
#endif

// Write the readings at `places` (n,) as the returns from row `row` on, whose beams are known.
void copy_readings(const TraceJob& job, const std::uint32_t* places, std::size_t count, std::size_t row,
                   TracedReturns& returns) {
    const EchoReading* const readings = job.readings;
    const ReadingColumns to{job.sweep.firing.reported(),        job.sweep.firing.origin(),
                            returns.beam.data.get() + row,      returns.range.data.get() + row,
                            returns.intensity.data.get() + row, returns.points.data.get() + 3 * row,
                            returns.label.data.get() + row,     returns.instance.data.get() + row};
    std::size_t i = 0;
#ifdef RESWEEP_FOUR_RETURNS
    while (!to.origin && i + 4 <= count) {
        if (to.beam[i + 3] - to.beam[i] == 3 && to.beam[i + 1] - to.beam[i] == 1 && to.beam[i + 2] - to.beam[i] == 2) {
            copy_four(to, i, readings, places + i);
            i += 4;
        } else {
            to.copy(i, readings[places[i]]);
            ++i;
        }
    }
#endif
    for (; i < count; ++i) to.copy(i, readings[places[i]]);
}

}  // namespace

Gatherer::Gatherer(const TraceJob& job, TracedReturns& returns)
    : job_(job), returns_(returns), n_blocks_(job.sweep.firing.n_blocks()), open_(n_blocks_), counts_(n_blocks_) {
    const Firing& firing = job.sweep.firing;
    for (std::size_t block = 0; block < n_blocks_; ++block) open_[block] = firing.pulses_in(block);
    begins_.assign(n_blocks_ + 1, 0);
    const std::size_t most = firing.n_pulses() * static_cast<std::size_t>(job.plan.receiver.max_returns);
    returns.status.allocate(firing.n_beams());
    returns.each([&](auto& column, std::size_t width) { column.allocate(width * most); }, job.record != nullptr);
    advance();
}

void Gatherer::finish(std::size_t chunk) {
    const Firing& firing = job_.sweep.firing;
    const std::uint8_t* counts = job_.counts + firing.first_row(chunk);
    bool whole = false;
    for (const Firing::Run& run : firing.runs(chunk)) {
        const std::uint32_t sum = std::accumulate(counts, counts + run.pulses, 0u);
        counts += run.pulses;
        counts_[run.block].fetch_add(sum, std::memory_order_relaxed);
        whole |= open_[run.block].fetch_sub(run.pulses, std::memory_order_acq_rel) == run.pulses;
    }
    if (whole) advance();
}

// Find where the returns of more blocks begin.
void Gatherer::advance() {
    {
        const std::lock_guard lock(advancing_);
        std::size_t block = ready_.load(std::memory_order_relaxed);
        if (block > n_blocks_) return;
        for (; block < n_blocks_ && open_[block].load(std::memory_order_acquire) == 0; ++block)
            begins_[block + 1] = begins_[block] + counts_[block].load(std::memory_order_relaxed);
        ready_.store(block, std::memory_order_release);
    }
    ready_.notify_all();
}

void Gatherer::gather_ready() {
    std::size_t block = taken_.load(std::memory_order_relaxed);
    for (;;) {
        const std::size_t ready = ready_.load(std::memory_order_acquire);
        if (block >= ready || ready > n_blocks_) return;
        if (!taken_.compare_exchange_weak(block, block + 1, std::memory_order_relaxed)) continue;
        gather(block);
        block = taken_.load(std::memory_order_relaxed);
    }
}

void Gatherer::gather_rest() {
    for (;;) {
        const std::size_t ready = ready_.load(std::memory_order_acquire);
        gather_ready();
        if (ready >= n_blocks_) return;
        ready_.wait(ready, std::memory_order_acquire);
    }
}

void Gatherer::abort() {
    {
        const std::lock_guard lock(advancing_);
        ready_.store(n_blocks_ + 1, std::memory_order_release);
    }
    ready_.notify_all();
}

// Write the status of the beams of a block, and their returns. In several loops: one would need more registers than
// there are.
void Gatherer::gather(std::size_t block) {
    thread_local std::vector<std::uint32_t> places;
    const std::size_t end = std::min(job_.sweep.firing.n_beams(), (block + 1) * kBlock), row = begins_[block];
    const auto list = job_.plan.receiver.max_returns == 1 ? list_single_returns : list_returns;
    const std::size_t count = list(job_, block * kBlock, end, row, places, returns_);
    copy_readings(job_, places.data(), count, row, returns_);
    std::uint8_t* const kind = returns_.kind.data.get() + row;
    if (!job_.sources) std::fill_n(kind, count, static_cast<std::uint8_t>(job_.kind()));
    for (std::size_t i = 0; i < count && job_.sources; ++i)
        kind[i] = static_cast<std::uint8_t>(job_.sources[places[i]].kind);
    for (std::size_t i = 0; i < count && job_.record; ++i)
        judge_return(job_.record->confidence, {job_.readings[places[i]], job_.sources[places[i]]}, row + i, returns_);
}

void Gatherer::close() {
    const std::size_t total = begins_[n_blocks_];
    returns_.each([&](auto& column, std::size_t width) { column.shrink(width * total); }, job_.record != nullptr);
}

}  // namespace resweep
