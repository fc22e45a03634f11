#include "core/linear_system.hpp"

#include <cmath>

#include "core/multiversion.hpp"

namespace resweep {
namespace {

// target -= factor * source
RESWEEP_MULTIVERSION void subtract(double* target, const double* source, double factor, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) target[i] -= factor * source[i];
}

}  // namespace

bool solve_symmetric(double* matrix, double* right, std::size_t n, std::size_t columns) {
    // Golub and Van Loan, Matrix Computations, 4th ed., section 4.1.2; by rows, so that the inner loop is contiguous.
    for (std::size_t k = 0; k < n; ++k) {
        const double* row = matrix + k * n;
        if (!(std::fabs(row[k]) > 0.0) || !std::isfinite(row[k])) return false;
        for (std::size_t i = k + 1; i < n; ++i) {
            if (row[i] == 0.0) continue;  // most of a system of many parts is empty
            const double factor = row[i] / row[k];
            subtract(matrix + i * n + i, row + i, factor, n - i);
            subtract(right + i * columns, right + k * columns, factor, columns);
        }
    }
    for (std::size_t k = n; k-- > 0;) {
        const double* row = matrix + k * n;
        double* x = right + k * columns;
        for (std::size_t i = k + 1; i < n; ++i)
            if (row[i] != 0.0) subtract(x, right + i * columns, row[i], columns);
        for (std::size_t c = 0; c < columns; ++c) x[c] /= row[k];
    }
    return true;
}

}  // namespace resweep
