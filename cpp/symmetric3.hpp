// Eigenvalues and eigenvectors of symmetric 3 × 3 matrices.
#pragma once

#include <cmath>
#include <utility>

namespace resweep {

struct Symmetric3 {
    double xx, xy, xz, yy, yz, zz;
};

struct Eigen3 {
    double value[3];      // descending
    double vector[3][3];  // a row each, of unit length
};

// Cyclic Jacobi rotations: small eigenvalues and their vectors keep their digits beside large ones, which the closed
// form of the cubic loses. Golub and Van Loan, Matrix Computations, 4th ed., section 8.5.
inline Eigen3 eigen(const Symmetric3& m) {
    double a[3][3] = {{m.xx, m.xy, m.xz}, {m.xy, m.yy, m.yz}, {m.xz, m.yz, m.zz}};
    Eigen3 result{{0.0, 0.0, 0.0}, {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}}};
    constexpr int kPairs[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    constexpr double kSmall = 1e-15;  // an off-diagonal entry this small beside the trace turns nothing
    const double enough = kSmall * (a[0][0] + a[1][1] + a[2][2]);
    for (int sweep = 0; sweep < 12; ++sweep) {
        if (std::fabs(a[0][1]) + std::fabs(a[0][2]) + std::fabs(a[1][2]) <= enough) break;
        for (const auto& [p, q] : kPairs) {
            if (std::fabs(a[p][q]) <= enough * kSmall) continue;
            const double tau = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            const double t = std::copysign(1.0, tau) / (std::fabs(tau) + std::sqrt(1.0 + tau * tau));
            const double c = 1.0 / std::sqrt(1.0 + t * t), s = t * c;
            const int r = 3 - p - q;
            a[p][p] -= t * a[p][q];
            a[q][q] += t * a[p][q];
            a[p][q] = a[q][p] = 0.0;
            const double rp = a[r][p], rq = a[r][q];
            a[r][p] = a[p][r] = c * rp - s * rq;
            a[r][q] = a[q][r] = s * rp + c * rq;
            for (int i = 0; i < 3; ++i) {
                const double vp = result.vector[p][i], vq = result.vector[q][i];
                result.vector[p][i] = c * vp - s * vq;
                result.vector[q][i] = s * vp + c * vq;
            }
        }
    }
    for (int i = 0; i < 3; ++i) result.value[i] = a[i][i] > 0.0 ? a[i][i] : 0.0;
    for (const auto& [p, q] : kPairs)
        if (result.value[q] > result.value[p]) {
            std::swap(result.value[p], result.value[q]);
            std::swap(result.vector[p], result.vector[q]);
        }
    return result;
}

}  // namespace resweep
