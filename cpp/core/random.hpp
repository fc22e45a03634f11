// Counter-based random numbers: a number depends on what it is for, never on thread or order.
//
// Philox4x32 with 10 rounds (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").
// The key is (seed, sweep), the counter (beam, sub-ray, purpose, 0).
// resweep/simulate/random.py holds the NumPy reference.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace resweep {

// The finaliser of splitmix64 (Steele et al. 2014, "Fast splittable pseudorandom number generators"): one to one, and
// 0 for 0 only.
inline std::uint64_t mix64(std::uint64_t word) {
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ull;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBull;
    return word ^ (word >> 31);
}

// What a random number is for. The values are part of the results: changing one changes bytes.
enum class Purpose : std::uint32_t {
    kRangeNoise = 1,
    kSpot = 2,
    kPointing = 3,
    kIntensityNoise = 4,
    kVolumes = 5,
    kRaydrop = 6,
    kDetection = 8
};

struct Philox {
    static constexpr std::uint32_t kFirst = 0xD2511F53u, kSecond = 0xCD9E8D57u;          // multipliers
    static constexpr std::uint32_t kFirstStep = 0x9E3779B9u, kSecondStep = 0xBB67AE85u;  // of the key, per round

    std::uint32_t key0, key1;

    Philox(std::uint64_t seed, std::uint64_t sweep) {
        // One round of splitmix64 folds both into the key, so that neighbouring seeds and sweeps have unlike keys.
        const std::uint64_t mixed = mix64(seed + 0x9E3779B97F4A7C15ull * (sweep + 1));
        key0 = static_cast<std::uint32_t>(mixed);
        key1 = static_cast<std::uint32_t>(mixed >> 32);
    }

    std::array<std::uint32_t, 4> words(std::uint32_t beam, std::uint32_t ray, Purpose purpose) const {
        std::uint32_t c0 = beam, c1 = ray, c2 = static_cast<std::uint32_t>(purpose), c3 = 0;
        std::uint32_t k0 = key0, k1 = key1;
        for (int round = 0; round < 10; ++round) {
            const std::uint64_t p0 = std::uint64_t{kFirst} * c0;
            const std::uint64_t p1 = std::uint64_t{kSecond} * c2;
            const auto n0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
            const auto n2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
            c1 = static_cast<std::uint32_t>(p1);
            c3 = static_cast<std::uint32_t>(p0);
            c0 = n0;
            c2 = n2;
            k0 += kFirstStep;
            k1 += kSecondStep;
        }
        return {c0, c1, c2, c3};
    }
};

// A number strictly inside (0, 1).
inline double unit(std::uint32_t word) { return (static_cast<double>(word) + 0.5) * (1.0 / 4294967296.0); }

// The first random word of each beam, for one ray and purpose.
void first_words(const Philox& random, const std::uint32_t* beams, std::size_t count, std::uint32_t ray,
                 Purpose purpose, std::uint32_t* words);

// A standard normal number: the inverse distribution function at `unit(word)`, by the rational
// approximations PPND7 of Wichura (1988), "Algorithm AS 241", accurate to seven digits.
double normal(std::uint32_t word);

// `normal` of the first random word of each beam, for one ray and purpose.
void normals(const Philox& random, const std::uint32_t* beams, std::size_t count, std::uint32_t ray, Purpose purpose,
             double* out);

}  // namespace resweep
