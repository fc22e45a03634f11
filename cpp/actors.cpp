#include "actors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace resweep {
namespace {

constexpr double kTolerance = 2e-4;  // metres that interpolated poses may stray
// Embree interpolates quaternions this near (in radians of the turn between them) with full accuracy.
constexpr double kTurn = 0.06;
constexpr std::size_t kMaxSegments = 128;  // RTC_MAX_TIME_STEP_COUNT - 1

// The unit quaternion of a rotation (row-major 3x3), from its largest component (Shepperd 1978).
void quaternion(const double m[9], double q[4]) {
    const double trace = m[0] + m[4] + m[8];
    const double squares[4] = {1.0 + trace, 1.0 + 2.0 * m[0] - trace, 1.0 + 2.0 * m[4] - trace,
                               1.0 + 2.0 * m[8] - trace};
    const auto most = std::max_element(squares, squares + 4) - squares;
    // Four times the products of each two components.
    const double ri = m[7] - m[5], rj = m[2] - m[6], rk = m[3] - m[1];
    const double ij = m[1] + m[3], ik = m[2] + m[6], jk = m[5] + m[7];
    const double rows[4][4] = {
        {squares[0], ri, rj, rk}, {ri, squares[1], ij, ik}, {rj, ij, squares[2], jk}, {rk, ik, jk, squares[3]}};
    const double scale = 0.5 / std::sqrt(squares[most]);
    for (int i = 0; i < 4; ++i) q[i] = rows[most][i] * scale;
}

Step step_at(const Motion& motion, double time) {
    Step step;
    double rotation[9];
    motion.at(time, rotation, step.position);
    quaternion(rotation, step.rotation);
    return step;
}

double dot(const double a[4], const double b[4]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]; }

// The rotation between two steps, which are near each other: a normalised mean.
void mean_rotation(const Step& a, const Step& b, double share, double q[4]) {
    const double other = dot(a.rotation, b.rotation) < 0.0 ? -share : share;
    for (int i = 0; i < 4; ++i) q[i] = (1.0 - share) * a.rotation[i] + other * b.rotation[i];
    const double scale = 1.0 / std::sqrt(dot(q, q));
    for (int i = 0; i < 4; ++i) q[i] *= scale;
}

// Metres, at `radius` from the origin, between the motion at `time` and what steps around it give.
double stray(const Motion& motion, double time, const Step& a, const Step& b, double share, double radius) {
    const Step truth = step_at(motion, time);
    double q[4], squared = 0.0;
    mean_rotation(a, b, share, q);
    for (int i = 0; i < 3; ++i) {
        const double d = truth.position[i] - (1.0 - share) * a.position[i] - share * b.position[i];
        squared += d * d;
    }
    const double cosine = std::min(1.0, std::fabs(dot(q, truth.rotation)));
    return std::sqrt(squared) + 2.0 * radius * std::acos(cosine);
}

double length(const double v[3]) { return std::hypot(v[0], v[1], v[2]); }

// The fastest turn, radians a second, from `from` to `to`.
double fastest_turn(const Motion& motion, double from, double to) {
    double linear[3], angular[3];
    motion.rates(from, linear, angular);
    double fastest = length(angular);
    for (double knot : motion.times())
        if (knot > from && knot < to) {
            motion.rates(knot, linear, angular);
            fastest = std::max(fastest, length(angular));
        }
    return fastest;
}

}  // namespace

std::vector<Step> equal_steps(const Motion& motion, double from, double to, double radius) {
    std::vector<Step> steps{step_at(motion, from)};
    if (motion.still() || to <= from) return steps;
    const auto& times = motion.times();
    const auto first = std::upper_bound(times.begin(), times.end(), from);
    const auto last = std::lower_bound(first, times.end(), to);
    const double turns = fastest_turn(motion, from, to) * (to - from) / kTurn;
    auto segments = static_cast<std::size_t>(std::clamp(std::ceil(turns), 1.0, double{kMaxSegments}));
    for (;; segments = std::min(2 * segments, kMaxSegments)) {
        const double scale = static_cast<double>(segments) / (to - from);
        steps.resize(segments + 1);
        for (std::size_t k = 1; k <= segments; ++k)
            steps[k] = step_at(motion, k == segments ? to : from + static_cast<double>(k) / scale);
        if (segments == kMaxSegments) break;
        // Between knots the motion is what Embree interpolates; it strays most at the knots themselves.
        const bool good = std::all_of(first, last, [&](double knot) {
            const double at = (knot - from) * scale;
            const auto k = std::min(static_cast<std::size_t>(at), segments - 1);
            return stray(motion, knot, steps[k], steps[k + 1], at - static_cast<double>(k), radius) <= kTolerance;
        });
        if (good) break;
    }
    const auto near = [](double a, double b) { return std::fabs(a - b) < 1e-9; };
    const bool stands = std::all_of(steps.begin(), steps.end(), [&](const Step& step) {
        return std::equal(step.rotation, step.rotation + 4, steps[0].rotation, near) &&
               std::equal(step.position, step.position + 3, steps[0].position, near);
    });
    if (stands) steps.resize(1);
    return steps;
}

