// Discs only shrink, so the first hit of a beam remains the first until that disc is cut. Hence one hierarchy serves
// all rounds, with a filter that knows the present radii. A round traces only the beams whose disc was cut in the round
// before, from that disc on.
#include "map/carve.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <utility>

#include "core/embree.hpp"
#include "core/parallel.hpp"
#include "scene/splats.hpp"

namespace resweep {
namespace {

constexpr std::size_t kChunk = 8192;  // beams
// Chosen by hand.
constexpr float kInside = 0.98f;       // of the distance at which a beam crossed, so that it misses the disc then
constexpr float kShortest = 1e-6f;     // metres; a shorter beam has no direction
constexpr float kBack = 1.0f - 1e-5f;  // of the range from which the beam is traced again
constexpr std::uint32_t kNone = kInvalidId;

struct FirstHit {
    float range;
    std::uint32_t disc;  // kNone: nothing up to the return
};

struct NearestContext {
    RayQueryContext embree;
    FirstHit hit{kInfinity, kNone};
};

// Filter: accepts a hit within the present radius of the disc, given as its squared share of the first radius. Of hits
// at the same range it accepts that of the first disc, so that the result does not depend on the hierarchy.
void within_present_radius(const FilterArguments* arguments) {
    const auto& ray = *reinterpret_cast<const RayPacket<1>*>(arguments->ray);
    const auto& hit = *reinterpret_cast<const HitPacket<1>*>(arguments->hit);
    const auto* share2 = static_cast<const float*>(arguments->user);
    FirstHit& nearest = reinterpret_cast<NearestContext*>(arguments->context)->hit;
    const float x = 2.0f * hit.u[0] - 1.0f, y = 2.0f * hit.v[0] - 1.0f, range = ray.t_far[0];
    const std::uint32_t disc = hit.primitive[0];
    if (x * x + y * y > share2[disc] || (range == nearest.range && disc > nearest.disc))
        arguments->valid[0] = 0;
    else
        nearest = {range, disc};
}

float length(const float* a, const float* b) {
    const float x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return std::sqrt(x * x + y * y + z * z);
}

// How the beams that hit a disc count for it: how many passed and stopped, and how near to the centre one passed. The
// order in which they are counted does not matter.
struct Votes {
    std::atomic<std::uint32_t> passed{0}, stopped{0};
    std::atomic<std::uint32_t> crossing{std::bit_cast<std::uint32_t>(kInfinity)};  // bits of a float, not negative

    void pass(float at) {
        passed.fetch_add(1, std::memory_order_relaxed);
        const auto bits = std::bit_cast<std::uint32_t>(at);
        std::uint32_t now = crossing.load(std::memory_order_relaxed);
        while (bits < now && !crossing.compare_exchange_weak(now, bits, std::memory_order_relaxed)) {
        }
    }
    void stop() { stopped.fetch_add(1, std::memory_order_relaxed); }
};

class Carver {
  public:
    Carver(const CarvedDiscs& discs, const RecordedBeams& beams, const CarveSettings& settings, int threads)
        : discs_(discs),
          beams_(beams),
          settings_(settings),
          threads_(threads),
          radius_(discs.radius, discs.radius + discs.n),
          share2_(discs.n, 1.0f),
          hits_(beams.n, FirstHit{0.0f, kNone}),
          scene_(new_scene(kNoSceneFlag, kMedium)) {
        const OwnedGeometry owned = disc_quads(discs.centre, discs.normal, discs.radius, discs.n);
        const Geometry geometry = owned.get();
        embree().set_user_data(geometry, share2_.data());
        embree().set_intersect_filter(geometry, within_present_radius);
        embree().commit_geometry(geometry);
        embree().attach(scene_.get(), geometry);
        commit_scene(scene_, "building a hierarchy over splats");
    }
    Carver(const Carver&) = delete;
    Carver& operator=(const Carver&) = delete;

    std::vector<float> run() {
        std::vector<std::uint8_t> cut(discs_.n, 1);
        for (int round = 0; round < settings_.rounds; ++round) {
            trace(cut, round == 0);
            if (!cut_back(cut)) break;
        }
        return std::move(radius_);
    }

  private:
    template <class Work> void for_beams(const Work& work) const {
        parallel((beams_.n + kChunk - 1) / kChunk, threads_, [&] {
            return [&, this](std::size_t chunk) {
                const std::size_t end = std::min(beams_.n, (chunk + 1) * kChunk);
                for (std::size_t beam = chunk * kChunk; beam < end; ++beam) work(beam);
            };
        });
    }

