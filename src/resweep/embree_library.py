"""Finds the Embree library and opens it: the only module that knows where it comes from."""

from __future__ import annotations

import importlib.util
import os
import sys
import warnings
from functools import lru_cache
from pathlib import Path

from resweep import _core
from resweep.errors import ResweepError

VARIABLE = "RESWEEP_EMBREE"

# Where the embreex wheel keeps the library, by platform: (folder beside the package, pattern).
_WHEEL = {
    "linux": (("../embreex.libs", "libembree4*.so*"), (".", "libembree4*.so*")),
    "darwin": ((".dylibs", "libembree4*.dylib"), ("../embreex.libs", "libembree4*.dylib")),
    "win32": (("../embreex.libs", "embree4*.dll"), (".", "embree4*.dll")),
}

PORTABILITY_NOTE = (
    "this processor is no x86-64 with AVX2 and FMA: the same seed gives the same bytes here each time, "
    "but may give other ones on other machines"
)


def find_embree(platform: str = sys.platform) -> Path:
    """The library's path: from the environment variable RESWEEP_EMBREE, else from the embreex wheel."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        path = Path(chosen)
        if not path.is_file():
            raise ResweepError(f"{VARIABLE}={chosen}: no such file; point it at libembree4 or unset it")
        return path
    spec = importlib.util.find_spec("embreex")
    if spec is None or not spec.submodule_search_locations:
        raise ResweepError(
            "Embree is missing: install it with 'pip install embreex', "
            f"or set {VARIABLE} to a libembree4 of version 4.4"
        )
    package = Path(next(iter(spec.submodule_search_locations)))
    for folder, pattern in _WHEEL.get(platform, _WHEEL["linux"]):
        found = sorted((package / folder).glob(pattern))
        if found:
            return found[0].resolve()
    raise ResweepError(
        f"the embreex package has no Embree library for this platform ({platform}); "
        f"reinstall it with 'pip install --force-reinstall embreex', or set {VARIABLE} to a libembree4 of version 4.4"
    )


@lru_cache(maxsize=1)
def open_embree() -> Path:
    """Open Embree once a process; returns where it came from."""
    path = find_embree()
    if sys.platform == "win32":
        os.add_dll_directory(str(path.parent))
    try:
        _core.load_embree(str(path))
    except RuntimeError as error:
        raise ResweepError(
            f"Embree: {error}; install it with 'pip install embreex', or set {VARIABLE} to a libembree4 of version 4.4"
        ) from error
    if not _core.has_avx2():
        warnings.warn(PORTABILITY_NOTE, stacklevel=2)
    return path