Shape::Shape(const Triangles& triangles)
    : faces_(triangles), scene_(prototype_scene(triangle_geometry(triangles), kRobust)) {}

Shape::Shape(const Discs& discs) : discs_(std::make_unique<Discs>(discs)) {
    discs_->moving = true;
    scene_ = prototype_scene(disc_geometry(*discs_), kNoSceneFlag);
}

Event Shape::event(const Hit& hit, float cosine) const {
    if (!discs_) return face_event(hit, faces_, cosine);
    Hit turned = hit;
    turned.cosine = cosine;
    return disc_event(turned, *discs_);
}

Stage::Stage(const std::vector<const Actor*>& actors, double from, double to, const Surroundings& near)
    : scene_(embree().new_scene(embree_device())), from_(from), scale_(to > from ? 1.0 / (to - from) : 0.0) {
    embree().set_scene_flags(scene_, kRobust);
    embree().set_scene_quality(scene_, kMedium);
    for (std::size_t i = 0; i < actors.size(); ++i) add(*actors[i], from, to, near, static_cast<std::int32_t>(i));
    embree().commit_scene(scene_);
    check_embree("placing the actors");
}

void Stage::add(const Actor& actor, double from, double to, const Surroundings& near, std::int32_t number) {
    const Motion& motion = actor.motion;
    double begin = from, end = to;
    if (!motion.still()) {
        begin = std::max(from, motion.times().front());
        end = std::min(to, motion.times().back());
        if (begin > end || (begin == end && to > from)) return;
    }
    auto steps = equal_steps(motion, begin, end, actor.radius);
    double nearest = std::numeric_limits<double>::infinity(), moved = 0.0;
    for (std::size_t k = 0; k < steps.size(); ++k) {
        const double *p = steps[k].position, *q = steps[k ? k - 1 : 0].position, *c = near.centre;
        nearest = std::min(nearest, std::hypot(p[0] - c[0], p[1] - c[1], p[2] - c[2]));
        moved += std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
    }
    if (nearest - moved - actor.radius > near.reach) return;
    const bool whole = begin == from && end == to;
    if (!whole && steps.size() == 1) steps.push_back(steps[0]);  // only what has steps can come and go
    const auto shared = std::make_shared<const std::vector<Step>>(std::move(steps));
    present_.push_back(number);
    if (actor.instance != 0) by_instance_[actor.instance] = {&actor, present_.size() - 1};
    for (const Shape* shape : actor.shapes)
        attach({shape, &actor, shared, whole ? 0.0f : time(begin), whole ? 1.0f : time(end)});
}

void Stage::attach(const Place& place) {
    Geometry geometry = embree().new_geometry(embree_device(), kInstance);
    embree().set_instanced_scene(geometry, place.shape->scene());
    embree().set_time_steps(geometry, static_cast<std::uint32_t>(place.steps->size()));
    if (place.begin > 0.0f || place.end < 1.0f) embree().set_time_range(geometry, place.begin, place.end);
    for (std::size_t k = 0; k < place.steps->size(); ++k) {
        const Step& step = (*place.steps)[k];
        QuaternionTransform transform;
        std::copy(step.rotation, step.rotation + 4, transform.rotation);
        std::copy(step.position, step.position + 3, transform.translation);
        embree().set_turn(geometry, static_cast<std::uint32_t>(k), &transform);
    }
    embree().commit_geometry(geometry);
    embree().attach(scene_, geometry);  // in a fresh scene ids count up from 0, as places do
    embree().release_geometry(geometry);
    one_kind_ = places_.empty() || (one_kind_ && place.shape->kind() == kind_);
    kind_ = place.shape->kind();
    gathers_ = gathers_ || place.shape->gathers();
    places_.push_back(place);
}

float Stage::time(double second) const { return static_cast<float>(std::clamp((second - from_) * scale_, 0.0, 1.0)); }

