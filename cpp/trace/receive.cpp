#include "trace/receive.hpp"

#include <algorithm>

namespace resweep {
namespace {

using Events = std::span<Event>;

float light(const Event& event) { return event.share * event.reflected; }

// Whether an echo is too faint to be detected.
bool is_lost(const Receiver& receiver, const Echo& echo) {
    if (echo.intensity < receiver.threshold) return true;
    if (receiver.min_signal <= 0.0f) return false;
    const float ratio = receiver.signal_reference > 0.0f ? receiver.signal_reference / echo.range : 1.0f;
    return echo.intensity * ratio * ratio < receiver.min_signal;
}

// The echo of the events first..last-1, reported at `range`.
Echo echo_of(Events events, std::size_t first, std::size_t last, float range) {
    Echo echo{range, 0.0f, 0, 0, PrimitiveKind::kMesh};
    for (std::size_t i = first; i < last; ++i) echo.intensity += light(events[i]);
    float most = -1.0f;
    for (std::size_t i = first; i < last; ++i) {
        if (most >= 0.0f && events[i].label == echo.label && events[i].instance == echo.instance) continue;
        float sum = 0.0f;
        for (std::size_t j = first; j < last; ++j)
            if (events[j].label == events[i].label && events[j].instance == events[i].instance) sum += light(events[j]);
        if (sum > most) {
            most = sum;
            echo.label = events[i].label;
            echo.instance = events[i].instance;
            echo.kind = events[i].kind;
            echo.seen = events[i].seen;
            echo.cosine = events[i].cosine;
        }
        if (2.0f * most >= echo.intensity) break;  // no other can give more
    }
    return echo;
}

// Mean range of the events first..last-1, each counted by its share of the beam.
float mean_range(Events events, std::size_t first, std::size_t last) {
    double sum = 0.0, weight = 0.0;
    for (std::size_t i = first; i < last; ++i) {
        sum += static_cast<double>(events[i].share) * events[i].range;
        weight += events[i].share;
    }
    return static_cast<float>(sum / weight);
}

std::size_t window_end(Events events, std::size_t first, float cutoff) {
    std::size_t last = first + 1;
    while (last < events.size() && events[last].range - events[first].range <= cutoff) ++last;
    return last;
}

bool first_echo(const Receiver& receiver, Events events, std::vector<Echo>& echoes) {
    for (std::size_t i = 0; i < events.size(); ++i) {
        const std::size_t end = window_end(events, i, receiver.signal_cutoff);
        const Echo echo = echo_of(events, i, end, mean_range(events, i, end));
        if (is_lost(receiver, echo)) continue;
        echoes.push_back(echo);
        return true;
    }
    return false;
}

bool last_echo(const Receiver& receiver, Events events, std::vector<Echo>& echoes) {
    for (std::size_t i = events.size(); i-- > 0;) {
        std::size_t begin = i;
        while (begin > 0 && events[i].range - events[begin - 1].range <= receiver.signal_cutoff) --begin;
        const Echo echo = echo_of(events, begin, i + 1, mean_range(events, begin, i + 1));
        if (is_lost(receiver, echo)) continue;
        echoes.push_back(echo);
        return true;
    }
    return false;
}

// The window around the most intense ray, as in B.
void window_of_strongest_ray(const Receiver& receiver, Events events, std::size_t& begin, std::size_t& end) {
    std::size_t anchor = 0;
    for (std::size_t i = 1; i < events.size(); ++i)
        if (events[i].reflected > events[anchor].reflected) anchor = i;
    const float half = 0.5f * receiver.signal_cutoff;
    begin = anchor;
    end = anchor + 1;
    while (begin > 0 && events[anchor].range - events[begin - 1].range <= half) --begin;
    while (end < events.size() && events[end].range - events[anchor].range <= half) ++end;
}

// The window that holds most light.
void window_of_most_light(const Receiver& receiver, Events events, std::size_t& begin, std::size_t& end) {
    float most = -1.0f;
    for (std::size_t i = 0; i < events.size(); ++i) {
        const std::size_t stop = window_end(events, i, receiver.signal_cutoff);
        float sum = 0.0f;
        for (std::size_t j = i; j < stop; ++j) sum += light(events[j]);
        if (sum > most) {
            most = sum;
            begin = i;
            end = stop;
        }
        if (stop == events.size()) break;  // later windows lie within this one
    }
}

bool strongest_echo(const Receiver& receiver, Events events, std::vector<Echo>& echoes) {
    std::size_t begin = 0, end = 1;
    if (receiver.strongest_by == StrongestBy::kEcho)
        window_of_most_light(receiver, events, begin, end);
    else
        window_of_strongest_ray(receiver, events, begin, end);
    const Echo echo = echo_of(events, begin, end, mean_range(events, begin, end));
    if (is_lost(receiver, echo)) return false;
    echoes.push_back(echo);
    return true;
}

// Of echoes nearer to each other than the sensor can separate, keep the stronger.
void drop_close(const Receiver& receiver, std::vector<Echo>& echoes) {
    for (std::size_t i = 1; i < echoes.size();) {
        if (echoes[i].range - echoes[i - 1].range >= receiver.separation) {
            ++i;
            continue;
        }
        const bool first_fainter = echoes[i - 1].intensity < echoes[i].intensity;
        echoes.erase(echoes.begin() + static_cast<std::ptrdiff_t>(first_fainter ? i - 1 : i));
        if (i > 1 && first_fainter) --i;
    }
}

bool separated_echoes(const Receiver& receiver, Events events, std::vector<Echo>& echoes) {
    for (std::size_t i = 0; i < events.size();) {
        const std::size_t end = window_end(events, i, receiver.signal_cutoff);
        const Echo echo = echo_of(events, i, end, mean_range(events, i, end));
        if (!is_lost(receiver, echo)) echoes.push_back(echo);
        i = end;
    }
    drop_close(receiver, echoes);
    while (echoes.size() > static_cast<std::size_t>(receiver.max_returns)) {
        const auto weakest = std::min_element(echoes.begin(), echoes.end(),
                                              [](const Echo& a, const Echo& b) { return a.intensity < b.intensity; });
        echoes.erase(weakest);
    }
    return !echoes.empty();
}

// Stable, so that events at the same range keep the order of their rays, and results their bytes.
void sort_by_range(Events events) {
    if (events.size() > 32) {
        std::stable_sort(events.begin(), events.end(),
                         [](const Event& a, const Event& b) { return a.range < b.range; });
        return;
    }
    for (std::size_t i = 1; i < events.size(); ++i) {
        if (events[i].range >= events[i - 1].range) continue;
        const Event moving = events[i];
        std::size_t j = i;
        for (; j > 0 && moving.range < events[j - 1].range; --j) events[j] = events[j - 1];
        events[j] = moving;
    }
}

}  // namespace

BeamStatus receive(const Receiver& receiver, std::span<Event> events, std::vector<Echo>& echoes) {
    echoes.clear();
    if (events.empty()) return BeamStatus::kNothingHit;
    const auto outside = [&](const Event& e) { return e.range < receiver.range_min || e.range > receiver.range_max; };
    const auto end = std::remove_if(events.begin(), events.end(), outside);
    events = events.first(static_cast<std::size_t>(end - events.begin()));
    if (events.empty()) return BeamStatus::kOutOfRange;
    if (receiver.falloff_reference > 0.0f)
        for (Event& event : events) {
            const float ratio = receiver.falloff_reference / event.range;
            event.reflected *= ratio * ratio;
        }
    sort_by_range(events);
    if (2.0f * (events.back().range - events.front().range) <= receiver.signal_cutoff) {
        // All the light lies in one window, whatever the mode: there is one echo.
        const Echo echo = echo_of(events, 0, events.size(), mean_range(events, 0, events.size()));
        if (is_lost(receiver, echo)) return BeamStatus::kBelowThreshold;
        echoes.push_back(echo);
        return BeamStatus::kReturn;
    }
    bool found = false;
    switch (receiver.mode) {
        case ReturnMode::kFirst: found = first_echo(receiver, events, echoes); break;
        case ReturnMode::kLast: found = last_echo(receiver, events, echoes); break;
        case ReturnMode::kStrongest: found = strongest_echo(receiver, events, echoes); break;
        case ReturnMode::kMultiple: found = separated_echoes(receiver, events, echoes); break;
        case ReturnMode::kStrongestAndLast: {
            found = strongest_echo(receiver, events, echoes);
            const bool last_found = last_echo(receiver, events, echoes);
            // Echoes nearer to each other than the cutoff are one echo, and reported once.
            const float apart = std::max(receiver.signal_cutoff, receiver.separation);
            if (found && last_found && echoes[1].range - echoes[0].range <= apart) echoes.pop_back();
            found = found || last_found;
            break;
        }
    }
    return found ? BeamStatus::kReturn : BeamStatus::kBelowThreshold;
}

}  // namespace resweep
