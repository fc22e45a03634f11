#include "scene/actors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/multiversion.hpp"

namespace resweep {
namespace {

constexpr double kMargin = 0.05;  // metres: more than rounding of rays and interpolation of poses amount to

// Whether a ray comes within a sphere before its `far`. Without branches, so that it is one loop over vectors.
RESWEEP_MULTIVERSION bool any_within_reach(const std::array<float, 4>* spheres, std::size_t n_spheres, const float* ox,
                                           const float* oy, const float* oz, const float* dx, const float* dy,
                                           const float* dz, const float* far, int count) {
    for (std::size_t k = 0; k < n_spheres; ++k) {
        const auto [x, y, z, radius] = spheres[k];
        int near = 0;
        for (int i = 0; i < count; ++i) {
            const float vx = x - ox[i], vy = y - oy[i], vz = z - oz[i];
            const float along = vx * dx[i] + vy * dy[i] + vz * dz[i];
            const float px = vx - along * dx[i], py = vy - along * dy[i], pz = vz - along * dz[i];
            const float apart = px * px + py * py + pz * pz;
            near |=
                (apart <= radius * radius ? 1 : 0) & (along - radius <= far[i] ? 1 : 0) & (along >= -radius ? 1 : 0);
        }
        if (near) return true;
    }
    return false;
}

}  // namespace

Shape::Shape(const Triangles& triangles)
    : faces_(triangles), scene_(prototype_scene(triangle_geometry(triangles), kRobust)) {}

Shape::Shape(const Discs& discs) : discs_(std::make_unique<Discs>(discs)) {
    discs_->moving = true;
    discs_->permeability = {};  // what moves is opaque: worlds are learned from what is stationary
    scene_ = prototype_scene(disc_geometry(*discs_), kNoSceneFlag);
}

Event Shape::event(const Hit& hit, float cosine) const {
    if (!discs_) return face_event(hit, faces_, cosine);
    Hit local = hit;
    local.cosine = cosine;
    return disc_event(local, *discs_);
}

ActorScene::ActorScene(const std::vector<const Actor*>& actors, double from, double to, const Region& region)
    : scene_(new_scene(kRobust, kMedium)), from_(from), scale_(to > from ? 1.0 / (to - from) : 0.0) {
    for (std::size_t i = 0; i < actors.size(); ++i) add(*actors[i], from, to, region, static_cast<std::int32_t>(i));
    commit_scene(scene_, "placing the actors");
}

void ActorScene::add(const Actor& actor, double from, double to, const Region& region, std::int32_t row) {
    const Motion& motion = actor.motion;
    double begin = from, end = to;
    if (!motion.still()) {
        begin = std::max(from, motion.times().front());
        end = std::min(to, motion.times().back());
        if (begin > end || (begin == end && to > from)) return;
    }
    const auto segments = motion_segments(motion, begin, end, actor.radius);
    const auto distance = [](const double* a, const double* b) {
        return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
    };
    double nearest = std::numeric_limits<double>::infinity(), path_length = 0.0;
    for (const MotionSegment& segment : segments) {
        nearest = std::min(nearest, distance(segment.first.position, region.centre));
        path_length += distance(segment.first.position, segment.last.position);
    }
    if (nearest - path_length - actor.radius > region.radius) return;
    present_.push_back(row);
    surround(actor, segments);
    if (actor.instance != 0) by_instance_[actor.instance] = {&actor, present_.size() - 1};
    const bool one_segment = begin == from && end == to && segments.size() == 1;
    for (const MotionSegment& segment : segments) {
        const bool still = one_segment && rotation_angle(segment.first, segment.last) < 1e-6 && path_length < 1e-9;
        const float first = one_segment ? 0.0f : ray_time(segment.from),
                    last = one_segment ? 1.0f : ray_time(segment.to);
        for (const Shape* shape : actor.shapes)
            if (first < last) attach({shape, &actor, segment.first, segment.last, first, last, still});
    }
}

// Keep a sphere around the actor at all times of the sweep. From pose to pose its frame moves along a straight line.
void ActorScene::surround(const Actor& actor, const std::vector<MotionSegment>& segments) {
    double low[3], high[3], reach = 0.0;
    for (int axis = 0; axis < 3; ++axis) {
        low[axis] = high[axis] = segments.front().first.position[axis];
        for (const MotionSegment& segment : segments) {
            low[axis] = std::min(low[axis], segment.last.position[axis]);
            high[axis] = std::max(high[axis], segment.last.position[axis]);
        }
        reach += 0.25 * (high[axis] - low[axis]) * (high[axis] - low[axis]);
    }
    Sphere sphere;
    for (std::size_t axis = 0; axis < 3; ++axis) sphere[axis] = static_cast<float>(0.5 * (low[axis] + high[axis]));
    sphere[3] = static_cast<float>(std::sqrt(reach) + actor.radius + kMargin);
    spheres_.push_back(sphere);
}

// A ray that hits a sphere has then gone at most as far as the sphere's far side is, and so lies at most `turn` times
// that aside of `direction`.
void ActorScene::find_near(const float origin[3], float spread, const float direction[3], float turn,
                           std::vector<Sphere>& near) const {
    near.clear();
    for (const Sphere& sphere : spheres_) {
        double along = 0.0, square = 0.0, apart = 0.0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const double v = double{sphere[axis]} - origin[axis];
            along += v * direction[axis];
            square += v * v;
        }
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const double v = double{sphere[axis]} - origin[axis] - std::max(along, 0.0) * direction[axis];
            apart += v * v;
        }
        const double reach = double{sphere[3]} + spread + kMargin;
        if (std::sqrt(apart) <= reach + (std::sqrt(square) + reach) * turn) near.push_back(sphere);
    }
}

