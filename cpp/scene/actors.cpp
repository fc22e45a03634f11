#include "scene/actors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace resweep {
namespace {

constexpr double kTolerance = 2e-4;  // metres that interpolated poses may stray
// Embree interpolates quaternions this near (in radians of the turn between them) with full accuracy.
constexpr double kTurn = 0.06;

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

// The angle, radians, between two rotations.
double turn(const Step& a, const Step& b) {
    return 2.0 * std::acos(std::min(1.0, std::fabs(dot(a.rotation, b.rotation))));
}

// Whether a straight line from `a` to `b` follows the motion at all knots between them, which are where it strays most.
bool follows(const Motion& motion, const Step& a, const Step& b, double from, double to, const double* first,
             const double* last, double radius) {
    return turn(a, b) <= kTurn && std::all_of(first, last, [&](double knot) {
               return stray(motion, knot, a, b, (knot - from) / (to - from), radius) <= kTolerance;
           });
}

}  // namespace

std::vector<Stretch> stretches(const Motion& motion, double from, double to, double radius) {
    const Step first = step_at(motion, from);
    if (motion.still() || to <= from) return {{from, to, first, first}};
    const auto& knots = motion.times();
    const auto inner = std::upper_bound(knots.begin(), knots.end(), from);
    std::vector<double> ends(inner, std::lower_bound(inner, knots.end(), to));
    ends.push_back(to);
    std::vector<Stretch> found;
    for (std::size_t next = 0; next < ends.size();) {
        const double begin = next ? ends[next - 1] : from;
        const Step start = step_at(motion, begin);
        std::size_t last = next;  // as many knots further as a straight line follows, in ever smaller leaps
        for (std::size_t leap = ends.size(); leap > 0; leap /= 2)
            if (last + leap < ends.size() &&
                follows(motion, start, step_at(motion, ends[last + leap]), begin, ends[last + leap], ends.data() + next,
                        ends.data() + last + leap, radius))
                last += leap;
        const double end = ends[last];
        // What turns fast between two knots is cut, so that quaternions are interpolated well.
        double linear[3], angular[3];
        motion.rates(begin, linear, angular);
        const double angle = last > next ? 0.0 : std::hypot(angular[0], angular[1], angular[2]) * (end - begin);
        const auto pieces = static_cast<int>(std::max(1.0, std::ceil(angle / kTurn)));
        for (int k = 0; k < pieces; ++k) {
            const double a = begin + (end - begin) * k / pieces;
            const double b = k + 1 == pieces ? end : begin + (end - begin) * (k + 1) / pieces;
            found.push_back({a, b, step_at(motion, a), step_at(motion, b)});
        }
        next = last + 1;
    }
    return found;
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
    const auto path = stretches(motion, begin, end, actor.radius);
    const auto distance = [](const double* a, const double* b) {
        return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
    };
    double nearest = std::numeric_limits<double>::infinity(), moved = 0.0;
    for (const Stretch& stretch : path) {
        nearest = std::min(nearest, distance(stretch.first.position, near.centre));
        moved += distance(stretch.first.position, stretch.last.position);
    }
    if (nearest - moved - actor.radius > near.reach) return;
    present_.push_back(number);
    if (actor.instance != 0) by_instance_[actor.instance] = {&actor, present_.size() - 1};
    const bool whole = begin == from && end == to;
    for (const Stretch& stretch : path) {
        const bool alone = whole && path.size() == 1;
        const bool stands = alone && turn(stretch.first, stretch.last) < 1e-6 && moved < 1e-9;
        const float first = alone ? 0.0f : time(stretch.from), last = alone ? 1.0f : time(stretch.to);
        for (const Shape* shape : actor.shapes)
            if (first < last) attach({shape, &actor, stretch.first, stretch.last, first, last, stands});
    }
}

void Stage::attach(const Place& place) {
    Geometry geometry = embree().new_geometry(embree_device(), kInstance);
    embree().set_instanced_scene(geometry, place.shape->scene());
    const std::uint32_t steps = place.stands ? 1 : 2;
    embree().set_time_steps(geometry, steps);
    if (place.begin > 0.0f || place.end < 1.0f) embree().set_time_range(geometry, place.begin, place.end);
    for (std::uint32_t k = 0; k < steps; ++k) {
        const Step& step = k ? place.last : place.first;
        QuaternionTransform transform;
        std::copy(step.rotation, step.rotation + 4, transform.rotation);
        std::copy(step.position, step.position + 3, transform.translation);
        embree().set_turn(geometry, k, &transform);
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
    mean_rotation(first, last, std::clamp((double{time} - begin) / (double{end} - begin), 0.0, 1.0), q);
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
