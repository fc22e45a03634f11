#include "core/random.hpp"

#include <algorithm>

#include "core/multiversion.hpp"

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#define RESWEEP_VECTOR_WORDS
#endif

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

// The first and the last word whose number lies within that reach.
constexpr std::uint32_t kFirstMiddle = 322'122'547u, kLastMiddle = 3'972'844'748u;
constexpr double kWords = 4294967296.0;
static_assert((kLastMiddle + 0.5) / kWords - 0.5 <= kMiddleReach && (kLastMiddle + 1.5) / kWords - 0.5 > kMiddleReach);
static_assert(0.5 - (kFirstMiddle + 0.5) / kWords <= kMiddleReach &&
              0.5 - (kFirstMiddle - 0.5) / kWords > kMiddleReach);

double middle(double q) {
    const double r = kMiddleReach * kMiddleReach - q * q;
    return q * cubic(kMiddle[0], r) / cubic(kMiddle[1], r);
}

// How far a draw in a tail lies from zero, by the logarithm of how much of the distribution lies beyond it.
double tail(double log_beyond) {
    const double r = std::sqrt(-log_beyond);
    const double near = cubic(kTail[0], r - 1.6) / cubic(kTail[1], r - 1.6);
    const double far = cubic(kFarTail[0], r - 5.0) / cubic(kFarTail[1], r - 5.0);
    return r <= 5.0 ? near : far;
}

// The logarithm that `tail` takes of p, which lies as far from 0.5 as q says.
double log_beyond(double p, double q) { return std::log(q < 0.0 ? p : 1.0 - p); }

RESWEEP_MULTIVERSION void tail_sizes(const double* logs, std::size_t count, double* out) {
    for (std::size_t i = 0; i < count; ++i) out[i] = tail(logs[i]);
}

RESWEEP_MULTIVERSION void middles(const std::uint32_t* words, std::size_t count, double* out) {
    for (std::size_t i = 0; i < count; ++i) out[i] = middle(unit(words[i]) - 0.5);
}

// The first of the four words of each beam: `Philox::words`, many beams at once. The arrays have room for `kBlock`.
using FirstWords = void (*)(const Philox& random, const std::uint32_t* beams, std::size_t count, std::uint32_t ray,
                            Purpose purpose, std::uint32_t* words);

void first_words_each(const Philox& random, const std::uint32_t* beams, std::size_t count, std::uint32_t ray,
                      Purpose purpose, std::uint32_t* words) {
    for (std::size_t i = 0; i < count; ++i) words[i] = random.words(beams[i], ray, purpose)[0];
}

#ifdef RESWEEP_VECTOR_WORDS
// Four or eight beams in a vector, a counter in the lower half of each lane. Products take these halves alone, so what
// stands above them needs no clearing.
__attribute__((target("avx2"))) void first_words_avx2(const Philox& random, const std::uint32_t* beams,
                                                      std::size_t count, std::uint32_t ray, Purpose purpose,
                                                      std::uint32_t* words) {
    const __m256i first = _mm256_set1_epi64x(Philox::kFirst), second = _mm256_set1_epi64x(Philox::kSecond);
    const __m256i even = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    for (std::size_t i = 0; i < count; i += 4) {
        __m256i c0 = _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(beams + i)));
        __m256i c1 = _mm256_set1_epi64x(ray), c2 = _mm256_set1_epi64x(static_cast<std::uint32_t>(purpose));
        __m256i c3 = _mm256_setzero_si256();
        std::uint32_t k0 = random.key0, k1 = random.key1;
        for (int round = 0; round < 10; ++round, k0 += Philox::kFirstStep, k1 += Philox::kSecondStep) {
            const __m256i p0 = _mm256_mul_epu32(c0, first), p1 = _mm256_mul_epu32(c2, second);
            c0 = _mm256_xor_si256(_mm256_srli_epi64(p1, 32), _mm256_xor_si256(c1, _mm256_set1_epi64x(k0)));
            c2 = _mm256_xor_si256(_mm256_srli_epi64(p0, 32), _mm256_xor_si256(c3, _mm256_set1_epi64x(k1)));
            c1 = p1;
            c3 = p0;
        }
        const __m256i packed = _mm256_permutevar8x32_epi32(c0, even);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(words + i), _mm256_castsi256_si128(packed));
    }
}

