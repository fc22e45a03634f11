// Packets of rays: filled by the caller, traced by Embree, read as events.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "scene/actors.hpp"
#include "scene/callback_context.hpp"
#include "scene/scene.hpp"

namespace resweep {

// Absolute cosines between normals and directions.
void cosines(const float* nx, const float* ny, const float* nz, const float* dx, const float* dy, const float* dz,
             float* out, int count);

// out[i] = values[rows[i]]
void select(const float* values, const std::uint32_t* rows, float* out, int count);

// The same for the three coordinates of vectors.
void select(const std::vector<float> (&values)[3], const std::uint32_t* rows, float* x, float* y, float* z, int count);

// The largest distance of the first `count` vectors to another.
float farthest(const std::vector<float> (&values)[3], std::size_t count, const float from[3]);

// How far a beam without return is followed, in maximum ranges. A world need not be at hand beyond that.
constexpr float kBeyond = 2.0f;

// Traces rays in packets of N.
template <int N> class PacketTracer {
  public:
    // Rays hit `actors`, if there are any, at their own time.
    explicit PacketTracer(const Scene& scene, const ActorScene* actors = nullptr)
        : scene_(scene),
          actors_(actors && !actors->empty() ? actors : nullptr),
          gathers_(scene.gathers() || (actors_ && actors_->gathers())) {
        if (actors_) near_actors_ = actors_->spheres();
        std::memset(&packet_, 0, sizeof packet_);
        std::fill_n(packet_.ray.mask, N, 0xFFFFFFFFu);
        std::fill_n(packet_.ray.direction_x, N, 1.0f);
        arguments_.flags = N > 1 ? kCoherent : kIncoherent;
        std::iota(packet_.ray.id, packet_.ray.id + N, 0u);  // its row in the arrays of the context
        context_.hits = gathered_;
        context_.keys = keys_;
        context_.cells = cells_;
        context_.stopped = stopped_;
        context_.arguments = &arguments_;
        std::fill_n(keys_, N, std::uint64_t{0});
    }

    // The context keeps the addresses of members.
    PacketTracer(const PacketTracer&) = delete;
    PacketTracer& operator=(const PacketTracer&) = delete;

    // Random bits of each ray's pulse, and the width of its beam at 1 m if one ray stands for all of it.
    std::uint64_t* keys() { return keys_; }
    void set_slope(float slope) { context_.slope = slope; }

    // From now on volumes and permeable discs let all rays pass, and their crossings are recorded. A disc may be
    // recorded twice.
    void record_crossings() {
        context_.crossings = crossings_;
        context_.passed_discs = passed_discs_;
    }
    std::vector<Crossing>& crossings(int lane) { return crossings_[lane]; }
    std::vector<DiscCrossing>& passed_discs(int lane) { return passed_discs_[lane]; }

    // The discs that a ray gathered.
    const DiscHits& discs(int lane) const { return gathered_[lane]; }

    RayPacket<N>& rays() { return packet_.ray; }
    const RayHitPacket<N>& packet() const { return packet_; }

    // The rays that are traced from now on start within `spread` of an origin, and their directions differ from
    // `direction` by vectors up to `turn` long: actors that none of them can hit are left out.
    void narrow_actors(const float origin[3], float spread, const float direction[3], float turn) {
        if (actors_) actors_->find_near(origin, spread, direction, turn, near_actors_);
    }
    bool has_actors() const { return actors_ != nullptr; }

    // Set the first `lanes` rays from origins and directions (n, 3).
    void aim(const float* origins, const float* directions, int lanes) {
        for (int lane = 0; lane < lanes; ++lane) {
            const float *origin = origins + 3 * lane, *direction = directions + 3 * lane;
            packet_.ray.origin_x[lane] = origin[0];
            packet_.ray.origin_y[lane] = origin[1];
            packet_.ray.origin_z[lane] = origin[2];
            packet_.ray.direction_x[lane] = direction[0];
            packet_.ray.direction_y[lane] = direction[1];
            packet_.ray.direction_z[lane] = direction[2];
        }
    }

    // Trace the first `lanes` rays of the packet up to `t_far`. Origins and directions must be set.
    void trace(int lanes, float t_far) {
        std::fill_n(packet_.ray.t_far, N, t_far);
        trace(lanes);
    }

    // The same, up to the `t_far` that is set for each ray.
    void trace(int lanes) {
        for (int lane = 0; lane < N; ++lane) {
            if (context_.crossings) {
                crossings_[lane].clear();
                passed_discs_[lane].clear();
            }
            packet_.hit.geometry[lane] = kInvalidId;
            packet_.hit.instance[lane] = kInvalidId;
            valid_[lane] = lane < lanes ? -1 : 0;
        }
        if (gathers_)
            for (DiscHits& hits : gathered_) hits.count = 0;
        if (scene_.draws())
            for (StoppedBy& stopped : stopped_) stopped.range = -1.0f;
        arguments_.context = &context_.embree;
        intersect_packet(scene_.handle(), valid_, packet_, arguments_);
        if (!actors_) return;
        std::copy_n(packet_.ray.t_far, N, world_far_);
        if (!may_meet_actors(world_far_)) return;
        intersect_packet(actors_->handle(), valid_, packet_, arguments_);
    }

    // Look for anything beyond `range`, up to `kBeyond` times as far: t_far becomes negative for those of the first
    // `lanes` rays that hit something.
    void trace_beyond(int lanes, float range) {
        for (int lane = 0; lane < N; ++lane) {
            packet_.ray.t_near[lane] = range;
            packet_.ray.t_far[lane] = kBeyond * range;
            valid_[lane] = lane < lanes ? -1 : 0;
        }
        arguments_.context = &context_.embree;
        occlude_packet(scene_.handle(), valid_, packet_.ray, arguments_);
        if (actors_) {
            for (int lane = 0; lane < N; ++lane)
                if (packet_.ray.t_far[lane] < 0.0f) valid_[lane] = 0;
            std::fill_n(world_far_, N, kBeyond * range);
            if (may_meet_actors(world_far_)) occlude_packet(actors_->handle(), valid_, packet_.ray, arguments_);
        }
        std::fill_n(packet_.ray.t_near, N, 0.0f);
    }

    // Call `use(lane, event)` for each of the first `lanes` rays that hit.
    template <class Use> void events(int lanes, const Use& use) {
        hits(lanes, [&](int lane, const Event& event, const Hit&, bool) { use(lane, event); });
    }

    // Call `use(lane, range, cosine, face)` for each of the first `lanes` rays that hit something of a plain scene
    // without actors.
    template <class Use> void plain_hits(int lanes, const Use& use) {
        const HitPacket<N>& hit = packet_.hit;
        const RayPacket<N>& ray = packet_.ray;
        cosines(hit.normal_x, hit.normal_y, hit.normal_z, ray.direction_x, ray.direction_y, ray.direction_z, cosine_,
                N);
        for (int lane = 0; lane < lanes; ++lane)
            if (hit.geometry[lane] != kInvalidId)
                use(lane, ray.t_far[lane], cosine_[lane], scene_.face(hit.geometry[lane], hit.primitive[lane]));
    }

    // The same with the hit of each ray, and whether an actor was hit: `use(lane, event, hit, moving)`.
    template <class Use> void hits(int lanes, const Use& use) {
        const HitPacket<N>& hit = packet_.hit;
        const RayPacket<N>& ray = packet_.ray;
        cosines(hit.normal_x, hit.normal_y, hit.normal_z, ray.direction_x, ray.direction_y, ray.direction_z, cosine_,
                N);
        if (!gathers_)
            for (int lane = 0; lane < lanes; ++lane)
                if (hit.geometry[lane] != kInvalidId && !(actors_ && ray.t_far[lane] < world_far_[lane]))
                    scene_.prefetch(hit.geometry[lane], hit.instance[lane], hit.primitive[lane]);
        for (int lane = 0; lane < lanes; ++lane) {
            if (hit.geometry[lane] == kInvalidId && !gathers_) continue;
            const bool moving = actors_ && ray.t_far[lane] < world_far_[lane];
            const Hit one{{hit.normal_x[lane], hit.normal_y[lane], hit.normal_z[lane]},
                          {ray.direction_x[lane], ray.direction_y[lane], ray.direction_z[lane]},
                          ray.t_far[lane],
                          cosine_[lane],
                          hit.u[lane],
                          hit.primitive[lane],
                          hit.geometry[lane],
                          hit.instance[lane],
                          hit.instance_primitive[lane],
                          cells_[lane]};
            Event event;
            if (gathers_) {
                if (gathered_event(scene_, actors_, one, moving, ray.time[lane], gathered_[lane], event))
                    use(lane, event, one, moving);
            } else {
                use(lane, moving ? actors_->event(one, ray.time[lane]) : scene_.event(one), one, moving);
            }
        }
    }

  private:
    bool may_meet_actors(const float* far) const {
        const RayPacket<N>& ray = packet_.ray;
        const float* const origin[3] = {ray.origin_x, ray.origin_y, ray.origin_z};
        const float* const direction[3] = {ray.direction_x, ray.direction_y, ray.direction_z};
        return ActorScene::may_meet(near_actors_, origin, direction, far, N);
    }

    const Scene& scene_;
    const ActorScene* actors_;
    std::vector<ActorScene::Sphere> near_actors_;  // those that the rays may hit
    bool gathers_;
    RayHitPacket<N> packet_;
    float world_far_[N];  // t_far of each ray before the actors are traced
    alignas(64) int valid_[N];
    alignas(64) float cosine_[N];
    CallbackContext context_;
    DiscHits gathered_[N];
    std::uint64_t keys_[N];
    std::uint32_t cells_[N] = {};
    StoppedBy stopped_[N] = {};
    std::vector<Crossing> crossings_[N];
    std::vector<DiscCrossing> passed_discs_[N];
    IntersectArguments arguments_;
};

}  // namespace resweep
