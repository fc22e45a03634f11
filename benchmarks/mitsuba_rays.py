"""Mitsuba 3's LLVM variant on rays that it was given before: tracing alone, which is all that it is timed for."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from glob import glob
from typing import Any

import numpy as np

from benchmarks.report import optional
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.worlds import Mesh

VARIANT = "llvm_ad_rgb"
_PATH = "DRJIT_LIBLLVM_PATH"
_LLVM = ("/usr/lib/*/libLLVM-*.so.1", "/usr/lib/llvm-*/lib/libLLVM-*.so.1")


def open_mitsuba() -> Any:
    """The module, with its LLVM variant chosen; an error says what is missing and how to install it."""
    if _PATH not in os.environ and (found := sorted(path for pattern in _LLVM for path in glob(pattern))):
        os.environ[_PATH] = found[-1]
    mitsuba = optional("mitsuba")
    try:
        mitsuba.set_variant(VARIANT)
        mitsuba.Float(0.0) + 1.0
    except Exception as error:
        raise ResweepError(
            f"mitsuba: its variant {VARIANT} does not start ({error}); install LLVM (apt-get install libllvm14) "
            f"and set {_PATH} to its library if it is not found"
        ) from error
    return mitsuba


class MitsubaScene:
    """A mesh, built and ready."""

    def __init__(self, mesh: Mesh) -> None:
        mi = self._mi = open_mitsuba()
        shape = mi.Mesh("mesh", len(mesh.vertices), len(mesh.faces))
        arrays = mi.traverse(shape)
        arrays["vertex_positions"] = mi.Float(np.ascontiguousarray(mesh.vertices, np.float32).ravel())
        arrays["faces"] = mi.UInt32(np.ascontiguousarray(mesh.faces, np.uint32).ravel())
        arrays.update()
        self._scene = mi.load_dict({"type": "scene", "mesh": shape})

    def prepare(self, origins: Array, directions: Array, range_max_m: float) -> Callable[[], Any]:
        """A call that traces these rays (n, 3) and gives their ranges (n,) as Mitsuba's array; infinity: a miss."""
        mi, dr = self._mi, optional("drjit")
        columns = (np.ascontiguousarray(array.T, np.float32) for array in (origins, directions))
        ray = mi.Ray3f(mi.Point3f(next(columns)), mi.Vector3f(next(columns)))
        ray.maxt = mi.Float(range_max_m)
        dr.eval(ray)
        dr.sync_thread()

        def trace() -> Any:
            hit = self._scene.ray_intersect_preliminary(ray, coherent=True)
            dr.eval(hit.t, hit.prim_index)
            dr.sync_thread()
            return hit.t

        return trace


def prepare_all(scene: MitsubaScene, rays: Sequence[tuple[Array, Array]], range_max_m: float) -> Callable[[], None]:
    """A call that traces the rays of several sweeps, one after the other."""
    calls = [scene.prepare(*pair, range_max_m) for pair in rays]

    def trace() -> None:
        for call in calls:
            call()

    return trace
