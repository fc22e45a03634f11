#include "map/visibility.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/multiversion.hpp"
#include "core/parallel.hpp"

namespace resweep {
namespace {

constexpr std::size_t kBlock = 256, kChunk = 64 * kBlock;
constexpr double kPi = std::numbers::pi;
constexpr double kAngleError = 1e-4;  // radians; ten times that of `quick_atan2`, the tests hold it

// A block of points in the frame of an image, and the cells that they are in; -1 where rounding might decide.
struct Block {
    double x[kBlock], y[kBlock], z[kBlock], flat[kBlock], distance[kBlock];
    std::int32_t row[kBlock], column[kBlock];
};

// The arc tangent of q on 0 to 1 to 1e-5 radians, a minimax polynomial.
inline double quick_atan(double q) {
    const double q2 = q * q;
    return q * (0.99997726 +
                q2 * (-0.33262347 + q2 * (0.19354346 + q2 * (-0.11643287 + q2 * (0.05265332 - q2 * 0.01172120)))));
}

// atan2 of y and x to 1e-5 radians, without branches, so that compilers make vectors of it.
inline double quick_atan2(double y, double x) {
    const double across = std::abs(y), along = std::abs(x);
    const double large = std::max(across, along), small = std::min(across, along);
    const double angle = quick_atan(small / std::max(large, 1e-300));
    const double first = across > along ? kPi / 2 - angle : angle;
    return std::copysign(x < 0 ? kPi - first : first, y);
}

RESWEEP_MULTIVERSION void move(const float* point, std::size_t count, const double* T, double* x, double* y,
                               double* z) {
    for (std::size_t i = 0; i < count; ++i) {
        const double px = point[3 * i], py = point[3 * i + 1], pz = point[3 * i + 2];
        // The order of the sums is that of NumPy's einsum, which the reference uses.
        x[i] = px * T[0] + pz * T[2] + py * T[1] + T[3];
        y[i] = px * T[4] + pz * T[6] + py * T[5] + T[7];
        z[i] = px * T[8] + pz * T[10] + py * T[9] + T[11];
    }
}

RESWEEP_MULTIVERSION void measure(const double* x, const double* y, const double* z, std::size_t count, double* flat,
                                  double* distance) {
    for (std::size_t i = 0; i < count; ++i) {
        const double flat2 = x[i] * x[i] + y[i] * y[i];
        flat[i] = std::sqrt(flat2);
        distance[i] = std::sqrt(flat2 + z[i] * z[i]);
    }
}

// The cells, `cells` in a radian, of the angles of (x, y) counted from -`start`; -1 near the border of a cell.
RESWEEP_MULTIVERSION void number_cells(const double* y, const double* x, std::size_t count, double start, double cells,
                                       std::int32_t* cell) {
    const double least = kAngleError * cells, most = 1.0 - least;
    for (std::size_t i = 0; i < count; ++i) {
        const double value = (quick_atan2(y[i], x[i]) + start) * cells;
        const auto whole = static_cast<std::int32_t>(value);
        const double part = value - whole;
        cell[i] = (part > least) & (part < most) ? whole : -1;
    }
}

class Counter {
  public:
    Counter(const SeenPoints& points, const RangeImageView& image, std::int32_t number, double margin,
            double margin_per_m)
        : points_(points), image_(image), number_(number), margin_(margin), margin_per_m_(margin_per_m) {}

    void count(std::size_t begin, std::size_t end) {
        for (std::size_t first = begin; first < end; first += kBlock) {
            const std::size_t some = std::min(kBlock, end - first);
            Block& to = block_;
            move(points_.point + 3 * first, some, image_.pose, to.x, to.y, to.z);
            measure(to.x, to.y, to.z, some, to.flat, to.distance);
            number_cells(to.z, to.flat, some, kPi / 2, 1.0 / image_.cell, to.row);
            number_cells(to.y, to.x, some, kPi, 1.0 / image_.cell, to.column);
            for (std::size_t i = 0; i < some; ++i)
                if (points_.sweep[first + i] != number_) compare(i, first + i);
        }
    }

  private:
    void compare(std::size_t i, std::size_t at) {
        const double distance = block_.distance[i], margin = margin_ + margin_per_m_ * distance;
        if (!(distance - margin <= image_.reach)) return;  // farther than all ranges: neither passed nor confirmed
        const std::int64_t row = find_row(i) - image_.first_row;
        if (row < 0 || row >= image_.rows) return;
        const std::int64_t cell = row * image_.columns + find_column(i);
        const double near = image_.near[cell], far = image_.far[cell];
        if (near > distance + margin)
            points_.passed[at] += std::isfinite(near);
        else
            points_.confirmed[at] += far >= distance - margin;
    }

    std::int64_t find_row(std::size_t i) const {
        if (block_.row[i] >= 0) return std::min<std::int64_t>(block_.row[i], image_.all_rows - 1);
        const double sine = std::clamp(block_.z[i] / std::max(block_.distance[i], 1e-9), -1.0, 1.0);
        const auto row = static_cast<std::int64_t>((std::asin(sine) + kPi / 2) / image_.cell);
        return std::clamp(row, std::int64_t{0}, image_.all_rows - 1);
    }

    std::int64_t find_column(std::size_t i) const {
        if (block_.column[i] >= 0) return block_.column[i] % static_cast<std::int32_t>(image_.columns);
        const double angle = std::atan2(block_.y[i], block_.x[i]);
        return static_cast<std::int64_t>((angle + kPi) / image_.cell) % image_.columns;
    }

    const SeenPoints& points_;
    const RangeImageView& image_;
    std::int32_t number_;
    double margin_, margin_per_m_;
    Block block_;
};

}  // namespace

void count_seen_through(const SeenPoints& points, const RangeImageView& image, std::int32_t number, double margin,
                        double margin_per_m, int threads) {
    parallel((points.count + kChunk - 1) / kChunk, thread_count(threads), [&] {
        return [&, counter = Counter(points, image, number, margin, margin_per_m)](std::size_t chunk) mutable {
            counter.count(chunk * kChunk, std::min(points.count, (chunk + 1) * kChunk));
        };
    });
}

}  // namespace resweep
