#include "trace/predict.hpp"

#include <algorithm>
#include <cmath>

#include "core/parallel.hpp"
#include "trace/packet_tracer.hpp"
#include "trace/stops.hpp"

namespace resweep {
namespace {

// One possible outcome of a beam: a return with this probability, whose range is Gaussian.
struct Outcome {
    double probability, centre, sigma;
    float reflected = 0.0f;
    std::int32_t label = 0, instance = 0;
    PrimitiveKind kind = PrimitiveKind::kMesh;
};

// The possible returns of a ray in order, and the probability that there is none.
class Outcomes {
  public:
    void set(std::vector<Crossing>& crossings, std::vector<DiscCrossing>& discs, const float* direction,
             const Event* surface, const PredictionSettings& settings) {
        order_stops(crossings, discs, surface ? surface->range : settings.reach, settings.sigma, settings.slope,
                    stops_);
        outcomes_.clear();
        left_ = 1.0;
        for (const Stop& stop : stops_) {
            Outcome outcome{left_ * (1.0 - stop.pass), stop.range, stop.sigma};
            if (stop.volume) {
                const Volume& volume = stop.volume->layer->volume[stop.volume->volume];
                outcome.reflected = volume.reflectance;
                outcome.label = volume.label;
                outcome.instance = volume.instance;
                outcome.kind = PrimitiveKind::kVolumes;
            } else {
                const Discs& layer = *stop.disc->layer;
                const std::size_t disc = stop.disc->disc;
                outcome.reflected = layer.reflectance[disc] * layer.falloff(disc_cosine(layer, disc, direction));
                outcome.label = layer.label[disc];
                outcome.instance = layer.instance[disc];
                outcome.kind = PrimitiveKind::kSplats;
            }
            outcomes_.push_back(outcome);
            left_ *= stop.pass;
        }
        if (!surface) return;
        outcomes_.push_back({left_, surface->range, surface_sigma(settings.sigma, settings.height, surface->cosine),
                             surface->reflected, surface->label, surface->instance, surface->kind});
        left_ = 0.0;
    }

    double no_return() const { return left_; }

    // Log of the density per metre at `measured`, or of the probability of no return if that is infinite.
    double log_likelihood(double measured, const PredictionSettings& settings) const {
        const bool returned = measured < kInfinity;
        double own = returned ? 0.0 : left_;
        if (returned)
            for (const Outcome& outcome : outcomes_) {
                const double z = (measured - outcome.centre) / outcome.sigma;
                if (std::fabs(z) > 2.0 * kTail) continue;
                own += outcome.probability / outcome.sigma * kInverseRoot2Pi * std::exp(-0.5 * z * z);
            }
        const double any = returned ? kClutterReturns / settings.range_max : 1.0 - kClutterReturns;
        return std::log((1.0 - settings.clutter) * own + settings.clutter * any);
    }

    // The outcome with most probability within the window around it, how much that is, and the mean range of that part.
    // What lies near, beyond the window, counts too: of places that are nearly as likely, the one among others is
    // wrong by less. Of places that are likely alike the farthest is taken: it is right as often, and a return where
    // nothing stands is the worse mistake.
    const Outcome* most_likely(const PredictionSettings& settings, double& mass, double& mean) {
        double most = 0.0;
        scores_.clear();
        for (const Outcome& at : outcomes_) {
            Score score;
            if (at.probability >= kUnlikely) score = rate(at, settings.window);
            scores_.push_back(score);
            most = std::max(most, score.total());
        }
        const Outcome* best = nullptr;
        mass = 0.0;
        for (std::size_t i = outcomes_.size(); i-- > 0 && !best;)
            if (scores_[i].mass > 0.0 && scores_[i].total() >= kAlike * most) {
                best = &outcomes_[i];
                mass = scores_[i].mass;
                mean = best->centre + scores_[i].off / mass;
            }
        return best;
    }

  private:
    static constexpr double kInverseRoot2Pi = 0.3989422804014327;  // 1 / √(2π)
    static constexpr double kInverseRoot2 = 0.7071067811865476;
    static constexpr double kUnlikely = 1e-3;  // such an outcome counts only as a part of others; chosen by hand
    // The next three were chosen on SemanticKITTI 00 and 03 (docs/decisions/0027).
    static constexpr double kNear = 3.0;       // metres within which other outcomes count
    static constexpr double kNearShare = 0.5;  // how much, of what those in the window do
    static constexpr double kAlike = 0.95;     // of the highest score: outcomes that are likely alike
    static constexpr double kTail = 4.0;       // standard deviations of a Gaussian; it is neglected at twice that