bool ActorScene::may_meet(const std::vector<Sphere>& spheres, const float* const origin[3],
                          const float* const direction[3], const float* far, int count) {
    return any_within_reach(spheres.data(), spheres.size(), origin[0], origin[1], origin[2], direction[0], direction[1],
                            direction[2], far, count);
}

void ActorScene::attach(const Placement& placement) {
    const OwnedGeometry owned = new_instance(placement.shape->scene());
    const Geometry geometry = owned.get();
    const std::uint32_t steps = placement.still ? 1 : 2;
    embree().set_time_steps(geometry, steps);
    if (placement.begin > 0.0f || placement.end < 1.0f)
        embree().set_time_range(geometry, placement.begin, placement.end);
    for (std::uint32_t k = 0; k < steps; ++k) {
        const QuaternionPose& pose = k ? placement.last : placement.first;
        QuaternionTransform transform;
        std::copy(pose.rotation, pose.rotation + 4, transform.rotation);
        std::copy(pose.position, pose.position + 3, transform.translation);
        embree().set_quaternion_transform(geometry, k, &transform);
    }
    embree().commit_geometry(geometry);
    embree().attach(scene_.get(), geometry);  // in a new scene ids count up from 0, as the rows of placements do
    one_kind_ = placements_.empty() || (one_kind_ && placement.shape->kind() == kind_);
    kind_ = placement.shape->kind();
    gathers_ = gathers_ || placement.shape->gathers();
    placements_.push_back(placement);
}

float ActorScene::ray_time(double second) const {
    return static_cast<float>(std::clamp((second - from_) * scale_, 0.0, 1.0));
}

