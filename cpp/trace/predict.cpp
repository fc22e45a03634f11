#include "trace/predict.hpp"

#include "trace/packet_tracer.hpp"
#include "core/parallel.hpp"

namespace resweep {
namespace {

// One way in which a beam may end: with this probability, at a range that is Gaussian.
struct Ending {
    double probability, centre, sigma;
    float reflected;
    std::int32_t label, instance;
    Kind kind;
};

// The ways in which a ray may end, in order; what is left of it returns nothing.
class Endings {
  public:
    void read(std::vector<Crossing>& crossings, const Event* surface, const Predictive& how) {
        std::sort(crossings.begin(), crossings.end(), [](const Crossing& a, const Crossing& b) {
            return a.centre < b.centre || (a.centre == b.centre && a.volume < b.volume);
        });
        endings_.clear();
        left_ = 1.0;
        for (const Crossing& crossing : crossings) {
            if (crossing.centre > (surface ? surface->range : how.range_max)) break;
            const double pass = std::exp(static_cast<double>(log_pass(crossing, how.slope)));
            const Volume& volume = crossing.layer->volume[crossing.volume];
            const double sigma = std::sqrt(double{crossing.sigma} * crossing.sigma + double{how.sigma} * how.sigma);
            endings_.push_back({left_ * (1.0 - pass), crossing.centre, sigma, volume.reflectance, volume.label,
                                volume.instance, Kind::kVolumes});
            left_ *= pass;
        }
        if (!surface) return;
        endings_.push_back(
            {left_, surface->range, how.sigma, surface->reflected, surface->label, surface->instance, surface->kind});
        left_ = 0.0;
    }

    double none() const { return left_; }

    // Log of the density per metre at `measured`, or of the probability of no return if that is infinite.
    double log_likelihood(double measured, const Predictive& how) const {
        const bool returned = measured < kInfinity;
        double own = returned ? 0.0 : left_;
        if (returned)
            for (const Ending& ending : endings_) {
                const double z = (measured - ending.centre) / ending.sigma;
                if (std::fabs(z) > 2.0 * kTail) continue;
                own += ending.probability / ending.sigma * kInverseRoot2Pi * std::exp(-0.5 * z * z);
            }
        const double any = returned ? 0.5 / how.range_max : 0.5;
        return std::log((1.0 - how.clutter) * own + how.clutter * any);
    }

    // The ending around which most probability lies within the window, and how much.
    const Ending* likeliest(const Predictive& how, double& mass) const {
        const Ending* best = nullptr;
        mass = 0.0;
        for (const Ending& at : endings_) {
            if (at.probability < kUnlikely) continue;
            double sum = 0.0;
            for (const Ending& ending : endings_)
                if (std::fabs(ending.centre - at.centre) < how.window + kTail * ending.sigma)
                    sum += ending.probability * within(ending, at.centre, how.window);
            if (sum > mass) {
                mass = sum;
                best = &at;
            }
        }
        return best;
    }

  private:
    static constexpr double kInverseRoot2Pi = 0.3989422804014327, kInverseRoot2 = 0.7071067811865476;
    static constexpr double kUnlikely = 1e-3;  // an ending that is looked at only as a part of others
    static constexpr double kTail = 4.0;       // standard deviations beyond which there is next to nothing

    // Share of an ending within `window` of `middle`.
    static double within(const Ending& ending, double middle, double window) {
        const double low = (middle - window - ending.centre) / ending.sigma * kInverseRoot2;
        const double high = (middle + window - ending.centre) / ending.sigma * kInverseRoot2;
        return 0.5 * (std::erf(high) - std::erf(low));
    }

    std::vector<Ending> endings_;
    double left_ = 1.0;
};

}  // namespace

Predictions predict(const Scene& scene, const float* origins, const float* directions, const float* measured,
                    std::size_t count, const Predictive& how, int threads) {
    Predictions found;
    for (auto* column : {&found.range, &found.probability, &found.returns, &found.reflected}) column->resize(count);
    found.log_likelihood.resize(measured ? count : 0);
    found.label.resize(count);
    found.instance.resize(count);
    found.kind.resize(count);
    constexpr std::size_t kChunk = 2048;
    constexpr int kLanes = 8;
    parallel((count + kChunk - 1) / kChunk, thread_count(threads), [&] {
        return [&, tracer = PacketTracer<kLanes>(scene), endings = Endings()](std::size_t chunk) mutable {
            tracer.collect();
            const std::size_t end = std::min(count, (chunk + 1) * kChunk);
            for (std::size_t first = chunk * kChunk; first < end; first += kLanes) {
                const int lanes = static_cast<int>(std::min<std::size_t>(kLanes, end - first));
                tracer.aim(origins + 3 * first, directions + 3 * first, lanes);
                tracer.trace(lanes, how.range_max);
                Event surface[kLanes];
                bool met[kLanes] = {};
                tracer.events(lanes, [&](int lane, const Event& event) {
                    surface[lane] = event;
                    met[lane] = true;
                });
                for (int lane = 0; lane < lanes; ++lane) {
                    const std::size_t row = first + static_cast<std::size_t>(lane);
                    endings.read(tracer.crossings(lane), met[lane] ? &surface[lane] : nullptr, how);
                    if (measured)
                        found.log_likelihood[row] = static_cast<float>(endings.log_likelihood(measured[row], how));
                    double mass;
                    const Ending* best = endings.likeliest(how, mass);
                    const bool returns = best && endings.none() < 0.5;
                    found.returns[row] = static_cast<float>(1.0 - endings.none());
                    found.range[row] = returns ? static_cast<float>(best->centre) : kInfinity;
                    found.probability[row] = static_cast<float>(returns ? mass : endings.none());
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
