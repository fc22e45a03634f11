#include "map/permeability.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/parallel.hpp"
#include "trace/packet_tracer.hpp"

namespace resweep {
namespace {

constexpr double kExposureUnit = 1.0 / (1 << 24);  // metres

float log_det_covariance(const float* a) {
    const double det = double{a[0]} * (double{a[3]} * a[5] - double{a[4]} * a[4]) -
                       double{a[1]} * (double{a[1]} * a[5] - double{a[4]} * a[2]) +
                       double{a[2]} * (double{a[1]} * a[4] - double{a[3]} * a[2]);
    return static_cast<float>(-std::log(det));
}

}  // namespace

BeamCounter::BeamCounter(Volumes volumes)
    : tau_(volumes.tau),
      element_(volumes.element),
      passed_(volumes.volume.size()),
      stopped_(volumes.volume.size()),
      exposure_(volumes.volume.size()) {
    for (const Volume& volume : volumes.volume) log_det_.push_back(log_det_covariance(volume.precision));
    scene_.add(std::move(volumes));
    scene_.commit();
}

void BeamCounter::add(const MeasuredBeams& beams, float slope, int threads) {
    constexpr std::size_t kChunk = 2048;
    constexpr int kLanes = 8;
    parallel((beams.count + kChunk - 1) / kChunk, thread_count(threads), [&] {
        return [&, tracer = PacketTracer<kLanes>(scene_)](std::size_t chunk) mutable {
            tracer.record_crossings();
            const std::size_t end = std::min(beams.count, (chunk + 1) * kChunk);
            for (std::size_t first = chunk * kChunk; first < end; first += kLanes) {
                const int lanes = static_cast<int>(std::min<std::size_t>(kLanes, end - first));
                tracer.aim(beams.origin + 3 * first, beams.direction + 3 * first, lanes);
                std::copy_n(beams.length + first, lanes, tracer.rays().t_far);
                tracer.trace(lanes);
                for (int lane = 0; lane < lanes; ++lane)
                    count(beams, first + static_cast<std::size_t>(lane), slope, tracer.crossings(lane));
            }
        };
    });
}

void BeamCounter::count(const MeasuredBeams& beams, std::size_t row, float slope,
                        const std::vector<Crossing>& crossings) {
    const float length = beams.length[row], tau2 = tau_ * tau_;
    const Crossing* densest = nullptr;
    float best = std::numeric_limits<float>::infinity();
    if (beams.has_return[row])
        for (const Crossing& crossing : crossings) {
            const float along = (length - crossing.centre) / crossing.sigma;
            const float mahalanobis2 = crossing.offset2 + along * along;
            const float score = mahalanobis2 + log_det_[crossing.volume];
            if (mahalanobis2 > tau2 || score > best || (score == best && crossing.volume > densest->volume)) continue;
            best = score;
            densest = &crossing;
        }
    for (const Crossing& crossing : crossings) {
        const bool stopped = &crossing == densest;
        if (!stopped && crossing.centre >= length) continue;
        (stopped ? stopped_ : passed_)[crossing.volume].fetch_add(1, std::memory_order_relaxed);
        const double exposed =
            resweep::exposure(crossing) * widening(slope * std::max(crossing.centre, 0.0f), element_);
        exposure_[crossing.volume].fetch_add(static_cast<std::uint64_t>(exposed / kExposureUnit + 0.5),
                                             std::memory_order_relaxed);
    }
}

std::vector<std::uint32_t> BeamCounter::passed() const { return {passed_.begin(), passed_.end()}; }

std::vector<std::uint32_t> BeamCounter::stopped() const { return {stopped_.begin(), stopped_.end()}; }

std::vector<float> BeamCounter::exposure() const {
    std::vector<float> mean(exposure_.size(), 0.0f);
    for (std::size_t i = 0; i < mean.size(); ++i) {
        const std::uint64_t count = std::uint64_t{passed_[i].load()} + stopped_[i].load();
        if (count) mean[i] = static_cast<float>(kExposureUnit * static_cast<double>(exposure_[i].load()) / count);
    }
    return mean;
}

}  // namespace resweep
