// The least-squares system of returns that should lie in the planes of their neighbourhoods.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace resweep {

// The returns of all sweeps in the world, metres. `raise` is how a return moves with its laser's elevation (per
// radian), `along` how it moves with its range; `reach` is its range less that at which range offsets are counted.
// `when` are seconds from its sweep's own time. Sweeps turn about their `centre`.
struct MovingReturns {
    const double *place, *raise, *along;  // (n, 3)
    const double *reach, *when;           // (n,)
    const std::int32_t *ring, *sweep;     // (n,)
    const double* centre;                 // (sweeps, 3)
    std::size_t rings, sweeps;
};

// Residuals: return `row` less the mean of its `near` ones (k of them), along a unit normal.
struct PlaneResiduals {
    const std::int64_t *row, *near;  // (m,), (m, k)
    const double* normal;            // (m, 3)
    const double *error, *weight;    // (m,)
    std::size_t count, k;
};

struct NormalEquations {
    std::vector<double> matrix, slope;  // JᵀWJ (n, n), of which the upper triangle is filled, and JᵀWe (n,)
};

// Unknowns are, for each ring, an elevation, then for each a range offset, then for each a slope of the offset over
// range; then a turn and a shift of each sweep, and with `rates` those in each second as well: 6 or 12 a sweep. Both
// the return and all of its neighbours move with them. One thread: the order of sums is fixed.
NormalEquations plane_equations(const MovingReturns& returns, const PlaneResiduals& residuals, bool rates);

}  // namespace resweep