std::vector<std::uint32_t> ActorScene::velocities(const ReturnColumns& returns, const Motion& sensor,
                                                  float* velocity) const {
    std::vector<std::uint32_t> counts(present_.size(), 0);
    std::fill_n(velocity, 3 * returns.count, 0.0f);
    if (by_instance_.empty()) return counts;
    // The rings of a column fire at one time: poses are found once for them.
    struct Known {
        double time = std::numeric_limits<double>::quiet_NaN(), position[3], linear[3], angular[3];
    };
    std::vector<Known> known(present_.size());
    double known_time = std::numeric_limits<double>::quiet_NaN(), turn[9], place[3], rotation[9];
    for (std::size_t row = 0; row < returns.count; ++row) {
        if (returns.instance[row] == 0) continue;
        const auto found = by_instance_.find(returns.instance[row]);
        if (found == by_instance_.end()) continue;
        ++counts[found->second.row];
        const double time = returns.time[row];
        const Motion& motion = found->second.actor->motion;
        Known& own = known[found->second.row];
        if (known_time != time) sensor.at(known_time = time, turn, place);
        if (own.time != time) {
            motion.at(own.time = time, rotation, own.position);
            motion.velocity(time, own.linear, own.angular);
        }
        const float* p = returns.point + 3 * row;
        double arm[3];
        for (int i = 0; i < 3; ++i)
            arm[i] = place[i] + turn[3 * i] * p[0] + turn[3 * i + 1] * p[1] + turn[3 * i + 2] * p[2] - own.position[i];
        const double* w = own.angular;
        const double across[3] = {w[1] * arm[2] - w[2] * arm[1], w[2] * arm[0] - w[0] * arm[2],
                                  w[0] * arm[1] - w[1] * arm[0]};
        for (int i = 0; i < 3; ++i) velocity[3 * row + i] = static_cast<float>(own.linear[i] + across[i]);
    }
    return counts;
}

void ActorScene::Placement::to_local(float time, const float direction[3], float local[3]) const {
    double q[4];
    interpolate_rotation(first, last, std::clamp((double{time} - begin) / (double{end} - begin), 0.0, 1.0), q);
    // d + 2 u x (u x d - r d), with u the vector part: the inverse of the quaternion's rotation.
    const double r = q[0], x = q[1], y = q[2], z = q[3];
    const double dx = direction[0], dy = direction[1], dz = direction[2];
    const double a = y * dz - z * dy - r * dx, b = z * dx - x * dz - r * dy, c = x * dy - y * dx - r * dz;
    local[0] = static_cast<float>(dx + 2.0 * (y * c - z * b));
    local[1] = static_cast<float>(dy + 2.0 * (z * a - x * c));
    local[2] = static_cast<float>(dz + 2.0 * (x * b - y * a));
}

Event ActorScene::event(const Hit& hit, float time) const {
    const Placement& placement = placements_[hit.instance];
    float d[3];
    placement.to_local(time, hit.direction, d);
    const float* n = hit.normal;
    const float along = n[0] * d[0] + n[1] * d[1] + n[2] * d[2];
    const float cosine = std::min(1.0f, std::fabs(along) / std::sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]));
    Event event = placement.shape->event(hit, cosine);
    if (placement.actor->label >= 0) event.label = placement.actor->label;
    if (placement.actor->instance != 0) event.instance = placement.actor->instance;
    return event;
}

bool ActorScene::combine(const DiscHits& gathered, const float direction[3], float time, float limit,
                         DiscSurface& surface) const {
    const Placement& placement = placements_[gathered.instance[0]];
    float local[3];
    placement.to_local(time, direction, local);
    if (!combine_discs(gathered, local, limit, surface)) return false;
    if (placement.actor->label >= 0) surface.label = placement.actor->label;
    if (placement.actor->instance != 0) surface.instance = placement.actor->instance;
    return true;
}

bool gathered_event(const Scene& scene, const ActorScene* actors, const Hit& hit, bool moving, float time,
                    const DiscHits& gathered, Event& event) {
    // A gathering layer accepts a hit only to end the ray behind the gathered discs.
    const bool other = hit.geometry != kInvalidId && !(moving ? actors->gathers(hit) : scene.gathers(hit));
    const float limit = other ? hit.range : std::numeric_limits<float>::infinity();
    DiscSurface surface;
    const bool found = gathered.count > 0 && gathered.layer[0]->moving
                           ? actors->combine(gathered, hit.direction, time, limit, surface)
                           : combine_discs(gathered, hit.direction, limit, surface);
    if (found)
        event = {surface.range,          1.0f,
                 surface.cosine,         surface.reflectance * gathered.layer[0]->falloff(surface.cosine),
                 surface.label,          surface.instance,
                 PrimitiveKind::kSplats, surface.seen};
    else if (other)
        event = moving ? actors->event(hit, time) : scene.event(hit);
    return found || other;
}

}  // namespace resweep
