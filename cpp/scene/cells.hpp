// The cells of a divided scene as one Embree geometry: a box each, and a callback that looks into the scene behind it.
#pragma once

#include "scene/scene.hpp"

namespace resweep {

// User geometry for the cells. Embree keeps the address of `cells`.
OwnedGeometry cell_geometry(const Scene::Cells& cells);

}  // namespace resweep
