#include "random.hpp"

namespace resweep {
namespace {

// c[0] + c[1] x + c[2] x^2 + c[3] x^3
double cubic(const double c[4], double x) { return (c[0] + c[1] * x) + (c[2] + c[3] * x) * (x * x); }

// Coefficients of AS 241, PPND7: numerator and denominator of the middle and the two tails.
constexpr double kMiddle[2][4] = {{3.3871327179, 50.434271938, 159.29113202, 59.109374720},
                                  {1.0, 17.895169469, 78.757757664, 67.187563600}};
constexpr double kTail[2][4] = {{1.4234372777, 2.7568153900, 1.3067284816, 0.17023821103},
                                {1.0, 0.73700164250, 0.12021132975, 0.0}};
constexpr double kFarTail[2][4] = {{6.6579051150, 3.0812263860, 0.42868294337, 0.017337203997},
                                   {1.0, 0.24197894225, 0.012258202635, 0.0}};

}  // namespace

double normal(std::uint32_t word) {
    const double p = unit(word), q = p - 0.5;
    if (std::fabs(q) <= 0.425) {
        const double r = 0.180625 - q * q;
        return q * cubic(kMiddle[0], r) / cubic(kMiddle[1], r);
    }
    const double r = std::sqrt(-std::log(q < 0.0 ? p : 1.0 - p));
    const double x = r <= 5.0 ? cubic(kTail[0], r - 1.6) / cubic(kTail[1], r - 1.6)
                              : cubic(kFarTail[0], r - 5.0) / cubic(kFarTail[1], r - 5.0);
    return q < 0.0 ? -x : x;
}

}  // namespace resweep
