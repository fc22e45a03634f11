#include "refine/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "core/parallel.hpp"

namespace resweep {
namespace {

constexpr double kInverseRoot2Pi = 0.3989422804014327;  // 1 / √(2π)
constexpr double kTail = 8.0;          // standard deviations beyond which a Gaussian is neglected: 1e-14 of its peak
constexpr double kPassedSigmas = 3.0;  // of a surface, from which on a beam has passed it; chosen by hand
constexpr float kBehind = 0.5f;  // metres behind its end up to which a beam is followed: nothing beyond explains it

double density(double measured, double centre, double sigma) {
    const double z = (measured - centre) / sigma;
    return std::fabs(z) > kTail ? 0.0 : kInverseRoot2Pi / sigma * std::exp(-0.5 * z * z);
}

}  // namespace

BeamStatistics::BeamStatistics(std::size_t n_discs, std::size_t n_volumes, Wanted wanted)
    : offsets_(wanted.offsets),
      discs_(n_discs),
      volumes_(n_volumes),
      rings_(wanted.rings ? n_discs : 0),
      moments_(wanted.moments ? n_volumes : 0) {}

std::vector<double> BeamStatistics::read(const Sums& sums, int which) {
    std::vector<double> values(sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i) values[i] = static_cast<double>(sums[i].sum[which].load()) / kUnits;
    return values;
}

BeamStatistics::OfBeams BeamStatistics::add(const Scene& scene, const RangedBeams& beams,
                                            const StatisticsSettings& settings, int threads) {
    OfBeams found;
    found.log_likelihood.resize(beams.count);
    found.clutter.resize(beams.count);
    constexpr std::size_t kChunk = 2048;
    constexpr int kLanes = 8;
    parallel((beams.count + kChunk - 1) / kChunk, thread_count(threads), [&] {
        return [&, tracer = PacketTracer<kLanes>(scene), stops = std::vector<Stop>(),
                likelihoods = std::vector<double>()](std::size_t chunk) mutable {
            tracer.record_crossings();
            const std::size_t end = std::min(beams.count, (chunk + 1) * kChunk);
            for (std::size_t first = chunk * kChunk; first < end; first += kLanes) {
                const int lanes = static_cast<int>(std::min<std::size_t>(kLanes, end - first));
                tracer.aim(beams.origin + 3 * first, beams.direction + 3 * first, lanes);
                for (int lane = 0; lane < lanes; ++lane)
                    tracer.rays().t_far[lane] =
                        std::min(settings.range_max, beams.measured[first + static_cast<std::size_t>(lane)] + kBehind);
                tracer.trace(lanes);
                float surface[kLanes], cosine[kLanes];
                std::fill_n(surface, kLanes, kInfinity);
                tracer.events(lanes, [&](int lane, const Event& event) {
                    surface[lane] = event.range;
                    cosine[lane] = event.cosine;
                });
                for (int lane = 0; lane < lanes; ++lane) {
                    const std::size_t row = first + static_cast<std::size_t>(lane);
                    const float measured = beams.measured[row], range = surface[lane];
                    const HitBeam beam{beams.origin + 3 * row, beams.direction + 3 * row, measured};
                    const bool returned = measured < kInfinity;
                    order_stops(tracer.crossings(lane), tracer.passed_discs(lane), std::min(range, settings.range_max),
                                settings.sigma, settings.slope, stops);
                    // How likely each outcome makes what was measured, in order.
                    likelihoods.clear();
                    double left = 1.0, sum = 0.0;
                    for (const Stop& stop : stops) {
                        const double own =
                            returned ? left * (1.0 - stop.pass) * density(measured, stop.range, stop.sigma) : 0.0;
                        likelihoods.push_back(own);
                        sum += own;
                        left *= stop.pass;
                    }
                    double last = returned ? 0.0 : left;  // of the surface, or of nothing
                    double spread = 0.0;
                    if (range < kInfinity) {
                        spread = surface_sigma(settings.sigma, settings.height, cosine[lane]);
                        last = returned ? left * density(measured, range, spread) : 0.0;
                    }
                    sum += last;
                    const double any =
                        settings.clutter * (returned ? kClutterReturns / settings.range_max : 1.0 - kClutterReturns);
                    const double all = (1.0 - settings.clutter) * sum + any;
                    found.log_likelihood[row] = static_cast<float>(std::log(all));
                    found.clutter[row] = static_cast<float>(any / all);
                    // Shares of the beam: from the far end on, what is not stopped yet has passed.
                    const double scale = (1.0 - settings.clutter) / all;
                    double beyond = last * scale;
                    if (range < kInfinity) count_discs(tracer.discs(lane), beam, range, spread, beyond, settings);
                    for (std::size_t i = stops.size(); i-- > 0;) {
                        const double own = likelihoods[i] * scale;
                        if (stops[i].volume)
                            count_volume(*stops[i].volume, beam, own, beyond, settings);
                        else
                            count_permeable(*stops[i].disc, beam, own, beyond, settings);
                        beyond += own;
                    }
                }
            }
        };
    });
    return found;
}

void BeamStatistics::count_discs(const DiscHits& hits, const HitBeam& beam, float range, double spread, double share,
                                 const StatisticsSettings& settings) {
    const int count = blended(hits, kInfinity);
    const double margin = std::max(double{settings.margin}, kPassedSigmas * spread);
    const bool passes = beam.measured < kInfinity && beam.measured > range + margin;
    double weight[kMaxDepth], weights = 0.0;
    for (int i = 0; i < count; ++i) weights += weight[i] = blend_weight(i, count);
    for (int i = 0; i < count; ++i) {
        const std::size_t disc = hits.disc[i];
        const double part = weight[i] / weights;
        if (passes) put(discs_, disc, kPassed, part);
        if (share > 0.0)
            end_on(disc, hits.layer[i]->normal + 3 * disc, beam, beam.measured - range, share * part, settings);
        count_ring(*hits.layer[i], disc, beam, hits.range[i], share * part, passes ? part : 0.0);
    }
}

void BeamStatistics::count_permeable(const DiscCrossing& crossing, const HitBeam& beam, double stopped, double passed,
                                     const StatisticsSettings& settings) {
    put(discs_, crossing.disc, kPassed, passed);
    if (stopped > 0.0)
        end_on(crossing.disc, crossing.layer->normal + 3 * std::size_t{crossing.disc}, beam,
               beam.measured - crossing.range, stopped, settings);
    count_ring(*crossing.layer, crossing.disc, beam, crossing.range, stopped, passed);
}

void BeamStatistics::end_on(std::size_t disc, const float* n, const HitBeam& beam, float residual, double share,
                            const StatisticsSettings& settings) {
    put(discs_, disc, kEnded, share);
    if (!offsets_) return;
    const float* d = beam.direction;
    const double across = double{n[0]} * d[0] + double{n[1]} * d[1] + double{n[2]} * d[2];
    // A disc that moves along its normal moves the range by that over the cosine: what is flat weighs more.
    const double weight = share / (across * across + double{settings.cosine_min} * settings.cosine_min);
    put(discs_, disc, kOffset, weight * residual * across);
    put(discs_, disc, kWeight, weight);
}

void BeamStatistics::count_ring(const Discs& layer, std::size_t disc, const HitBeam& beam, float range, double ended,
                                double passed) {
    if (rings_.empty() || (ended <= 0.0 && passed <= 0.0)) return;
    double off2 = 0.0;
    for (int axis = 0; axis < 3; ++axis) {
        const double off = double{beam.origin[axis]} + double{range} * beam.direction[axis] -
                           layer.centre[3 * disc + static_cast<std::size_t>(axis)];
        off2 += off * off;
    }
    const double radius = layer.radius[disc];
    const int ring = std::min(kRings - 1, static_cast<int>(kRings * off2 / (radius * radius)));
    if (ended > 0.0) rings_[disc].add(ring, ended, kRingUnits);
    if (passed > 0.0) rings_[disc].add(kRings + ring, passed, kRingUnits);
}

void BeamStatistics::count_volume(const Crossing& crossing, const HitBeam& beam, double stopped, double passed,
                                  const StatisticsSettings& settings) {
    const std::size_t at = crossing.volume;
    const double crossed = stopped + passed;
    if (crossed <= 0.0) return;
    const float width = settings.slope * std::max(crossing.centre, 0.0f);
    put(volumes_, at, kExposure, crossed * resweep::exposure(crossing) * widening(width, crossing.layer->element));
    put(volumes_, at, kLetPass, passed);
    put(volumes_, at, kStopped, stopped);
    if (!moments_.empty() && stopped > 0.0) count_end(crossing, beam, stopped);
}

void BeamStatistics::count_end(const Crossing& crossing, const HitBeam& beam, double share) {
    const Volume& volume = crossing.layer->volume[crossing.volume];
    // Beams that pass farther off than tau do not cross the volume: seen across the beam, the ends are those of a
    // Gaussian that is cut off there, and its variance is this part of the whole.
    const double half = 0.5 * crossing.layer->tau * crossing.layer->tau;
    const double wider = 1.0 / std::sqrt(1.0 - half / std::expm1(half));
    double end[3], whole[3];  // where the beam ended, and where it would have without the cut; both from the mean
    for (int axis = 0; axis < 3; ++axis) {
        const double direction = beam.direction[axis], along = double{beam.measured} - crossing.centre;
        const double nearest = beam.origin[axis] + double{crossing.centre} * direction - volume.mean[axis];
        end[axis] = nearest + along * direction;
        whole[axis] = wider * nearest + along * direction;
    }
    auto& own = moments_[crossing.volume];
    int which = 3;
    for (int i = 0; i < 3; ++i) {
        own.add(i, share * end[i], kMomentUnits);
        for (int j = i; j < 3; ++j) own.add(which++, share * whole[i] * whole[j], kMomentUnits);
    }
}

}  // namespace resweep
