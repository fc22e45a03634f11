#include "core/random.hpp"

#include <algorithm>

#include "core/multiversion.hpp"

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

constexpr std::size_t kBlock = 64;  // beams drawn at once

constexpr double kMiddleReach = 0.425;  // |p - 0.5| up to which the middle approximation holds

double middle(double q) {
    const double r = kMiddleReach * kMiddleReach - q * q;
    return q * cubic(kMiddle[0], r) / cubic(kMiddle[1], r);
}

double tail(double p, double q) {
    const double r = std::sqrt(-std::log(q < 0.0 ? p : 1.0 - p));
    const double x = r <= 5.0 ? cubic(kTail[0], r - 1.6) / cubic(kTail[1], r - 1.6)
                              : cubic(kFarTail[0], r - 5.0) / cubic(kFarTail[1], r - 5.0);
    return q < 0.0 ? -x : x;
}

RESWEEP_MULTIVERSION void middles(const std::uint32_t* words, std::size_t count, double* out) {
    for (std::size_t i = 0; i < count; ++i) out[i] = middle(unit(words[i]) - 0.5);
}

// The first of the four words of each beam: the rounds of `Philox::words`, many beams at once.
RESWEEP_MULTIVERSION void first_words(const Philox& random, const std::uint32_t* beams, std::size_t count,
                                      std::uint32_t ray, Purpose purpose, std::uint32_t* words) {
    std::uint32_t c1[kBlock], c2[kBlock], c3[kBlock], *c0 = words;
    for (std::size_t i = 0; i < count; ++i) {
        c0[i] = beams[i];
        c1[i] = ray;
        c2[i] = static_cast<std::uint32_t>(purpose);
        c3[i] = 0;
    }
    std::uint32_t k0 = random.key0, k1 = random.key1;
    for (int round = 0; round < 10; ++round) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t p0 = std::uint64_t{Philox::kFirst} * c0[i], p1 = std::uint64_t{Philox::kSecond} * c2[i];
            c0[i] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
            c2[i] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
            c1[i] = static_cast<std::uint32_t>(p1);
            c3[i] = static_cast<std::uint32_t>(p0);
        }
        k0 += Philox::kFirstStep;
        k1 += Philox::kSecondStep;
    }
}

}  // namespace

double normal(std::uint32_t word) {
    const double p = unit(word), q = p - 0.5;
    return std::fabs(q) <= kMiddleReach ? middle(q) : tail(p, q);
}

void normals(const Philox& random, const std::uint32_t* beams, std::size_t count, std::uint32_t ray, Purpose purpose,
             double* out) {
    std::uint32_t words[kBlock];
    for (std::size_t first = 0; first < count; first += kBlock) {
        const std::size_t size = std::min(kBlock, count - first);
        first_words(random, beams + first, size, ray, purpose, words);
        middles(words, size, out + first);
        for (std::size_t i = 0; i < size; ++i) {
            const double p = unit(words[i]), q = p - 0.5;
            if (std::fabs(q) > kMiddleReach) out[first + i] = tail(p, q);
        }
    }
}

}  // namespace resweep
