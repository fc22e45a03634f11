#include "map/plane_system.hpp"

#include <algorithm>
#include <cmath>

namespace resweep {
namespace {

constexpr std::size_t kLaser = 3, kMotion = 6;  // unknowns: elevation, range and its slope; turn and shift
constexpr double kGrazing = 0.01;               // cosine of incidence; a bound chosen by hand
constexpr double kLargestExcess = 0.3;          // metres; a bound chosen by hand

double dot(const double* a, const double* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// The derivatives of one residual, summed by ring and by sweep. `slot` finds the sums of a ring or sweep again.
class Row {
  public:
    Row(const MovingReturns& returns, bool rates)
        : returns_(returns),
          width_(rates ? 2 * kMotion : kMotion),
          ring_slot_(returns.rings, -1),
          sweep_slot_(returns.sweeps, -1) {}

    void clear() {
        for (const std::int32_t ring : rings_) ring_slot_[ring] = -1;
        for (const std::int32_t sweep : sweeps_) sweep_slot_[sweep] = -1;
        rings_.clear();
        sweeps_.clear();
        laser_.clear();
        motion_.clear();
    }

    // Return `at` counts with `share`, as if its range were shorter by `excess`.
    void add(std::size_t at, const double* normal, double share, double excess = 0.0) {
        double* laser = find(returns_.ring[at], ring_slot_, rings_, laser_, kLaser);
        const double *direction = returns_.along + 3 * at, *raise = returns_.raise + 3 * at;
        const double along = share * dot(normal, direction), range = std::sqrt(dot(raise, raise));
        laser[0] += share * dot(normal, raise) * (range > excess ? 1.0 - excess / range : 1.0);
        laser[1] += along;
        laser[2] += along * (returns_.reach[at] - excess);
        const std::int32_t sweep = returns_.sweep[at];
        double* motion = find(sweep, sweep_slot_, sweeps_, motion_, width_);
        const double *place = returns_.place + 3 * at, *centre = returns_.centre + 3 * std::size_t(sweep);
        const double x = place[0] - centre[0] - excess * direction[0], y = place[1] - centre[1] - excess * direction[1],
                     z = place[2] - centre[2] - excess * direction[2];
        const double change[kMotion] = {share * (y * normal[2] - z * normal[1]),
                                        share * (z * normal[0] - x * normal[2]),
                                        share * (x * normal[1] - y * normal[0]),
                                        share * normal[0],
                                        share * normal[1],
                                        share * normal[2]};
        for (std::size_t i = 0; i < kMotion; ++i) motion[i] += change[i];
        if (width_ == kMotion) return;
        const double when = returns_.when[at];
        for (std::size_t i = 0; i < kMotion; ++i) motion[kMotion + i] += when * change[i];
    }

    // The columns that the residual depends on, ascending, and its derivative by each.
    void list(std::vector<std::size_t>& columns, std::vector<double>& values) {
        columns.clear();
        values.clear();
        order(rings_, ranked_);
        for (std::size_t kind = 0; kind < kLaser; ++kind)
            for (const std::int32_t ring : ranked_) {
                columns.push_back(kind * returns_.rings + ring);
                values.push_back(laser_[kLaser * ring_slot_[ring] + kind]);
            }
        order(sweeps_, ranked_);
        for (const std::int32_t sweep : ranked_)
            for (std::size_t i = 0; i < width_; ++i) {
                columns.push_back(kLaser * returns_.rings + width_ * sweep + i);
                values.push_back(motion_[width_ * sweep_slot_[sweep] + i]);
            }
    }

  private:
    static double* find(std::int32_t key, std::vector<std::int32_t>& slot, std::vector<std::int32_t>& keys,
                        std::vector<double>& sums, std::size_t width) {
        if (slot[key] < 0) {
            slot[key] = static_cast<std::int32_t>(keys.size());
            keys.push_back(key);
            sums.resize(sums.size() + width, 0.0);
        }
        return sums.data() + width * slot[key];
    }

    static void order(const std::vector<std::int32_t>& keys, std::vector<std::int32_t>& ranked) {
        ranked = keys;
        std::sort(ranked.begin(), ranked.end());
    }

    const MovingReturns& returns_;
    std::size_t width_;
    std::vector<std::int32_t> ring_slot_, sweep_slot_, rings_, sweeps_, ranked_;
    std::vector<double> laser_, motion_;
};

// How much too long a range is, metres, if the return belongs in its plane. A derivative that holds the noise of its
// own residual is correlated with it: lasers would seem to point too low and to measure too far.
double excess_range(const double* normal, const double* along, double error) {
    const double slant = dot(normal, along);
    if (!(std::fabs(slant) > kGrazing)) return 0.0;
    return std::clamp(error / slant, -kLargestExcess, kLargestExcess);
}

}  // namespace

NormalEquations plane_equations(const MovingReturns& returns, const PlaneResiduals& residuals, bool rates) {
    const std::size_t n = kLaser * returns.rings + (rates ? 2 : 1) * kMotion * returns.sweeps;
    NormalEquations found{std::vector<double>(n * n, 0.0), std::vector<double>(n, 0.0)};
    Row row(returns, rates);
    std::vector<std::size_t> columns;
    std::vector<double> values;
    for (std::size_t i = 0; i < residuals.count; ++i) {
        const double* normal = residuals.normal + 3 * i;
        const auto own = static_cast<std::size_t>(residuals.row[i]);
        row.clear();
        row.add(own, normal, 1.0, excess_range(normal, returns.along + 3 * own, residuals.error[i]));
        for (std::size_t j = 0; j < residuals.k; ++j)
            row.add(residuals.near[i * residuals.k + j], normal, -1.0 / static_cast<double>(residuals.k));
        row.list(columns, values);
        for (std::size_t a = 0; a < columns.size(); ++a) {
            const double weighted = residuals.weight[i] * values[a];
            found.slope[columns[a]] += weighted * residuals.error[i];
            double* target = found.matrix.data() + columns[a] * n;
            for (std::size_t b = a; b < columns.size(); ++b) target[columns[b]] += weighted * values[b];
        }
    }
    return found;
}

}  // namespace resweep
