// Eigenvalues and eigenvectors of symmetric 3 × 3 matrices, several at once.
#pragma once

#include <cstddef>

namespace resweep {

constexpr std::size_t kMatrices = 8;  // solved at once

struct Eigen3 {
    double value[3];      // descending, none negative
    double vector[3][3];  // a row each, of unit length
};

// `entries` are xx, xy, xz, yy, yz, zz of every matrix. The matrices are positive semidefinite up to rounding.
void eigen(const double (&entries)[6][kMatrices], Eigen3 (&out)[kMatrices]);

}  // namespace resweep
