// What moves while a sweep lasts (D, 4.1): shapes that are built once, and where they are at each ray's own time.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "core/motion.hpp"
#include "scene/scene.hpp"

namespace resweep {

// Triangles or discs in an actor's frame, built once for every actor and sweep. The arrays belong to the caller.
class Shape {
  public:
    explicit Shape(const Triangles& triangles);
    explicit Shape(const Discs& discs);
    ~Shape() { embree().release_scene(scene_); }
    Shape(const Shape&) = delete;
    Shape& operator=(const Shape&) = delete;

    SceneHandle scene() const { return scene_; }
    const Discs* discs() const { return discs_.get(); }
    Kind kind() const { return discs_ ? Kind::kSplats : Kind::kMesh; }
    bool gathers() const { return discs_ && discs_->depth > 1; }

    // The event of a hit on the shape, at this cosine of incidence.
    Event event(const Hit& hit, float cosine) const;

  private:
    std::unique_ptr<Discs> discs_;
    Faces faces_;
    SceneHandle scene_;
};

// One actor: shapes in one frame and the motion of that frame.
struct Actor {
    std::vector<const Shape*> shapes;
    Motion motion;
    double radius;                 // metres from the frame's origin to the furthest point of the shapes
    std::int32_t instance, label;  // of all its returns; 0 and -1 keep those of the shapes
};

// A pose at one time: a unit quaternion (r, i, j, k) and a position.
struct Step {
    double rotation[4], position[3];
};

// A part of a motion, from one second to another, that two poses tell.
struct Stretch {
    double from, to;
    Step first, last;
};

// The motion from `from` to `to` as stretches that end at its knots. Knots are passed over where the stretch strays
// there by less than a fifth of a millimetre, at `radius` from the origin.
std::vector<Stretch> stretches(const Motion& motion, double from, double to, double radius);

// Returns of a sweep: `point` in the sensor's frame at the `second` of firing.
struct Returns {
    const std::int32_t* instance;
    const double* second;
    const float* point;  // (n, 3)
    std::size_t count;
};

// Where to look for actors: those that stay further away than `reach` from `centre` are left out.
struct Surroundings {
    double centre[3], reach;
};

// The actors of one sweep in an Embree scene of their own, which is traced after that of the world. A ray's time runs
// from 0 to 1 through the sweep. An actor is there for as long as its motion lasts; one without motion, always.
class Stage {
  public:
    // `actors` outlive the stage. `from` and `to` are the seconds at which rays have the times 0 and 1.
    Stage(const std::vector<const Actor*>& actors, double from, double to, const Surroundings& near);
    ~Stage() { embree().release_scene(scene_); }
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;

    SceneHandle handle() const { return scene_; }
    bool empty() const { return places_.empty(); }
    bool gathers() const { return gathers_; }
    bool gathers(const Hit& hit) const { return places_[hit.instance].shape->gathers(); }
    bool one_kind() const { return one_kind_; }
    Kind kind() const { return kind_; }

    // The actors that are there, by their place among those given.
    const std::vector<std::int32_t>& present() const { return present_; }

    // The time of a ray fired at this second.
    float time(double second) const;

    // The event of a hit on one of the actors by a ray of this time.
    Event event(const Hit& hit, float time) const;

    // The reading of discs that a ray of this time gathered on an actor; false if there is none before `limit`.
    bool read(const DiscHits& gathered, const float direction[3], float time, float limit, DiscReading& reading) const;

    // The velocity (n, 3), metres a second, of what each return was measured on; how many returns each of the
    // actors that are `present` has. They are told by their instance ids; all else stands still.
    std::vector<std::uint32_t> velocities(const Returns& returns, const Motion& sensor, float* velocity) const;

  private:
    // A shape in one stretch of its actor's motion: an Embree instance of its own, there for that time only.
    struct Place {
        const Shape* shape;
        const Actor* actor;
        Step first, last;
        float begin, end;  // times of the first and the last step
        bool stands;       // throughout the sweep

        // A direction of the world in the actor's frame.
        void turn_into(float time, const float direction[3], float local[3]) const;
    };

    struct Named {
        const Actor* actor;
        std::size_t place;  // among those present
    };

    void add(const Actor& actor, double from, double to, const Surroundings& near, std::int32_t number);
    void attach(const Place& place);

    SceneHandle scene_;
    double from_, scale_;
    std::vector<Place> places_;  // by geometry id
    std::vector<std::int32_t> present_;
    std::unordered_map<std::int32_t, Named> by_instance_;
    bool gathers_ = false, one_kind_ = true;
    Kind kind_ = Kind::kMesh;
};

// The event of the discs that a ray gathered, or of `hit` if that is nearer; false if there is neither. `moving`: the
// hit is on an actor of the stage, which may be null if not.
bool gathered_event(const Scene& scene, const Stage* stage, const Hit& hit, bool moving, float time,
                    const DiscHits& gathered, Event& event);

}  // namespace resweep
