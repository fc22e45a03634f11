// Native geometry from the Python objects of resweep.worlds.native, which are read by the names of their fields.
#pragma once

#include <vector>

#include "python/arrays.hpp"
#include "scene/mesh.hpp"
#include "scene/splats.hpp"
#include "scene/volumes.hpp"

namespace resweep::python {

// NumPy arrays that native geometry reads, kept for as long as this lives.
class KeptArrays {
  public:
    Triangles triangles(nb::object source);
    InstanceArray instances(nb::object source);
    Discs discs(nb::object source);

  private:
    template <class Array> Array array(nb::object source, const char* name);

    std::vector<nb::object> kept_;
};

// Volumes are copied: the tracer keeps each one in one cache line.
Volumes volumes(nb::object source);

}  // namespace resweep::python