    // What speaks for a place: probability within the window around it, and near it; `off` is the sum of the offsets of
    // the former.
    struct Score {
        double mass = 0.0, near = 0.0, off = 0.0;
        double total() const { return mass + kNearShare * near; }
    };

    Score rate(const Outcome& at, double window) const {
        Score score;
        for (const Outcome& outcome : outcomes_) {
            const double away = std::fabs(outcome.centre - at.centre);
            if (away < kNear) score.near += outcome.probability;
            if (away >= window + kTail * outcome.sigma) continue;
            const double part = outcome.probability * within(outcome, at.centre, window);
            score.mass += part;
            score.off += part * std::clamp(outcome.centre - at.centre, -window, window);
        }
        return score;
    }

    // Share of an outcome within `window` of `middle`.
    static double within(const Outcome& outcome, double middle, double window) {
        const double low = (middle - window - outcome.centre) / outcome.sigma * kInverseRoot2;
        const double high = (middle + window - outcome.centre) / outcome.sigma * kInverseRoot2;
        return 0.5 * (std::erf(high) - std::erf(low));
    }

    static float disc_cosine(const Discs& layer, std::size_t disc, const float* direction) {
        const float* n = layer.normal + 3 * disc;
        return std::min(1.0f, std::fabs(n[0] * direction[0] + n[1] * direction[1] + n[2] * direction[2]));
    }

    std::vector<Stop> stops_;
    std::vector<Outcome> outcomes_;
    std::vector<Score> scores_;
    double left_ = 1.0;
};

}  // namespace

Predictions predict(const Scene& scene, const float* origins, const float* directions, const float* measured,
                    std::size_t count, const PredictionSettings& settings, int threads) {
    Predictions found;
    for (auto* column : {&found.range, &found.probability, &found.returns, &found.reflected}) column->resize(count);
    found.log_likelihood.resize(measured ? count : 0);
    found.label.resize(count);
    found.instance.resize(count);
    found.kind.resize(count);
    constexpr std::size_t kChunk = 2048;
    constexpr int kLanes = 8;
    parallel((count + kChunk - 1) / kChunk, thread_count(threads), [&] {
        return [&, tracer = PacketTracer<kLanes>(scene), outcomes = Outcomes()](std::size_t chunk) mutable {
            tracer.record_crossings();
            const std::size_t end = std::min(count, (chunk + 1) * kChunk);
            for (std::size_t first = chunk * kChunk; first < end; first += kLanes) {
                const int lanes = static_cast<int>(std::min<std::size_t>(kLanes, end - first));
                tracer.aim(origins + 3 * first, directions + 3 * first, lanes);
                tracer.trace(lanes, settings.reach);
                Event surface[kLanes];
                bool hit[kLanes] = {};
                tracer.events(lanes, [&](int lane, const Event& event) {
                    surface[lane] = event;
                    hit[lane] = true;
                });
                for (int lane = 0; lane < lanes; ++lane) {
                    const std::size_t row = first + static_cast<std::size_t>(lane);
                    outcomes.set(tracer.crossings(lane), tracer.passed_discs(lane), directions + 3 * row,
                                 hit[lane] ? &surface[lane] : nullptr, settings);
                    if (measured)
                        found.log_likelihood[row] =
                            static_cast<float>(outcomes.log_likelihood(measured[row], settings));
                    double mass, mean = 0.0;
                    const Outcome* best = outcomes.most_likely(settings, mass, mean);
                    const bool returns = best && outcomes.no_return() < 0.5;  // likelier than not
                    found.returns[row] = static_cast<float>(1.0 - outcomes.no_return());
                    found.range[row] = returns ? static_cast<float>(mean) : kInfinity;
                    found.probability[row] = static_cast<float>(returns ? mass : outcomes.no_return());
                    found.reflected[row] = returns ? best->reflected : 0.0f;
                    found.label[row] = returns ? best->label : 0;
                    found.instance[row] = returns ? best->instance : 0;
                    found.kind[row] = returns ? static_cast<std::uint8_t>(best->kind) : 0;
                }
            }
        };
    });
    return found;
}

}  // namespace resweep
