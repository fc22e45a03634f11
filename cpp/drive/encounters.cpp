#include "drive/encounters.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "drive/flat_boxes.hpp"

namespace resweep {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNever = std::numeric_limits<double>::quiet_NaN();
constexpr double kTested = 0.02;    // seconds between two moments at which distances are measured
constexpr double kMoment = 1e-4;    // seconds to which a contact is found
constexpr double kAround = 1.0;     // seconds around a period whose knots bound the speed
constexpr double kForesight = 0.1;  // seconds between two moments of a prediction

struct Pose {
    double rotation[9], position[3];
};

Pose pose_at(const Motion& motion, double time) {
    Pose pose;
    motion.at(time, pose.rotation, pose.position);
    return pose;
}

// Metres between two boxes at a time; zero where they overlap.
double gap_at(const MovingBox& one, const MovingBox& two, double time) {
    const Pose a = pose_at(one.motion, time), b = pose_at(two.motion, time);
    const FlatBox first = make_flat_box(one.box, a.rotation, a.position),
                  second = make_flat_box(two.box, b.rotation, b.position);
    return overlap(first, second) ? 0.0 : std::max(distance(first, second), 1e-9);
}

// The times at which distances are measured, ascending.
std::vector<double> list_moments(const Motion& one, const Motion& two, double from, double to) {
    std::vector<double> moments;
    for (const Motion* motion : {&one, &two})
        for (const double time : motion->times()) moments.push_back(std::clamp(time, from, to));
    const auto parts = std::max(1.0, std::nearbyint((to - from) / kTested));
    for (double part = 0.0; part < parts; ++part) moments.push_back(part * ((to - from) / parts) + from);
    moments.push_back(to);
    std::sort(moments.begin(), moments.end());
    moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
    return moments;
}

// A bound on the speed of any point of a box, metres per second, from one second to another.
double bound_speed(const MovingBox& moving, double from, double to) {
    const std::vector<double>& times = moving.motion.times();
    if (times.size() == 1 || from == to) return 0.0;
    auto first = std::lower_bound(times.begin(), times.end(), from - kAround);
    auto last = std::upper_bound(times.begin(), times.end(), to + kAround);
    if (last - first < 2) {
        first = times.begin();
        last = times.end();
    }
    double corner[3], fastest = 0.0;
    for (int axis = 0; axis < 3; ++axis)
        corner[axis] = std::max(std::fabs(moving.box[axis]), std::fabs(moving.box[3 + axis]));
    const double reach = std::sqrt(corner[0] * corner[0] + corner[1] * corner[1] + corner[2] * corner[2]);
    Pose before = pose_at(moving.motion, *first);
    for (auto time = first + 1; time != last; ++time) {
        const Pose after = pose_at(moving.motion, *time);
        double moved = 0.0, trace = 0.0;
        for (int i = 0; i < 3; ++i)
            moved += (after.position[i] - before.position[i]) * (after.position[i] - before.position[i]);
        for (int i = 0; i < 9; ++i) trace += after.rotation[i] * before.rotation[i];
        // The chord of a turn by an angle a is 2 sin(a / 2); the arc is longer by at most pi / 2.
        const double chord = std::sqrt(std::max(0.0, 3.0 - trace));
        fastest = std::max(fastest, (std::sqrt(moved) + 1.6 * chord * reach) / (*time - *(time - 1)));
        before = after;
    }
    return fastest;
}

// Whether circles with this sum of radii, `apart` metres from each other, touch within `horizon` seconds.
bool circles_meet(const double apart[2], const double closing[2], double radius, double horizon) {
    double x = apart[0], y = apart[1];
    const double vx = closing[0], vy = closing[1], speed = vx * vx + vy * vy;
    const double when = speed > 0.0 ? std::clamp(-(x * vx + y * vy) / speed, 0.0, horizon) : 0.0;
    x += when * vx;
    y += when * vy;
    return x * x + y * y <= radius * radius;
}

// Seconds until two boxes touch if both keep their velocities (3,); infinity if they do not within `horizon`.
double predict_contact(const double* box, Pose pose, const double velocity[3], const double* other_box, Pose other,
                       const double other_velocity[3], double horizon) {
    const Pose first = pose, second = other;
    for (int step = 0; step * kForesight < horizon + 1e-9; ++step) {
        const double time = step * kForesight;
        for (int i = 0; i < 3; ++i) {
            pose.position[i] = first.position[i] + time * velocity[i];
            other.position[i] = second.position[i] + time * other_velocity[i];
        }
        if (overlap(make_flat_box(box, pose.rotation, pose.position),
                    make_flat_box(other_box, other.rotation, other.position)))
            return time;
    }
    return kInfinite;
}

}  // namespace

