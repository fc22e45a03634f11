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

namespace {

RESWEEP_MULTIVERSION float largest_square(const float* x, const float* y, const float* z, std::size_t count, float fx,
                                          float fy, float fz) {
    constexpr std::size_t kLanes = 16;  // whose largest are kept apart
    float largest[kLanes] = {};
    for (std::size_t first = 0; first < count; first += kLanes)
        for (std::size_t i = first; i < std::min(count, first + kLanes); ++i) {
            const float a = x[i] - fx, b = y[i] - fy, c = z[i] - fz, square = a * a + b * b + c * c;
            largest[i - first] = largest[i - first] < square ? square : largest[i - first];
        }
    return *std::max_element(largest, largest + kLanes);
}

}  // namespace

float farthest(const std::vector<float> (&values)[3], std::size_t count, const float from[3]) {
    return std::sqrt(
        largest_square(values[0].data(), values[1].data(), values[2].data(), count, from[0], from[1], from[2]));
}

void select(const std::vector<float> (&values)[3], const std::uint32_t* rows, float* x, float* y, float* z, int count) {
    select_three(values[0].data(), values[1].data(), values[2].data(), rows, x, y, z, count);
}

}  // namespace resweep
