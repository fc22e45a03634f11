// The confidence in a return: the probability that the place itself returns within 0.1 m of it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

namespace resweep {

// What the confidence in a return depends on.
struct Evidence {
    bool volume;
    int count;       // recorded returns on the primitive
    bool completed;  // the primitive was completed, not recorded
    float range, cosine;
    float range_ratio, incidence;  // `SeenOff`
    float unknown;                 // metres
};

constexpr int kConfidenceFeatures = 10;

// A logistic model, with weights for surfaces and for volumes.
struct Confidence {
    std::array<std::array<float, kConfidenceFeatures>, 2> weights;

    static std::array<float, kConfidenceFeatures> features(const Evidence& e) {
        const float doublings = e.range_ratio == 1.0f ? 0.0f : std::log2(e.range_ratio);
        return {1.0f,
                std::log2(1.0f + static_cast<float>(e.count)),
                static_cast<float>(e.count == 0),
                static_cast<float>(e.completed),
                std::min(std::max(0.0f, doublings), 4.0f),
                std::min(std::max(0.0f, -doublings), 4.0f),
                std::min(e.incidence, 60.0f) / 10.0f,
                e.unknown == 0.0f ? 0.0f : std::log2(1.0f + std::min(e.unknown, 50.0f)),
                std::min(e.range, 100.0f) / 20.0f,
                1.0f - std::sqrt(e.cosine)};
    }

    // From 0 to 1.
    float of(const Evidence& e) const {
        const auto x = features(e);
        float sum = 0.0f;
        for (int i = 0; i < kConfidenceFeatures; ++i) sum += weights[e.volume][i] * x[i];
        return 1.0f / (1.0f + std::exp(-sum));
    }
};

}  // namespace resweep
