#include "core/symmetric3.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "core/multiversion.hpp"

namespace resweep {
namespace {

constexpr int kSweeps = 10;       // at most; four or five are usual
constexpr double kSmall = 1e-12;  // relative to the trace: smaller off-diagonal entries are left

struct Batch {
    double a[6][kMatrices];
    double v[3][3][kMatrices];  // the rows become the eigenvectors
};

// The entries that a rotation in the plane of axes p and q changes; r is the third axis.
struct Plane {
    int p, q, pp, qq, pq, rp, rq;
};
constexpr Plane kPlanes[3] = {{0, 1, 0, 3, 1, 2, 4}, {0, 2, 0, 5, 2, 1, 4}, {1, 2, 3, 5, 4, 1, 2}};

// Cyclic Jacobi rotations (Golub and Van Loan, Matrix Computations, 4th ed., section 8.5). Unlike the closed form of
// the cubic they keep the digits of eigenvalues that are small beside others.
RESWEEP_MULTIVERSION void diagonalise(Batch& m) {
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
        bool done = true;
        for (std::size_t i = 0; i < kMatrices; ++i)
            done &= std::fabs(m.a[1][i]) + std::fabs(m.a[2][i]) + std::fabs(m.a[4][i]) <=
                    kSmall * (m.a[0][i] + m.a[3][i] + m.a[5][i]);
        if (done) return;
        for (const Plane& plane : kPlanes) {
            double *pp = m.a[plane.pp], *qq = m.a[plane.qq], *pq = m.a[plane.pq], *rp = m.a[plane.rp],
                   *rq = m.a[plane.rq];
            double c[kMatrices], s[kMatrices];
            for (std::size_t i = 0; i < kMatrices; ++i) {
                const double apart = qq[i] - pp[i], twice = 2.0 * pq[i];
                const double length = std::sqrt(apart * apart + twice * twice) + std::numeric_limits<double>::min();
                const double t = std::copysign(twice, twice * std::copysign(1.0, apart)) / (std::fabs(apart) + length);
                c[i] = 1.0 / std::sqrt(1.0 + t * t);
                s[i] = t * c[i];
                const double moved = t * pq[i], p = rp[i], q = rq[i];
                pp[i] -= moved;
                qq[i] += moved;
                pq[i] = 0.0;
                rp[i] = c[i] * p - s[i] * q;
                rq[i] = s[i] * p + c[i] * q;
            }
            for (int axis = 0; axis < 3; ++axis) {
                double *vp = m.v[plane.p][axis], *vq = m.v[plane.q][axis];
                for (std::size_t i = 0; i < kMatrices; ++i) {
                    const double p = vp[i], q = vq[i];
                    vp[i] = c[i] * p - s[i] * q;
                    vq[i] = s[i] * p + c[i] * q;
                }
            }
        }
    }
}

}  // namespace

void eigen(const double (&entries)[6][kMatrices], Eigen3 (&out)[kMatrices]) {
    constexpr int kDiagonal[3] = {0, 3, 5};
    Batch batch{};
    for (int e = 0; e < 6; ++e)
        for (std::size_t i = 0; i < kMatrices; ++i) batch.a[e][i] = entries[e][i];
    for (int row = 0; row < 3; ++row)
        for (std::size_t i = 0; i < kMatrices; ++i) batch.v[row][row][i] = 1.0;
    diagonalise(batch);
    for (std::size_t i = 0; i < kMatrices; ++i) {
        Eigen3& one = out[i];
        for (int row = 0; row < 3; ++row) {
            one.value[row] = batch.a[kDiagonal[row]][i] > 0.0 ? batch.a[kDiagonal[row]][i] : 0.0;
            for (int axis = 0; axis < 3; ++axis) one.vector[row][axis] = batch.v[row][axis][i];
        }
        for (const Plane& plane : kPlanes)
            if (one.value[plane.q] > one.value[plane.p]) {
                std::swap(one.value[plane.p], one.value[plane.q]);
                std::swap(one.vector[plane.p], one.vector[plane.q]);
            }
    }
}

}  // namespace resweep
