"""The models of C's tables, and what the paper says of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import resweep as rs
from resweep.build import METHODS, BuildConfig, CarveConfig, method_config, paper_c

KPCONV = Path("out/experiments/c_semantics.model")  # that `experiments.c_semantics` trains


@dataclass(frozen=True)
class Model:
    """How one row is built, and its name in the paper's tables, if it is there."""

    name: str
    config: BuildConfig
    paper: str | None = None
    labels: bool = False  # needs labels
    predicted: bool = False  # of points whose labels a network predicts
    tags: tuple[str, ...] = ()


# C traces the first splat that a ray meets in these tables (4.1); it gathers several only in 6.3.4.
_FIRST: dict[str, Any] = {"depth": 1}
_BASIC: dict[str, Any] = {"method": "basic", "denoise": False, "resample": False, "carve": CarveConfig(rounds=0)}

MODELS: tuple[Model, ...] = (
    Model("mesh, Poisson", method_config("mesh-poisson", {"cell_m": 0.07}), "Mesh-Poisson", tags=("rival",)),
    Model("mesh, IMLS", METHODS["mesh-imls"], "Mesh-IMLS", tags=("rival",)),
    Model("mesh, RIMLS", METHODS["mesh-rimls"]),
    Model("surfels of D", METHODS["surfels"]),
    Model("basic, as C", rs.SplatConfig(**_BASIC, **_FIRST), "Basic Splats", tags=("rival", "basic")),
    Model("descriptors, as C, no resampling", paper_c(method="descriptors", resample=False, **_FIRST)),
    Model("descriptors, as C", paper_c(method="descriptors", **_FIRST), "AdaSplats-Descr"),
    Model(
        "labels, as C, no resampling",
        paper_c(method="labels", resample=False, **_FIRST),
        "AdaSplats-GT no resampling",
        labels=True,
    ),
    Model("labels, as C", paper_c(method="labels", **_FIRST), "AdaSplats-GT", labels=True, tags=("adaptive C",)),
    Model("KPConv labels, as C", paper_c(method="labels", **_FIRST), "AdaSplats-KPConv", predicted=True),
    Model("basic, ours", METHODS["splats-basic"], tags=("carved basic",)),
    Model("descriptors, ours", METHODS["splats-descriptors"]),
    Model("labels, ours", METHODS["splats-labels"], labels=True, tags=("adaptive ours",)),
    Model("KPConv labels, ours", METHODS["splats-labels"], predicted=True),
    Model("hybrid, ours", METHODS["hybrid"]),
    Model("labels, ours, resampled", method_config("splats-labels", {"resample": True}), labels=True),
)

# Of the fast run: coarse, and without the methods that take long.
FAST: tuple[Model, ...] = (
    Model("mesh, IMLS", method_config("mesh-imls", {"voxel_m": 0.2}), "Mesh-IMLS", tags=("rival",)),
    *(model for model in MODELS if model.name in ("basic, as C", "labels, as C", "labels, ours")),
)

# C, Tables 1, 2, 5 and 6: generation time (s), primitives (millions), LiDAR frequency (Hz), C2C (cm).
PAPER: dict[str, dict[str, tuple[float, float, float, float]]] = {
    "PC3D-Paris (Tables 1 and 2)": {
        "Mesh-Poisson": (797, 5.20, 232, 2.3),
        "Mesh-IMLS": (3216, 6.32, 233, 2.0),
        "Basic Splats": (200, 5.40, 135, 2.3),
        "AdaSplats-Descr": (344, 3.90, 181, 2.3),
        "AdaSplats-KPConv": (1064, 1.75, 203, 2.2),
        "AdaSplats-GT": (451, 1.72, 205, 1.97),
        "AdaSplats-GT no resampling": (169, 2.84, 180, 1.99),
    },
    "SemanticKITTI 00, 150 sweeps (Table 5)": {
        "Mesh-Poisson": (796, 5.97, 229, 2.6),
        "Mesh-IMLS": (1380, 7.05, 222, 3.0),
        "Basic Splats": (185, 7.77, 144, 2.6),
        "AdaSplats-Descr": (416, 6.69, 156, 2.2),
        "AdaSplats-KPConv": (1166, 6.11, 157, 2.2),
        "AdaSplats-GT": (544, 4.56, 180, 2.0),
    },
    "M-City (Table 6)": {
        "Basic Splats": (199, 5.82, 110, 1.7),
        "AdaSplats-Descr": (480, 3.92, 129, 1.6),
        "AdaSplats-GT": (513, 3.01, 204, 1.5),
    },
}

# C, Tables 3 and 4 (PC3D-Paris): C2C in cm of fences, poles, traffic signs, and the average as printed.
PAPER_THIN: dict[str, tuple[float, float, float, float]] = {
    "Mesh-Poisson": (5.9, 6.1, 6.7, 6.2),
    "Mesh-IMLS": (4.6, 3.5, 2.9, 3.7),
    "Basic Splats": (4.7, 4.3, 3.4, 4.1),
    "AdaSplats-Descr": (4.1, 3.7, 2.9, 3.2),
    "AdaSplats-KPConv": (5.5, 2.1, 1.1, 2.9),
    "AdaSplats-GT": (2.4, 2.3, 1.8, 2.2),
    "AdaSplats-GT no resampling": (2.5, 2.4, 1.8, 2.3),
}
