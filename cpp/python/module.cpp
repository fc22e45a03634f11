// The native module; the files of this folder are the only ones that know Python.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "core/embree.hpp"
#include "core/parallel.hpp"
#include "python/bindings.hpp"

NB_MODULE(_core, m) {
    using namespace resweep;
    namespace nb = nanobind;

    m.doc() = "The native core of Resweep; private, use the resweep package.";
    m.def("load_embree", &load_embree, nb::arg("path"), nb::arg("config") = kDeviceConfig,
          "Open the Embree library at `path`, once a process. `config` is that of rtcNewDevice: with another than the "
          "default, other bytes may come out.");
    m.def("has_avx2", &has_avx2, "Whether the processor has AVX2 and fused multiply-adds.");
    m.def("thread_count", &thread_count, nb::arg("requested"),
          "Number of threads used when `requested` are requested (0: all cores).");
    m.def(
        "set_thread_limit", [](int threads) { thread_limit = threads; }, nb::arg("threads"),
        "Let all cores stand for `threads` of them at most, in this process; 0 takes the limit away.");
    m.def(
        "embree_version",
        [] {
            return std::make_pair(embree().device_property(embree_device(), kVersionMajor),
                                  embree().device_property(embree_device(), kVersionMinor));
        },
        "Major and minor version of the loaded Embree.");
    python::bind_motion(m);
    python::bind_plan(m);
    python::bind_pulses(m);
    python::bind_actors(m);
    python::bind_observed(m);
    python::bind_scene(m);
    python::bind_camera(m);
    python::bind_neighbours(m);
    python::bind_map(m);
    python::bind_references(m);
    python::bind_refine(m);
    python::bind_portable(m);
    python::bind_visibility(m);
    python::bind_drive(m);
    python::bind_scatter(m);
}
