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

namespace {

RESWEEP_MULTIVERSION void select_three(const float* a, const float* b, const float* c, const std::uint32_t* rows,
                                       float* x, float* y, float* z, int count) {
    for (int i = 0; i < count; ++i) x[i] = a[rows[i]];
    for (int i = 0; i < count; ++i) y[i] = b[rows[i]];
    for (int i = 0; i < count; ++i) z[i] = c[rows[i]];
}

}  // namespace

RESWEEP_MULTIVERSION void select(const float* values, const std::uint32_t* rows, float* out, int count) {
    for (int i = 0; i < count; ++i) out[i] = values[rows[i]];
}

void select(const std::vector<float> (&values)[3], const std::uint32_t* rows, float* x, float* y, float* z, int count) {
    select_three(values[0].data(), values[1].data(), values[2].data(), rows, x, y, z, count);
}

}  // namespace resweep
