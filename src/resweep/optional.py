"""Packages beyond the core install: imported late, and missed with the command that installs them."""

from __future__ import annotations

import importlib
from typing import Any

from resweep.errors import MissingExtraError

# Module, the package that holds it as pip names it, and the extra of Resweep that installs it.
EXTRAS = {
    "cloudpickle": ("cloudpickle", "cluster"),
    "cmaes": ("cmaes", "drive"),
    "copclib": ("copclib", "tiles"),
    "cryptography": ("cryptography", "cluster"),
    "dask": ("dask", "cluster"),
    "distributed": ("distributed", "cluster"),
    "lz4": ("rosbags", "logs"),  # which needs it
    "gymnasium": ("gymnasium", "drive"),
    "imageio_ffmpeg": ("imageio-ffmpeg", "viewer"),
    "kiss_icp": ("kiss-icp", "logs"),
    "msgpack": ("msgpack", "drive"),
    "obstore": ("obstore", "cloud"),
    "onnx": ("onnx", "learn"),
    "onnxruntime": ("onnxruntime", "realism"),
    "pyarrow": ("pyarrow", "logs"),
    "pye57": ("pye57", "logs"),
    "pymeshlab": ("pymeshlab", "surfaces"),
    "rosbags": ("rosbags", "logs"),
    "skimage": ("scikit-image", "surfaces"),
    "sklearn": ("scikit-learn", "learn"),
    "torch": ("torch", "learn"),
    "viser": ("viser", "viewer"),
}


def require(module: str, what: str) -> Any:
    """The imported ``module``, which may be dotted, or an error that says how to install what ``what`` needs."""
    package, extra = EXTRAS[module.partition(".")[0]]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{what} needs the package '{package}' ({error}); install it with: pip install 'resweep[{extra}]'"
        ) from error
