// From what the rays of a chunk of pulses hit to the echoes that the sensor reports of it.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/job.hpp"
#include "trace/pulse_summary.hpp"

namespace resweep {

// One thread's room for that. Results go to the rows of the job.
class EchoFormer {
  public:
    explicit EchoFormer(const TraceJob& job);

    // Form the echoes of all pulses, measure them, and set why others have none. `first` is the row of the first pulse.
    void form(const PulseBatch& pulses, const RayEvents& hits, std::size_t first);

    // The pulses of the last batch that hit nothing.
    const std::vector<std::uint32_t>& empty() const { return empty_; }

    // Where the first echo of pulse i is kept.
    std::size_t place(std::size_t i) const { return (first_ + i) * width_; }

  private:
    void draw_noise();
    void report_one(std::size_t i);
    void add_intensity_noise();
    void label_by_most_light(std::size_t i, EchoReading& echo) const;
    EchoSource find_source(std::size_t i, const EchoReading& echo) const;
    BeamStatus receive_special(std::size_t i);
    BeamStatus receive_all(std::size_t i, const Receiver& receiver);

    const TraceJob& job_;
    const Firing& firing_;
    const Philox& random_;
    const Receiver& receiver_;
    const Noise& noise_;
    const SensorCalibration& calibration_;
    bool special_;  // whether there is a sensor calibration: no pulse then takes the short way
    std::size_t n_rays_, width_, first_ = 0;
    const PulseBatch* pulses_ = nullptr;
    const RayEvents* hits_ = nullptr;
    PulseSummary summary_;
    std::vector<float> shares_, measured_;
    std::vector<double> draws_, intensity_draws_;
    std::vector<std::uint32_t> empty_;
    std::vector<Event> events_;
    std::vector<Echo> echoes_;
};

}  // namespace resweep
