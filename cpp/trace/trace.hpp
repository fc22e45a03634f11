// The hot path: firing, stencil, tracing and echo forming, fused per pulse.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "scene/actors.hpp"
#include "core/motion.hpp"
#include "core/random.hpp"
#include "trace/receive.hpp"
#include "scene/scene.hpp"

namespace resweep {

enum class Spot : int { kCircular = 0, kRectangular = 1, kElliptical = 2 };
enum class Profile : int { kUniform = 0, kGaussian = 1 };

// How one pulse becomes rays. With `random` each ray is drawn over the spot, else `offsets` gives
// tangents (h, v) at 1 m of every ray and `shares` how much of the beam it carries.
struct Beam {
    std::vector<std::array<float, 2>> offsets;
    std::vector<float> shares;
    bool random = false;
    int n_rays = 1;
    Spot spot = Spot::kCircular;
    Profile profile = Profile::kUniform;
    float divergence_h = 0.0f, divergence_v = 0.0f;

    // One ray a pulse, on its axis.
    bool axial() const { return !random && n_rays == 1 && offsets[0][0] == 0.0f && offsets[0][1] == 0.0f; }
};

struct Noise {
    double range_sigma = 0.0, range_sigma_per_m = 0.0, range_quantum = 0.0, intensity_sigma = 0.0;
    double encoder_step = 0.0, pointing_sigma_h = 0.0, pointing_sigma_v = 0.0;
};

// The pulses of a sweep, in the order in which they are traced.
struct Firing {
    const float* direction[3];  // (n,) each: unit vectors in the sensor's frame
    const float* origin;        // (n_beams, 3) in the sensor's frame, or null
    const double* time;         // (n,) seconds from the start of the sweep
    const std::int32_t* beam;   // (n,) which beam of the sweep each pulse is; those of which there is none are dropped
    const std::int32_t* chunk;  // (n_chunks + 1,) where each chunk begins
    const float* reported;      // (n_beams, 3) unit vectors by beam, as the sensor reports them
    std::size_t n_beams, n_chunks;

    std::size_t n_pulses() const { return static_cast<std::size_t>(chunk[n_chunks]); }
};

// Columns that are written once, whole, and so begin uninitialised.
template <class T> struct Buffer {
    std::unique_ptr<T[]> data;
    std::size_t size = 0;
    void allocate(std::size_t count) {
        data.reset(new T[count]);
        size = count;
    }
};

struct SweepResult {
    Buffer<std::int32_t> beam, label, instance;
    Buffer<float> range, intensity, points;
    Buffer<std::uint8_t> return_index, status, kind;
};

struct Tracing {
    int threads = 0;  // 0: all cores
    int packet = 0;   // rays an Embree call: 1, 8 or 16; 0: as many as the processor takes at once
};

// `stage` holds the sweep's actors, and may be null.
SweepResult simulate_sweep(const Scene& scene, const Stage* stage, const Firing& firing, const Motion& motion,
                           double start, const Beam& beam, const Receiver& receiver, const Noise& noise,
                           const Philox& random, const Tracing& tracing);

// All rays (n, 3) that a sweep would trace, in the order in which it traces them: for the raw floor.
void sweep_rays(const Firing& firing, const Motion& motion, double start, const Beam& beam, const Noise& noise,
                const Philox& random, std::vector<float>& origins, std::vector<float>& directions);

// Trace rays and nothing else: the raw Embree loop over packets made beforehand. Returns seconds.
double raw_floor(const Scene& scene, const float* origins, const float* directions, std::size_t n_rays, float range_max,
                 int packet, int threads, int repeats, std::size_t& hits);

// Closest hit of each ray (n, 3): range (infinity: a miss), cosine of incidence, label, instance.
struct RayHits {
    std::vector<float> range, cosine, reflected;
    std::vector<std::int32_t> label, instance;
};
RayHits intersect(const Scene& scene, const float* origins, const float* directions, std::size_t n_rays,
                  float range_max, int threads);

int packet_width(int asked);

}  // namespace resweep
