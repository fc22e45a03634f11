#include "trace/packet_tracer.hpp"

#include <cmath>

#include "core/multiversion.hpp"

namespace resweep {

RESWEEP_MULTIVERSION void cosines(const float* nx, const float* ny, const float* nz, const float* dx, const float* dy,
                                  const float* dz, float* out, int count) {
    for (int i = 0; i < count; ++i) {
        const float along = nx[i] * dx[i] + ny[i] * dy[i] + nz[i] * dz[i];
        const float length = std::sqrt(nx[i] * nx[i] + ny[i] * ny[i] + nz[i] * nz[i]);
        out[i] = std::min(1.0f, std::fabs(along) / length);
    }
}

RESWEEP_MULTIVERSION void select(const float* values, const std::uint32_t* rows, float* out, int count) {
    for (int i = 0; i < count; ++i) out[i] = values[rows[i]];
}

}  // namespace resweep
