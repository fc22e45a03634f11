// Systems of linear equations, solved in the same order of operations on every processor.
#pragma once

#include <cstddef>

namespace resweep {

// Solve A x = b by an LDLᵀ decomposition without pivots, for a symmetric positive definite A (n, n), of which the upper
// triangle is read, and right sides b (n, columns). Both are overwritten: b becomes x. False if A is singular.
bool solve_symmetric(double* matrix, double* right, std::size_t n, std::size_t columns);

}  // namespace resweep
