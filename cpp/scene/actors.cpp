#include "scene/actors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace resweep {

Shape::Shape(const Triangles& triangles)
    : faces_(triangles), scene_(prototype_scene(triangle_geometry(triangles), kRobust)) {}

Shape::Shape(const Discs& discs) : discs_(std::make_unique<Discs>(discs)) {
    discs_->moving = true;
    discs_->permeability = {};  // what moves is opaque: worlds are learned from what stands
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
    for (std::size_t row = 0; row < returns.count; ++row) {
        if (returns.instance[row] == 0) continue;
        const auto found = by_instance_.find(returns.instance[row]);
        if (found == by_instance_.end()) continue;
        ++counts[found->second.row];
        const double time = returns.time[row];
        double sensor_rotation[9], sensor_position[3], rotation[9], position[3], linear[3], w[3], arm[3];
        sensor.at(time, sensor_rotation, sensor_position);
        found->second.actor->motion.at(time, rotation, position);
        found->second.actor->motion.velocity(time, linear, w);
        const float* p = returns.point + 3 * row;
        for (int i = 0; i < 3; ++i)
            arm[i] = sensor_position[i] + sensor_rotation[3 * i] * p[0] + sensor_rotation[3 * i + 1] * p[1] +
                     sensor_rotation[3 * i + 2] * p[2] - position[i];
        const double across[3] = {w[1] * arm[2] - w[2] * arm[1], w[2] * arm[0] - w[0] * arm[2],
                                  w[0] * arm[1] - w[1] * arm[0]};
        for (int i = 0; i < 3; ++i) velocity[3 * row + i] = static_cast<float>(linear[i] + across[i]);
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
