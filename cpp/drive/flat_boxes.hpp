// Boxes seen from above: whether two overlap, and how far apart they are. Tilt is left out.
#pragma once

namespace resweep {

// A box at a pose: its corners seen from above, the axis along it, and its lowest and highest point.
struct FlatBox {
    double corner[4][2], heading[2], place[2], low[2], high[2], bottom, top;
};

// `box` is lowest and highest corner (2, 3) in the box's frame; `rotation` is a row-major 3x3 matrix.
FlatBox make_flat_box(const double* box, const double rotation[9], const double position[3]);

// Whether no axis of either separates them, nor does their height.
bool overlap(const FlatBox& one, const FlatBox& two);

// Metres in the plane between boxes that do not overlap: a corner of one is nearest to the other.
double distance(const FlatBox& one, const FlatBox& two);

}  // namespace resweep
