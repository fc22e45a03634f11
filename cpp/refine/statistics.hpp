// Statistics of recorded beams on the primitives of a world: the sufficient statistics of an EM step.
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
    float cosine_min;  // below it the incidence shows no more of the offset of a disc
    float height;      // metres: spread of a surface along its normal
    float margin;      // metres behind a disc from which on a beam has passed it
};

// Sums over the beams that hit or crossed each disc (d,) and each volume (v,) of a scene with at most one layer of
// either. The outcomes of a beam share it by their likelihood: what clutter explains better counts for no primitive.
// Sums are of integers, so they do not depend on the order of the beams or on the threads.
class BeamStatistics {
  public:
    static constexpr int kRings = 8;    // of a disc, of the same area each, from its centre outwards
    static constexpr int kMoments = 9;  // of the ends in a volume: x, y, z, xx, xy, xz, yy, yz, zz

    // What is summed besides, since each sum costs time: the offsets of discs, beams by where they hit a disc, and by
    // where they end in a volume.
    struct Wanted {
        bool offsets = true, rings = false, moments = false;
    };
    BeamStatistics(std::size_t n_discs, std::size_t n_volumes, Wanted wanted);
    BeamStatistics(const BeamStatistics&) = delete;
    BeamStatistics& operator=(const BeamStatistics&) = delete;

    // Add beams traced in `scene`. Gives the log-likelihood (n,) of each, and the share of it that clutter explains.
    struct OfBeams {
        std::vector<float> log_likelihood, clutter;
    };
    OfBeams add(const Scene& scene, const RangedBeams& beams, const StatisticsSettings& settings, int threads);

    // Of discs: beams that ended on it and that passed it; sum of the weighted offsets along the normal that would
    // explain the ends, and of the weights, if offsets are wanted. A beam has passed an opaque disc if it ends behind
    // it, whatever explains that, and a permeable one by its share.
    std::vector<double> ended() const { return read(discs_, kEnded); }
    std::vector<double> passed() const { return read(discs_, kPassed); }
    std::vector<double> offset() const { return read(discs_, kOffset); }
    std::vector<double> weight() const { return read(discs_, kWeight); }

    // Of volumes: beams that it stopped and let pass, and the exposure of both, metres.
    std::vector<double> stopped() const { return read(volumes_, kStopped); }
    std::vector<double> let_pass() const { return read(volumes_, kLetPass); }
    std::vector<double> exposure() const { return read(volumes_, kExposure); }

    // Of the rings (d, kRings) of discs, row by row: beams that ended on them and that passed. Of the ends of beams in
    // volumes (v, kMoments), seen from its mean: weighted sums of coordinates, and of their products as they would be
    // if beams crossed volumes however far off; metres. Empty if they were not asked for.
    std::vector<double> ended_by_ring() const { return read_rows(rings_, 0, kRings, kRingUnits); }
    std::vector<double> passed_by_ring() const { return read_rows(rings_, kRings, kRings, kRingUnits); }
    std::vector<double> end_moments() const { return read_rows(moments_, 0, kMoments, kMomentUnits); }

  private:
    // The sums of one primitive lie side by side: beams hit primitives anywhere, and each look-up is a cache miss.
    template <class Number, int count, int align> struct alignas(align) Row {
        std::atomic<Number> sum[count];

        void add(int which, double value, double units) {
            sum[which].fetch_add(static_cast<Number>(value * units + (value < 0.0 ? -0.5 : 0.5)),
                                 std::memory_order_relaxed);
        }
    };
    using Sums = std::vector<Row<std::int64_t, 4, 32>>;
    enum { kEnded, kPassed, kOffset, kWeight };
    enum { kStopped, kLetPass, kExposure };

    // One beam that hit or crossed something, and where a stop of it would lie.
    struct HitBeam {
        const float *origin, *direction;
        float measured;
    };

    static void put(Sums& sums, std::size_t row, int which, double value) { sums[row].add(which, value, kUnits); }
    static std::vector<double> read(const Sums& sums, int which);
    template <class Rows> static std::vector<double> read_rows(const Rows& rows, int first, int count, double units) {
        std::vector<double> values;
        values.reserve(rows.size() * static_cast<std::size_t>(count));
        for (const auto& row : rows)
            for (int i = first; i < first + count; ++i)
                values.push_back(static_cast<double>(row.sum[i].load()) / units);
        return values;
    }

    void count_discs(const DiscHits& hits, const HitBeam& beam, float range, double spread, double share,
                     const StatisticsSettings& settings);
    void count_permeable(const DiscCrossing& crossing, const HitBeam& beam, double stopped, double passed,
                         const StatisticsSettings& settings);
    void end_on(std::size_t disc, const float* normal, const HitBeam& beam, float residual, double share,
                const StatisticsSettings& settings);
    void count_ring(const Discs& layer, std::size_t disc, const HitBeam& beam, float range, double ended,
                    double passed);
    void count_volume(const Crossing& crossing, const HitBeam& beam, double stopped, double passed,
                      const StatisticsSettings& settings);
    void count_end(const Crossing& crossing, const HitBeam& beam, double share);

    static constexpr double kUnits = 1 << 24;
    static constexpr double kRingUnits = 256.0;                             // of up to 8 million beams
    static constexpr double kMomentUnits = static_cast<double>(1ll << 40);  // of square metres
    bool offsets_;
    Sums discs_, volumes_;
    std::vector<Row<std::int32_t, 2 * kRings, 64>> rings_;
    std::vector<Row<std::int64_t, kMoments, 8>> moments_;
};

}  // namespace resweep
