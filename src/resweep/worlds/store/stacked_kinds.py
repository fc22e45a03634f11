"""The kinds of layer whose rows can be put behind each other column by column, and the columns they have on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from resweep.errors import ResweepError


@dataclass(frozen=True)
class StackedKind:
    """The columns of a kind of layer: the shape of one row by name, and the types, which those named ``extra-`` choose.

    ``count`` is the field of world.json with the number of rows, ``place`` the column that always has an array.
    ``of_points`` are the columns with a row for each point of a tile instead of each primitive. ``attributes`` (n,) may
    be constant, ``settings`` are single values of a layer.
    """

    count: str
    place: str
    columns: Mapping[str, tuple[int, ...]]
    attributes: tuple[str, ...]
    settings: tuple[str, ...] = ()
    of_points: tuple[str, ...] = ()

    def dtype(self, name: str) -> str | None:
        """The type of a column; None if it is one of those that choose their own."""
        return None if name.startswith("extra-") else _DTYPES.get(name, "float32")


_DTYPES = {
    "order": "uint32",
    "source": "uint32",
    "faces": "uint32",
    "label": "int32",
    "instance": "int32",
    "material": "uint8",
}
_KINDS = {
    "mesh": StackedKind(
        count="n_faces",
        place="faces",
        columns={"order": (), "faces": (3,), "source": (), "vertices": (3,)},
        attributes=("label", "reflectance", "material", "instance"),
        of_points=("source", "vertices"),
    ),
    "splats": StackedKind(
        count="n_splats",
        place="centre",
        columns={"order": (), "centre": (3,), "normal": (3,), "radius": ()},
        attributes=("label", "reflectance", "instance"),
        settings=("depth", "gap_m", "incidence_exponent"),
    ),
    "volumes": StackedKind(
        count="n_volumes",
        place="mean",
        columns={"order": (), "mean": (3,), "covariance": (6,)},
        attributes=("permeability", "exposure_m", "label", "reflectance", "instance"),
        settings=("tau", "element_m"),
    ),
}


def stacked_kind(kind: str, where: str) -> StackedKind:
    """The columns of a kind of layer; ``where`` names the layer in errors."""
    if kind not in _KINDS:
        raise ResweepError(f"{where}: layers of kind '{kind}' cannot be put together; {', '.join(_KINDS)} can")
    return _KINDS[kind]
