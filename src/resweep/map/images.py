"""Range images of sweeps, kept until the points of a place are tested: in memory, or as files for a long log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np

from resweep.files.pieces import SUFFIX, Pieces
from resweep.map.config import VisibilityConfig
from resweep.map.visibility import RangeImage, reaches
from resweep.pose import Array

_PREFIX = "image-"


class Images(Protocol):
    """Range images by the number of their sweep."""

    def add(self, number: int, image: RangeImage) -> None:
        """Keep the image of sweep ``number``."""
        ...

    def extend(self, other: Images) -> None:
        """Keep the images of another of the same kind as well."""
        ...

    def reaching(self, low: Array, high: Array, config: VisibilityConfig) -> Iterator[tuple[int, RangeImage]]:
        """The images that constrain points between the corners ``low`` and ``high`` (3,) of a box, in order.

        The box is in the world, in metres. Each image comes with the number of its sweep.
        """
        ...


class HeldImages:
    """Range images in memory."""

    def __init__(self) -> None:
        self._images: dict[int, RangeImage] = {}

    def add(self, number: int, image: RangeImage) -> None:
        """Keep the image of sweep ``number``."""
        self._images[number] = image

    def extend(self, other: Images) -> None:
        """Keep the images of another in memory as well."""
        if not isinstance(other, HeldImages):
            raise TypeError("images in memory take none from files")
        self._images.update(other._images)

    def reaching(self, low: Array, high: Array, config: VisibilityConfig) -> Iterator[tuple[int, RangeImage]]:
        """The images that constrain points in a box, in order; see `Images.reaching`."""
        for number, image in sorted(self._images.items()):
            if reaches(image.pose[:3, 3], image.reach_m, low, high, config):
                yield number, image


class ImageStore:
    """Range images as pieces in ``folder``, one a sweep; each appears whole or not at all.

    An image takes 0.14 MB for a sensor of 27 degrees, at most 1 (with cells of 0.75 degrees). Several processes may add
    images of different sweeps; a store that is pickled finds them again if the folder is there.
    """

    def __init__(self, folder: str | Path, key: str = "") -> None:
        self.folder = Path(folder)
        self._pieces = Pieces(self.folder, key)
        self._known: dict[int, tuple[Array, float]] = {}  # where each image is and its largest range

    def add(self, number: int, image: RangeImage) -> None:
        """Write the image of sweep ``number``; one that is there is replaced."""
        numbers = {"row": np.array(image.row), "reach_m": np.array(image.reach_m)}
        self._pieces.write(_name(number), {"pose": image.pose, "near": image.near, "far": image.far, **numbers})
        self._known[number] = image.pose[:3, 3].copy(), image.reach_m

    def extend(self, other: Images) -> None:
        """Know the images that another process wrote into the same folder."""
        if not isinstance(other, ImageStore) or other.folder != self.folder:
            raise TypeError(f"{self.folder}: takes no images from elsewhere")
        self._known.update(other._known)

    def pack(self) -> list[list[float]]:
        """The numbers of the images that were added, where they are and how far they reach, as JSON can hold it."""
        return [[number, *place.tolist(), reach] for number, (place, reach) in self._known.items()]

    @classmethod
    def unpack(cls, empty: ImageStore, packed: list[list[float]]) -> ImageStore:
        """The store in the folder of an ``empty`` one of which the packed images are known."""
        store = cls(empty.folder, empty._pieces.key)
        store._known = {int(number): (np.array(place), reach) for number, *place, reach in packed}
        return store

    def is_kept(self, number: int) -> bool:
        """Whether the image of sweep ``number`` is there and whole; a damaged one is removed."""
        return self._pieces.find(_name(number)) is not None

    def numbers(self) -> list[int]:
        """The sweeps whose image is known, or those whose image is there if none is, in order."""
        files = [] if self._known else self.folder.glob(f"{_PREFIX}*{SUFFIX}")
        return sorted(self._known or (int(file.stem.removeprefix(_PREFIX)) for file in files))

    def reaching(self, low: Array, high: Array, config: VisibilityConfig) -> Iterator[tuple[int, RangeImage]]:
        """The images that constrain points in a box, in order; see `Images.reaching`.

        Only they are read, one at a time.
        """
        for number in self.numbers():
            if number not in self._known:
                facts = self._read(number)
                self._known[number] = facts["pose"][:3, 3].copy(), float(facts["reach_m"])
            if reaches(*self._known[number], low, high, config):
                found = self._read(number)
                yield number, RangeImage(found["pose"], found["near"], found["far"], int(found["row"]))

    def _read(self, number: int) -> dict[str, Array]:
        return self._pieces.read(_name(number)).arrays


def _name(number: int) -> str:
    return f"{_PREFIX}{number:08d}"
