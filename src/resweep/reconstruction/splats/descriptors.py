"""The four groups of surfaces that splats adapt to, and which labels belong to them (C, 3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pydantic import ValidationError, model_validator

from resweep.config import Spec, SpecError, explain
from resweep.errors import ResweepError, nearest_names
from resweep.pose import Array


class Group(IntEnum):
    """What a splat grows on; ``UNKNOWN`` is left to the local descriptors."""

    UNKNOWN = -1
    GROUND = 0
    SURFACE = 1
    LINEAR = 2
    NON_SURFACE = 3


class LabelMap(Spec):
    """Which label ids belong to which group, and which of them move, could move, or are no surface at all."""

    name: str
    formats: tuple[str, ...] = ()
    ground: tuple[int, ...] = ()
    surface: tuple[int, ...] = ()
    linear: tuple[int, ...] = ()
    non_surface: tuple[int, ...] = ()
    moving: tuple[int, ...] = ()
    movable: tuple[int, ...] = ()
    outlier: tuple[int, ...] = ()
    unlabelled: tuple[int, ...] = (0,)

    @model_validator(mode="after")
    def _disjoint(self) -> LabelMap:
        seen: dict[int, str] = {}
        for group in ("ground", "surface", "linear", "non_surface"):
            for label in getattr(self, group):
                if label in seen:
                    raise SpecError(group, f"label {label} is in {seen[label]} too; a label has one group")
                seen[label] = group
        return self

    def group(self, label: Array) -> Array:
        """The `Group` (n,) int8 of each label; a label that the map does not name is UNKNOWN."""
        groups = np.full(len(label), Group.UNKNOWN, np.int8)
        for group in (Group.GROUND, Group.SURFACE, Group.LINEAR, Group.NON_SURFACE):
            groups[np.isin(label, getattr(self, group.name.lower()))] = group
        return groups


def label_map(name: str = "auto", meta: Mapping[str, Any] | None = None) -> LabelMap:
    """The label map called ``name``, the one in the YAML file ``name``, or for ``auto`` the log's own.

    ``meta`` is that of the log. A format without a map of its own is taken to bear SemanticKITTI's labels,
    as the simulator's scenes do.
    """
    if name != "auto":
        if name in _maps():
            return _maps()[name]
        path = Path(name)
        if path.suffix in (".yaml", ".yml"):
            return read_label_map(path)
        raise ResweepError(f"label map '{name}': no such map; {nearest_names(name, _maps())}, or give a YAML file")
    chosen = (meta or {}).get("format")
    return next((known for known in _maps().values() if chosen in known.formats), _maps()["semantickitti"])


def read_label_map(path: Path) -> LabelMap:
    """The label map in a YAML file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ResweepError(f"{path}: cannot be read ({error.strerror or error}); give a label map in YAML") from error
    return _parsed(text, str(path))


def _parsed(text: str, where: str) -> LabelMap:
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ResweepError(f"{where}: is not valid YAML; {str(error).splitlines()[0]}") from error
    if not isinstance(data, dict):
        raise ResweepError(f"{where}: expected keys such as 'ground' with lists of label ids")
    try:
        return LabelMap.model_validate(data)
    except ValidationError as error:
        raise explain(error, LabelMap, where) from None
    except SpecError as error:
        raise SpecError(error.field, error.problem, where) from None


@cache
def _maps() -> dict[str, LabelMap]:
    folder = resources.files("resweep") / "label_sets"
    files = sorted((item for item in folder.iterdir() if item.name.endswith(".yaml")), key=lambda item: item.name)
    found = [_parsed(item.read_text(encoding="utf-8"), item.name) for item in files]
    return {known.name: known for known in found}


def describe(eigenvalues: Array) -> Array:
    """The `Group` (n,) int8 that best describes neighbourhoods with ``eigenvalues`` (n, 3), descending (C, eq. 7).

    Planar neighbourhoods are SURFACE: descriptors cannot tell ground from walls.
    """
    first = np.maximum(eigenvalues[:, 0], np.finfo(np.float32).tiny)
    linearity = (eigenvalues[:, 0] - eigenvalues[:, 1]) / first
    planarity = (eigenvalues[:, 1] - eigenvalues[:, 2]) / first
    sphericity = eigenvalues[:, 2] / first
    best = np.argmax(np.stack([planarity, linearity, sphericity]), axis=0)
    groups: Array = np.array([Group.SURFACE, Group.LINEAR, Group.NON_SURFACE], np.int8)
    return np.asarray(groups[best])
