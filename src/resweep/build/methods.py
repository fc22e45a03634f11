"""Methods by name: the one list that commands and experiments choose a reconstruction from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resweep.build.settings.base import BuildConfig
from resweep.build.settings.hybrid import HybridConfig
from resweep.build.settings.mesh import MeshConfig
from resweep.build.settings.splats import SplatConfig, SurfelConfig
from resweep.build.settings.volumes import VolumeConfig
from resweep.errors import ResweepError, nearest_names

METHODS: dict[str, BuildConfig] = {
    "hybrid": HybridConfig(),  # splats (C) over surfaces, volumes (A) in what lets beams through
    "splats": SplatConfig(),  # C, section 3: by labels if their meaning is known, else by descriptors
    "splats-basic": SplatConfig(method="basic"),  # C, 3.1
    "splats-labels": SplatConfig(method="labels"),  # C, 3.2
    "splats-descriptors": SplatConfig(method="descriptors"),  # C, 3.3
    "surfels": SurfelConfig(),  # D, 3.1
    "volumes": VolumeConfig(method="voxels"),  # A, III-C-1
    "volumes-top-down": VolumeConfig(method="top-down"),  # A, III-C-2
    "volumes-bottom-up": VolumeConfig(method="bottom-up"),  # A, III-C-3
    "volumes-neighbours": VolumeConfig(method="neighbours"),
    "mesh-imls": MeshConfig(method="imls"),  # C, 6.1.1
    "mesh-rimls": MeshConfig(method="rimls"),  # A, V-C
    "mesh-rimls-meshlab": MeshConfig(method="rimls-meshlab"),
    "mesh-poisson": MeshConfig(method="poisson"),  # C, 6.1.1
}

SHORT_NAMES = {
    "auto": "splats",
    "basic": "splats-basic",
    "labels": "splats-labels",
    "descriptors": "splats-descriptors",
    "voxels": "volumes",
    "top-down": "volumes-top-down",
    "bottom-up": "volumes-bottom-up",
    "neighbours": "volumes-neighbours",
    "mesh": "mesh-imls",
    "imls": "mesh-imls",
    "rimls": "mesh-rimls",
    "rimls-meshlab": "mesh-rimls-meshlab",
    "poisson": "mesh-poisson",
}


def method_config(name: str, fields: Mapping[str, Any] | None = None, where: str = "method") -> BuildConfig:
    """The settings of a method, with ``fields`` changed; ``where`` says in an error where the name was given."""
    found = METHODS.get(SHORT_NAMES.get(name, name))
    if found is None:
        raise ResweepError(f"{where} '{name}': unknown; {nearest_names(name, [*METHODS, *SHORT_NAMES])}")
    return type(found)(**{**found.model_dump(exclude_unset=True), **(fields or {})})