    float margin(float distance) const { return settings_.margin + settings_.margin_per_m * distance; }

    // Trace the beams whose disc was `cut`, or `all` of them.
    void trace(const std::vector<std::uint8_t>& cut, bool all) {
        for_beams([&, this](std::size_t beam) {
            const std::uint32_t disc = hits_[beam].disc;
            if (all ? beams_.measured[beam] != 0 : disc != kNone && cut[disc] != 0) trace(beam);
        });
    }

    // Single rays: packets gain nothing where a beam grazes many overlapping discs.
    void trace(std::size_t beam) {
        const float *from = beams_.origin + 3 * beam, *to = beams_.point + 3 * beam;
        const float far = length(to, from), scale = 1.0f / std::max(far, kShortest);
        RayHitPacket<1> one{};
        one.ray.origin_x[0] = from[0], one.ray.origin_y[0] = from[1], one.ray.origin_z[0] = from[2];
        one.ray.direction_x[0] = (to[0] - from[0]) * scale;
        one.ray.direction_y[0] = (to[1] - from[1]) * scale;
        one.ray.direction_z[0] = (to[2] - from[2]) * scale;
        one.ray.t_near[0] = hits_[beam].range * kBack;
        one.ray.t_far[0] = far + margin(far);
        one.ray.mask[0] = 0xFFFFFFFFu;
        one.hit.geometry[0] = kInvalidId;
        NearestContext context;
        IntersectArguments arguments;
        arguments.context = &context.embree;
        embree().intersect1(scene_.get(), &one, &arguments);
        hits_[beam] = context.hit;
    }

    std::vector<Votes> votes() const {
        std::vector<Votes> votes(discs_.n);
        for_beams([&, this](std::size_t beam) {
            const FirstHit hit = hits_[beam];
            if (hit.disc == kNone) return;
            const float far = length(beams_.point + 3 * beam, beams_.origin + 3 * beam);
            if (far - hit.range > margin(far))
                votes[hit.disc].pass(crossing(beam, hit, far));
            else
                votes[hit.disc].stop();
        });
        return votes;
    }

    // How far from the centre of its disc the beam passed.
    float crossing(std::size_t beam, const FirstHit& hit, float far) const {
        const float *from = beams_.origin + 3 * beam, *to = beams_.point + 3 * beam;
        const float along = hit.range / std::max(far, kShortest);
        const float at[3] = {from[0] + (to[0] - from[0]) * along, from[1] + (to[1] - from[1]) * along,
                             from[2] + (to[2] - from[2]) * along};
        return length(at, discs_.centre + 3 * std::size_t{hit.disc});
    }

    // False if no beam passed a disc, or if no disc would be left.
    bool cut_back(std::vector<std::uint8_t>& cut) {
        const std::vector<Votes> counted = votes();
        std::vector<float> radius = radius_;
        bool passed = false, left = false;
        for (std::size_t i = 0; i < discs_.n; ++i) {
            const Votes& of = counted[i];
            if (static_cast<float>(of.passed) > discs_.ratio[i] * static_cast<float>(of.stopped))
                radius[i] = std::min(radius[i], kInside * std::bit_cast<float>(of.crossing.load()));
            if (!(radius[i] > settings_.radius_min)) radius[i] = 0.0f;
            cut[i] = radius[i] < radius_[i];
            passed = passed || of.passed > 0;
            left = left || radius[i] > 0.0f;
        }
        if (!passed || !left) return false;
        radius_ = std::move(radius);
        for (std::size_t i = 0; i < discs_.n; ++i)
            if (cut[i]) {
                const float share = radius_[i] / discs_.radius[i];
                share2_[i] = radius_[i] > 0.0f ? share * share : -1.0f;
            }
        return true;
    }

    const CarvedDiscs& discs_;
    const RecordedBeams& beams_;
    const CarveSettings& settings_;
    int threads_;
    std::vector<float> radius_, share2_;
    std::vector<FirstHit> hits_;
    OwnedScene scene_;
};

}  // namespace

std::vector<float> carve(const CarvedDiscs& discs, const RecordedBeams& beams, const CarveSettings& settings,
                         int threads) {
    return Carver(discs, beams, settings, thread_count(threads)).run();
}

}  // namespace resweep