__attribute__((target("avx512f"))) void first_words_avx512(const Philox& random, const std::uint32_t* beams,
                                                           std::size_t count, std::uint32_t ray, Purpose purpose,
                                                           std::uint32_t* words) {
    const __m512i first = _mm512_set1_epi64(Philox::kFirst), second = _mm512_set1_epi64(Philox::kSecond);
    for (std::size_t i = 0; i < count; i += 8) {
        __m512i c0 = _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(beams + i)));
        __m512i c1 = _mm512_set1_epi64(ray), c2 = _mm512_set1_epi64(static_cast<std::uint32_t>(purpose));
        __m512i c3 = _mm512_setzero_si512();
        std::uint32_t k0 = random.key0, k1 = random.key1;
        for (int round = 0; round < 10; ++round, k0 += Philox::kFirstStep, k1 += Philox::kSecondStep) {
            const __m512i p0 = _mm512_mul_epu32(c0, first), p1 = _mm512_mul_epu32(c2, second);
            c0 = _mm512_xor_si512(_mm512_srli_epi64(p1, 32), _mm512_xor_si512(c1, _mm512_set1_epi64(k0)));
            c2 = _mm512_xor_si512(_mm512_srli_epi64(p0, 32), _mm512_xor_si512(c3, _mm512_set1_epi64(k1)));
            c1 = p1;
            c3 = p0;
        }
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(words + i), _mm512_cvtepi64_epi32(c0));
    }
}

FirstWords choose_first_words() {
    if (__builtin_cpu_supports("avx512f")) return first_words_avx512;
    return __builtin_cpu_supports("avx2") ? first_words_avx2 : first_words_each;
}
#else
FirstWords choose_first_words() { return first_words_each; }
#endif

}  // namespace

void first_words(const Philox& random, const std::uint32_t* beams, std::size_t count, std::uint32_t ray,
                 Purpose purpose, std::uint32_t* words) {
    static const FirstWords find = choose_first_words();
    std::uint32_t numbers[kBlock] = {}, found[kBlock];
    for (std::size_t first = 0; first < count; first += kBlock) {
        const std::size_t size = std::min(kBlock, count - first);
        std::copy_n(beams + first, size, numbers);
        find(random, numbers, size, ray, purpose, found);
        std::copy_n(found, size, words + first);
    }
}

double normal(std::uint32_t word) {
    const double p = unit(word), q = p - 0.5;
    if (std::fabs(q) <= kMiddleReach) return middle(q);
    const double x = tail(log_beyond(p, q));
    return q < 0.0 ? -x : x;
}

void normals(const Philox& random, const std::uint32_t* beams, std::size_t count, std::uint32_t ray, Purpose purpose,
             double* out) {
    std::uint32_t words[kBlock];
    std::uint8_t tails[kBlock];
    double logs[kBlock], sizes[kBlock];
    for (std::size_t first = 0; first < count; first += kBlock) {
        const std::size_t size = std::min(kBlock, count - first);
        first_words(random, beams + first, size, ray, purpose, words);
        middles(words, size, out + first);
        // Which draws lie in a tail is not predictable: they are listed without branches.
        std::size_t n_tails = 0;
        for (std::size_t i = 0; i < size; ++i) {
            tails[n_tails] = static_cast<std::uint8_t>(i);
            n_tails += words[i] - kFirstMiddle > kLastMiddle - kFirstMiddle;
        }
        for (std::size_t k = 0; k < n_tails; ++k) {
            const double p = unit(words[tails[k]]);
            logs[k] = log_beyond(p, p - 0.5);
        }
        tail_sizes(logs, n_tails, sizes);
        for (std::size_t k = 0; k < n_tails; ++k)
            out[first + tails[k]] = unit(words[tails[k]]) < 0.5 ? -sizes[k] : sizes[k];
    }
}

}  // namespace resweep
