// What recorded beams say of the primitives of a world: the sufficient statistics of an EM step.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "scene/scene.hpp"
#include "trace/packet_tracer.hpp"
#include "trace/stops.hpp"

namespace resweep {

// Recorded beams. `measured` is the range of the return, infinity where there is none.
struct RangedBeams {
    const float *origin, *direction;  // (n, 3), direction unit
    const float* measured;            // (n,)
    std::size_t count;
};

struct StatisticsSettings {
    float sigma;       // metres: spread of a range on a surface, and noise on top of that of a volume
    float clutter;     // share of beams that follow no model
    float slope;       // width of the beam at 1 m
    float range_max;   // metres
    float cosine_min;  // below it the incidence says no more of the offset of a disc
    float margin;      // metres behind a disc from which on a beam has passed it
};

// Sums over the beams that met each disc (d,) and each volume (v,) of a scene with at most one layer of either. The
// outcomes of a beam share it by their likelihood: what clutter explains better counts for no primitive. Sums are of
// integers, so they do not depend on the order of the beams or on the threads.
class BeamStatistics {
  public:
    BeamStatistics(std::size_t n_discs, std::size_t n_volumes);
    BeamStatistics(const BeamStatistics&) = delete;
    BeamStatistics& operator=(const BeamStatistics&) = delete;

    // Add beams traced in `scene`. Gives the log-likelihood (n,) of each, and the share of it that clutter explains.
    struct OfBeams {
        std::vector<float> log_likelihood, clutter;
    };
    OfBeams add(const Scene& scene, const RangedBeams& beams, const StatisticsSettings& settings, int threads);

    // Of discs: beams that ended on it and that passed it; sum of the weighted offsets along the normal that would
    // explain the ends, and of the weights. A beam has passed an opaque disc if it ends behind it, whatever explains
    // that, and a permeable one by its share.
    std::vector<double> ended() const { return read(discs_, kEnded); }
    std::vector<double> passed() const { return read(discs_, kPassed); }
    std::vector<double> offset() const { return read(discs_, kOffset); }
    std::vector<double> weight() const { return read(discs_, kWeight); }

    // Of volumes: beams that it stopped and let pass, and the exposure of both, metres.
    std::vector<double> stopped() const { return read(volumes_, kStopped); }
    std::vector<double> let_pass() const { return read(volumes_, kLetPass); }
    std::vector<double> exposure() const { return read(volumes_, kExposure); }

  private:
    // The sums of one primitive lie side by side: beams meet primitives anywhere, and each look-up is a cache miss.
    struct alignas(32) Row {
        std::atomic<std::int64_t> sum[4];
    };
    using Sums = std::vector<Row>;
    enum { kEnded, kPassed, kOffset, kWeight };
    enum { kStopped, kLetPass, kExposure };

    static void put(Sums& sums, std::size_t row, int which, double value) {
        sums[row].sum[which].fetch_add(static_cast<std::int64_t>(value * kUnits + (value < 0.0 ? -0.5 : 0.5)),
                                       std::memory_order_relaxed);
    }
    static std::vector<double> read(const Sums& sums, int which);

    void count_discs(const DiscHits& hits, const float direction[3], float range, float measured, double share,
                     const StatisticsSettings& settings);
    void count_permeable(const DiscCrossing& crossing, const float direction[3], float measured, double stopped,
                         double passed, const StatisticsSettings& settings);
    void end_on(std::size_t disc, const float* normal, const float direction[3], float residual, double share,
                const StatisticsSettings& settings);
    void count_volume(const Crossing& crossing, double stopped, double passed, const StatisticsSettings& settings);

    static constexpr double kUnits = 1 << 24;
    Sums discs_, volumes_;
};

}  // namespace resweep
