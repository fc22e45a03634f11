// The events of the rays of neighbouring pulses, and a summary of them per pulse.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "scene/event.hpp"
#include "trace/receive.hpp"

namespace resweep {

// The events of the rays of a batch, one array per quantity; rows as in `Rays`. A ray that hits nothing is at infinity
// and sends back no light.
struct RayEvents {
    std::vector<float> range, reflected;
    std::vector<std::int32_t> label, instance;
    std::vector<PrimitiveKind> kind;  // not written where the scene has one kind
    std::vector<Seen> seen;           // both are written only where the world knows what was seen
    std::vector<float> cosine;
    // Whether all events are known to be of one label and instance, and these.
    bool one_object = false;
    std::array<std::int32_t, 2> object = {0, 0};

    void resize(std::size_t count) {
        kind.resize(count);
        seen.resize(count, 0);
        cosine.resize(count, 1.0f);
        range.resize(count);
        reflected.resize(count);
        label.resize(count);
        instance.resize(count);
    }
};

// What the echoes of most pulses need, whose light all lies in one window and comes from one object: mean range, light,
// and label and instance of the first event. `mixed` is not 0 where others differ from that; null: nowhere. The columns
// are those of the last call of `summarise`, some of them the events' own.
class PulseSummary {
  public:
    const float *mean = nullptr, *light = nullptr;
    const std::int32_t *label = nullptr, *instance = nullptr, *mixed = nullptr;

    // Summarise `events`, which hold one ray of each of `count` pulses for every share of the beam, and outlive the
    // summary.
    void summarise(const RayEvents& events, const std::vector<float>& shares, std::size_t count);

    // Write the status of each pulse: whether it hit nothing, returns all its light as one echo, or has too little of
    // it. `kOpen` where it takes all events to know, of `special` sensors everywhere. Also 1 for each that returns,
    // else 0.
    static constexpr std::uint8_t kOpen = 255;
    void classify(const Receiver& receiver, bool special, std::size_t count, std::uint8_t* status,
                  std::uint8_t* returns) const;

    // Write the reading of an echo of all light of each pulse, at these ranges, into every `width`-th of `readings`.
    void write_readings(const std::vector<float>& range, std::size_t count, std::size_t width,
                        EchoReading* readings) const;

    void resize(std::size_t count) {
        for (auto* column : {&nearest_, &farthest_, &mean_, &light_}) column->resize(count);
        for (auto* column : {&label_, &instance_, &mixed_}) column->resize(count);
    }

  private:
    bool single_ = false;  // one ray a pulse
    std::vector<float> nearest_, farthest_, mean_, light_, beyond_, weight_;
    std::vector<std::int32_t> label_, instance_, mixed_, seen_;
};

}  // namespace resweep
