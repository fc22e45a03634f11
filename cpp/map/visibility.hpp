// Points against the range image of a sweep: which were seen through, and which confirmed (map/visibility.py).
#pragma once

#include <cstddef>
#include <cstdint>

namespace resweep {

// Points of a map, the sweep that measured each, and what is counted of them.
struct SeenPoints {
    const float* point;         // (n, 3)
    const std::int32_t* sweep;  // (n,)
    std::uint32_t* passed;      // (n,)
    std::uint32_t* confirmed;   // (n,)
    std::size_t count;
};

// Near and far range in the rows of elevation from `first_row` on, of an image of `all_rows` rows of cells of `cell`
// radians. No range is above `reach`. `pose` (3, 4) takes points of the map into the frame of the image.
struct RangeImageView {
    const double* pose;
    const float* near;  // (rows, columns)
    const float* far;   // (rows, columns)
    std::int64_t rows, columns, first_row, all_rows;
    double cell;
    double reach;
};

// A point is seen through if the image's near range is beyond its distance by `margin + margin_per_m * distance`, and
// confirmed if near and far range enclose it. The points of sweep `number`, which the image is of, are left out.
void count_seen_through(const SeenPoints& points, const RangeImageView& image, std::int32_t number, double margin,
                        double margin_per_m, int threads);

}  // namespace resweep