Contact find_contact(const MovingBox& vehicle, const MovingBox& actor, double from, double to) {
    if (!actor.motion.still()) {
        from = std::max(from, actor.motion.times().front());
        to = std::min(to, actor.motion.times().back());
    }
    if (to < from) return {kNever, kInfinite};
    const std::vector<double> moments = list_moments(vehicle.motion, actor.motion, from, to);
    std::vector<double> gaps;
    for (const double time : moments) gaps.push_back(gap_at(vehicle, actor, time));
    const double least = *std::min_element(gaps.begin(), gaps.end());
    if (gaps.front() == 0.0) return {moments.front(), 0.0};
    const double fastest = bound_speed(vehicle, from, to) + bound_speed(actor, from, to);
    struct Interval {
        double begin, end, first, last;
    };
    std::vector<Interval> pending;  // the earliest is looked at first
    for (std::size_t i = moments.size() - 1; i > 0; --i)
        pending.push_back({moments[i - 1], moments[i], gaps[i - 1], gaps[i]});
    while (!pending.empty()) {
        const auto [begin, end, first, last] = pending.back();
        pending.pop_back();
        if (last > 0.0 && first + last > fastest * (end - begin)) continue;
        if (end - begin <= kMoment) {
            if (last == 0.0) return {end, 0.0};
            continue;
        }
        const double middle = 0.5 * (begin + end), between = gap_at(vehicle, actor, middle);
        if (between > 0.0) pending.push_back({middle, end, between, last});
        pending.push_back({begin, middle, first, between});
    }
    return {kNever, least};
}

Encounter watch(const MovingBox& vehicle, const MovingBox& actor, double radius, const EncounterSettings& settings) {
    const double from = vehicle.motion.times().front(), to = vehicle.motion.times().back(), period = to - from;
    const std::vector<double>& times = actor.motion.times();
    if (!actor.motion.still() && (times.front() > to || times.back() < from))
        return {false, {kNever, kInfinite}, kInfinite};
    const Pose start = pose_at(vehicle.motion, from), end = pose_at(vehicle.motion, to),
               first = pose_at(actor.motion, from), last = pose_at(actor.motion, to);
    double own[3], other[3];
    for (int i = 0; i < 3; ++i) {
        own[i] = (end.position[i] - start.position[i]) / period;
        other[i] = (last.position[i] - first.position[i]) / period;
    }
    const double apart[2] = {last.position[0] - end.position[0], last.position[1] - end.position[1]},
                 closing[2] = {other[0] - own[0], other[1] - own[1]}, radii = settings.reach + radius;
    Encounter found{true, {kNever, kInfinite}, kInfinite};
    if (circles_meet(apart, closing, radii, settings.horizon))
        found.time_to_collision = predict_contact(vehicle.box, end, own, actor.box, last, other, settings.horizon);
    const double moved = std::sqrt(closing[0] * closing[0] + closing[1] * closing[1]) * period;
    if (std::sqrt(apart[0] * apart[0] + apart[1] * apart[1]) - radii - moved <= settings.near)
        found.contact = find_contact(vehicle, actor, from, to);
    return found;
}

}  // namespace resweep