std::vector<std::uint32_t> Stage::velocities(const Returns& returns, const Motion& sensor, float* velocity) const {
    std::vector<std::uint32_t> seen(present_.size(), 0);
    std::fill_n(velocity, 3 * returns.count, 0.0f);
    if (by_instance_.empty()) return seen;
    for (std::size_t row = 0; row < returns.count; ++row) {
        if (returns.instance[row] == 0) continue;
        const auto found = by_instance_.find(returns.instance[row]);
        if (found == by_instance_.end()) continue;
        ++seen[found->second.place];
        const double second = returns.second[row];
        double turn[9], from[3], own[9], origin[3], linear[3], w[3], arm[3];
        sensor.at(second, turn, from);
        found->second.actor->motion.at(second, own, origin);
        found->second.actor->motion.rates(second, linear, w);
        const float* p = returns.point + 3 * row;
        for (int i = 0; i < 3; ++i)
            arm[i] = from[i] + turn[3 * i] * p[0] + turn[3 * i + 1] * p[1] + turn[3 * i + 2] * p[2] - origin[i];
        const double across[3] = {w[1] * arm[2] - w[2] * arm[1], w[2] * arm[0] - w[0] * arm[2],
                                  w[0] * arm[1] - w[1] * arm[0]};
        for (int i = 0; i < 3; ++i) velocity[3 * row + i] = static_cast<float>(linear[i] + across[i]);
    }
    return seen;
}

void Stage::Place::turn_into(float time, const float direction[3], float local[3]) const {
    double q[4];
    if (steps->size() == 1) {
        std::copy_n((*steps)[0].rotation, 4, q);
    } else {
        const std::size_t segments = steps->size() - 1;
        const double share = std::clamp((double{time} - begin) / (double{end} - begin), 0.0, 1.0);
        const double at = share * static_cast<double>(segments);
        const auto k = std::min(static_cast<std::size_t>(at), segments - 1);
        mean_rotation((*steps)[k], (*steps)[k + 1], at - static_cast<double>(k), q);
    }
    // d + 2 u x (u x d - r d), with u the vector part: the inverse of the quaternion's rotation.
    const double r = q[0], x = q[1], y = q[2], z = q[3];
    const double dx = direction[0], dy = direction[1], dz = direction[2];
    const double a = y * dz - z * dy - r * dx, b = z * dx - x * dz - r * dy, c = x * dy - y * dx - r * dz;
    local[0] = static_cast<float>(dx + 2.0 * (y * c - z * b));
    local[1] = static_cast<float>(dy + 2.0 * (z * a - x * c));
    local[2] = static_cast<float>(dz + 2.0 * (x * b - y * a));
}

Event Stage::event(const Hit& hit, float time) const {
    const Place& place = places_[hit.instance];
    float d[3];
    place.turn_into(time, hit.direction, d);
    const float* n = hit.normal;
    const float along = n[0] * d[0] + n[1] * d[1] + n[2] * d[2];
    const float cosine = std::min(1.0f, std::fabs(along) / std::sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]));
    Event event = place.shape->event(hit, cosine);
    if (place.actor->label >= 0) event.label = place.actor->label;
    if (place.actor->instance != 0) event.instance = place.actor->instance;
    return event;
}

bool Stage::read(const DiscHits& gathered, const float direction[3], float time, float limit,
                 DiscReading& reading) const {
    const Place& place = places_[gathered.instance[0]];
    float local[3];
    place.turn_into(time, direction, local);
    if (!read_discs(gathered, local, limit, reading)) return false;
    if (place.actor->label >= 0) reading.label = place.actor->label;
    if (place.actor->instance != 0) reading.instance = place.actor->instance;
    return true;
}

bool gathered_event(const Scene& scene, const Stage* stage, const Hit& hit, bool moving, float time,
                    const DiscHits& gathered, Event& event) {
    // A gathering layer takes a hit only to end the ray behind what it gathered.
    const bool other = hit.geometry != kInvalidId && !(moving ? stage->gathers(hit) : scene.gathers(hit));
    const float limit = other ? hit.range : std::numeric_limits<float>::infinity();
    DiscReading reading;
    const bool read = gathered.count > 0 && gathered.layer[0]->moving
                          ? stage->read(gathered, hit.direction, time, limit, reading)
                          : read_discs(gathered, hit.direction, limit, reading);
    if (read)
        event = {reading.range,    1.0f,         reading.cosine, reading.reflectance * reading.cosine, reading.label,
                 reading.instance, Kind::kSplats};
    else if (other)
        event = moving ? stage->event(hit, time) : scene.event(hit);
    return read || other;
}

}  // namespace resweep
