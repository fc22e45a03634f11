// What moves during a sweep (D, 4.1): shapes that are built once, and the scene of the actors of one sweep.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/motion.hpp"
#include "scene/motion_segments.hpp"
#include "scene/scene.hpp"

namespace resweep {

// Triangles or discs in an actor's frame, built once for all actors and sweeps. The arrays belong to the caller.
class Shape {
  public:
    explicit Shape(const Triangles& triangles);
    explicit Shape(const Discs& discs);

    SceneHandle scene() const { return scene_.get(); }
    PrimitiveKind kind() const { return discs_ ? PrimitiveKind::kSplats : PrimitiveKind::kMesh; }
    bool gathers() const { return discs_ && discs_->depth > 1; }

    // The event of a hit on the shape, at this cosine of incidence.
    Event event(const Hit& hit, float cosine) const;

  private:
    std::unique_ptr<Discs> discs_;
    Faces faces_;
    OwnedScene scene_;
};

// Shapes in one frame, and the motion of that frame.
struct Actor {
    std::vector<const Shape*> shapes;
    Motion motion;
    double radius;                 // metres from the origin of the frame to the farthest point of the shapes
    std::int32_t instance, label;  // of all its returns; 0 and -1 keep those of the shapes
};

// Returns of a sweep: `point` in the sensor's frame at the `time` of firing.
struct ReturnColumns {
    const std::int32_t* instance;
    const double* time;
    const float* point;  // (n, 3)
    std::size_t count;
};

// A sphere: actors that stay outside of it are not traced.
struct Region {
    double centre[3], radius;
};

// The actors of one sweep, in an Embree scene of their own that is traced after that of the world. The time of a ray
// runs from 0 to 1 through the sweep. An actor exists for as long as its motion lasts; one without motion, always.
class ActorScene {
  public:
    // `actors` outlive the scene. `from` and `to` are the seconds at which rays have the times 0 and 1.
    ActorScene(const std::vector<const Actor*>& actors, double from, double to, const Region& region);

    SceneHandle handle() const { return scene_.get(); }
    bool empty() const { return placements_.empty(); }
    bool gathers() const { return gathers_; }
    bool gathers(const Hit& hit) const { return placements_[hit.instance].shape->gathers(); }
    bool one_kind() const { return one_kind_; }
    PrimitiveKind kind() const { return kind_; }

    // The actors that are present in the sweep and the region, as rows of those given.
    const std::vector<std::int32_t>& present() const { return present_; }

    // A sphere around all that an actor sweeps over: centre and radius.
    using Sphere = std::array<float, 4>;
    const std::vector<Sphere>& spheres() const { return spheres_; }

    // Keep in `near` the spheres of the actors that rays may hit which start within `spread` of an origin, in
    // directions that differ from `direction` by vectors up to `turn` long.
    void find_near(const float origin[3], float spread, const float direction[3], float turn,
                   std::vector<Sphere>& near) const;

    // Whether any of a few rays may come within a sphere, nearer than its `far`. True decides nothing.
    static bool may_meet(const std::vector<Sphere>& spheres, const float* const origin[3],
                         const float* const direction[3], const float* far, int count);

    // The time of a ray fired at this second.
    float ray_time(double second) const;

    // The event of a hit on one of the actors by a ray of this time.
    Event event(const Hit& hit, float time) const;

    // A normal in the frame of the actor's shape `placement`, which is a hit's instance, in that of the world.
    void turn_normal(std::uint32_t placement, float time, float normal[3]) const;

    // The discs that a ray of this time gathered on an actor, as one surface; false if none is nearer than `limit`.
    bool combine(const DiscHits& gathered, const float direction[3], float time, float limit,
                 DiscSurface& surface) const;

    // Write the velocity (n, 3), metres per second, of what each return was measured on: that of the actor with the
    // return's instance id, else zero. Returns how many returns each of the `present` actors has.
    std::vector<std::uint32_t> velocities(const ReturnColumns& returns, const Motion& sensor, float* velocity) const;

  private:
    // A shape during one segment of its actor's motion: an Embree instance that exists for that time only.
    struct Placement {
        const Shape* shape;
        const Actor* actor;
        QuaternionPose first, last;
        float begin, end;  // ray times of the first and the last pose
        bool still;        // throughout the sweep

        // A direction of the world in the actor's frame.
        void to_local(float time, const float direction[3], float local[3]) const;
    };

    struct PresentActor {
        const Actor* actor;
        std::size_t row;  // in `present_`
    };

    void add(const Actor& actor, double from, double to, const Region& region, std::int32_t row);
    void attach(const Placement& placement);
    void surround(const Actor& actor, const std::vector<MotionSegment>& segments);

    OwnedScene scene_;
    double from_, scale_;
    std::vector<Placement> placements_;  // by geometry id
    std::vector<Sphere> spheres_;
    std::vector<std::int32_t> present_;
    std::unordered_map<std::int32_t, PresentActor> by_instance_;
    bool gathers_ = false, one_kind_ = true;
    PrimitiveKind kind_ = PrimitiveKind::kMesh;
};

// The event of the discs that a ray gathered, or of `hit` if that is nearer; false if there is neither. `moving`: the
// hit is on one of the `actors`, which may be null otherwise.
bool gathered_event(const Scene& scene, const ActorScene* actors, const Hit& hit, bool moving, float time,
                    const DiscHits& gathered, Event& event);

}  // namespace resweep
