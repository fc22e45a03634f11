"""The object bank: assets by name, in a folder with a list of them, each read when it is asked for (D, 3.2)."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from resweep import portable
from resweep.bounds import MAX_OBJECT_M
from resweep.errors import InputError, OutputError, ResweepError, nearest_names
from resweep.files import atomic_folder, lock_local
from resweep.files.strict_json import format_json
from resweep.files.untrusted import check_no_link, read_json
from resweep.remote import find_path, recover_output
from resweep.scenario.assets import Asset, check_name
from resweep.scenario.coverage import interpolate_coverage
from resweep.worlds import load_world

FORMAT = "resweep-bank"
FORMAT_VERSION = 1
INDEX = "bank.json"
VIEW_WEIGHT = 0.5  # an object unknown from the wanted side: as bad as a box half as large again

_FIELDS: dict[str, type] = {
    "name": str,
    "label": int,
    "category": str,
    "size_m": list,
    "source": list,
    "n_points": int,
    "coverage": list,
    "meta": dict,
}


class UnknownAssetError(ResweepError, KeyError):
    """A name that a bank does not hold; a KeyError too, as of any mapping."""

    def __str__(self) -> str:
        return str(self.args[0])


class Bank(Mapping[str, Asset]):
    """Assets by name; of a saved bank each is read on first use. ``meta`` says where it came from."""

    def __init__(self, assets: Iterable[Asset] = (), meta: Mapping[str, Any] | None = None) -> None:
        self.meta: dict[str, Any] = dict(meta or {})
        self._assets: dict[str, Asset] = {}
        self._facts: dict[str, dict[str, Any]] = {}
        self._path: Path | None = None
        for asset in assets:
            if asset.name in self._assets:
                raise ResweepError(f"bank: two assets are called '{asset.name}'; give each a name of its own")
            self._assets[asset.name] = asset
            self._facts[asset.name] = _list_facts(asset)

    def __getitem__(self, name: str) -> Asset:
        self._check(name)
        if name not in self._assets:
            self._assets[name] = self._read(name)
        return self._assets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(names)} {category}" for category, names in self.categories.items())
        return f"Bank({len(self)} assets: {counts})"

    def facts(self, name: str) -> dict[str, Any]:
        """What is known of an asset without reading it: the fields of `Asset` but its layers, and its coverage."""
        self._check(name)
        return dict(self._facts[name])

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """The names of the assets of each category."""
        found: dict[str, list[str]] = {}
        for name, facts in self._facts.items():
            found.setdefault(facts["category"], []).append(name)
        return {category: tuple(found[category]) for category in sorted(found)}

    def by_category(self, category: str) -> tuple[str, ...]:
        """The names of the assets of one category, which must have some."""
        if category not in self.categories:
            hint = nearest_names(category, self.categories)
            raise ResweepError(f"category '{category}': the bank has no asset of it; {hint}")
        return self.categories[category]

    def rank(
        self, category: str, size_m: Sequence[float], heading_of_view: float | None = None
    ) -> list[tuple[str, float]]:
        """Names of a category's assets with the fit error of each, best first; lower is better (D, 5.1).

        The fit error is the distance between the dimensions of the boxes, relative to the length of ``size_m``.
        ``heading_of_view`` is the angle in radians from the object's front to the sensor, counter-clockwise. Where it
        is given, the share of the outline that is not known from there is added, times `VIEW_WEIGHT`.
        """
        wanted = np.asarray(size_m, np.float64)
        if wanted.shape != (3,) or not (np.isfinite(wanted).all() and (wanted > 0).all()):
            raise ResweepError(f"size_m: expected length, width and height above zero, got {size_m!r}")
        scores = []
        for name in self.by_category(category):
            facts = self._facts[name]
            score = float(portable.norm(np.array(facts["size_m"]) - wanted) / portable.norm(wanted))
            if heading_of_view is not None:
                score += VIEW_WEIGHT * (1.0 - interpolate_coverage(facts["coverage"], heading_of_view))
            scores.append((name, score))
        return sorted(scores, key=lambda item: (item[1], item[0]))

    def best_fit(self, category: str, size_m: Sequence[float], heading_of_view: float | None = None) -> Asset:
        """The asset of a category nearest in size and, where the view is given, best covered (see `rank`)."""
        return self[self.rank(category, size_m, heading_of_view)[0][0]]

    def save(self, path: str | Path, overwrite: bool = True) -> Path:
        """Write the bank to the folder ``path``, whole or not at all; returns the path.

        An old bank there is replaced if ``overwrite``; anything else there is left alone and an error.
        """
        path = Path(path)
        with lock_local(path):
            if path.exists():
                if not is_bank(path):
                    raise OutputError(f"{path}: exists and is not a bank; choose another name or remove it")
                if not overwrite:
                    raise OutputError(f"{path}: exists already; choose another name or pass overwrite=True")
            assets = [self[name] for name in self]  # read before an old bank, perhaps their own, goes
            with atomic_folder(path) as folder:
                for asset in assets:
                    asset.world.save(folder / _name_file(asset.name))
                text = format_json(self._index(), indent=1, default=_to_plain)
                (folder / INDEX).write_text(text + "\n", encoding="utf-8")
        return path

    def _check(self, name: str) -> None:
        if name not in self._facts:
            raise UnknownAssetError(f"asset '{name}': not in the bank; {nearest_names(name, self)}")

    def _index(self) -> dict[str, Any]:
        from resweep import __version__

        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "versions": {"resweep": __version__, "python": platform.python_version()},
            "units": {"length": "metre", "axes": "x forward, y left, z up; origin on the ground below the middle"},
            "meta": self.meta,
            "assets": list(self._facts.values()),
        }

    def _read(self, name: str) -> Asset:
        assert self._path is not None
        facts, folder = self._facts[name], self._path / _name_file(name)
        if not folder.is_dir():
            raise InputError(f"{folder}: missing, though {INDEX} lists it; build the bank again")
        try:
            check_no_link(self._path, folder)
        except ValueError as error:
            raise InputError(f"{folder}: {error}") from error
        world = load_world(folder)
        log, track = facts["source"]
        return Asset(
            name=facts["name"],
            label=facts["label"],
            category=facts["category"],
            size_m=tuple(facts["size_m"]),
            layers=world.layers,
            source=(log, int(track)),
            n_points=facts["n_points"],
            meta=facts["meta"],
            labels=world.labels,
            mirrored=facts["mirrored"],
            stored_coverage=tuple(facts["coverage"]),
        )


def load_bank(path: str | Path) -> Bank:
    """The bank saved in the folder ``path``; its assets are read as they are asked for.

    Example: ``car = rs.load_bank("bank").best_fit("car", (4.4, 1.8, 1.5))``
    """
    path = find_path(path)
    recover_output(path)
    if not path.exists():
        raise InputError(f"{path}: no such bank; check the path")
    path = Path(os.fspath(path))  # of an object store a local copy
    file = path / INDEX
    if not file.is_file():
        raise InputError(f"{path}: not a bank (it has no {INDEX}); give a folder that 'resweep objects' wrote")
    try:
        check_no_link(path, file)
    except ValueError as error:
        raise InputError(f"{file}: {error}") from error
    data = read_json(file, "build the bank again")
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f"{file}: not a bank's (its format is not '{FORMAT}')")
    version = data.get("format_version")
    if type(version) is not int or version > FORMAT_VERSION:
        raise InputError(f"{file}: format {version} is not this Resweep's {FORMAT_VERSION}; upgrade resweep")
    for key, kind in (("meta", dict), ("assets", list)):
        if not isinstance(data.get(key), kind):
            raise InputError(f"{file}: field '{key}' is missing or no {kind.__name__}; build the bank again")
    bank = Bank(meta=data["meta"])
    bank._path = path
    for at, facts in enumerate(data["assets"]):
        where = f"{file}: assets[{at}]"
        _check_facts(facts, where)
        if facts["name"] in bank._facts:
            raise InputError(f"{where}: a second asset is called '{facts['name']}'; build the bank again")
        facts.setdefault("mirrored", bool(facts["meta"].get("mirrored")))  # older banks keep it in the meta
        bank._facts[facts["name"]] = facts
    return bank


def is_bank(path: Path) -> bool:
    """Whether a folder has a bank's index, of any version and even if its assets are damaged."""
    recover_output(path)
    try:
        data = read_json(path / INDEX, "")
    except ResweepError:
        return False
    return isinstance(data, dict) and data.get("format") == FORMAT


def _name_file(name: str) -> Path:
    return Path("assets") / f"{name}.world"


def _list_facts(asset: Asset) -> dict[str, Any]:
    return {
        "name": asset.name,
        "label": asset.label,
        "labels": asset.labels.name,
        "category": asset.category,
        "size_m": list(asset.size_m),
        "source": list(asset.source),
        "n_points": int(asset.n_points),
        "coverage": [round(share, 4) for share in asset.coverage],
        "mirrored": asset.mirrored,
        "meta": dict(asset.meta),
    }


def _check_facts(facts: Any, where: str) -> None:
    for key, kind in _FIELDS.items():
        if not isinstance(facts, dict) or type(facts.get(key)) is not kind:
            raise InputError(f"{where}: field '{key}' is missing or no {kind.__name__}; build the bank again")
    log, *track = facts["source"] or [None]
    right = {
        "label": abs(facts["label"]) < 2**31,
        "n_points": 0 <= facts["n_points"] < 2**63,
        "size_m": len(facts["size_m"]) == 3 and all(map(_is_length, facts["size_m"])),
        "source": isinstance(log, str) and len(track) == 1 and type(track[0]) is int,
        "coverage": len(facts["coverage"]) > 0 and all(_is_number(value) for value in facts["coverage"]),
        "mirrored": isinstance(facts.get("mirrored", False), bool),
    }
    for key, fits in right.items():
        if not fits:
            raise InputError(f"{where}: field '{key}' cannot be {facts[key]!r:.60}; build the bank again")
    try:
        check_name(facts["name"])
    except ResweepError as error:
        raise InputError(f"{where}: {error}") from error


def _is_length(value: Any) -> bool:
    return _is_number(value) and 0 < value <= MAX_OBJECT_M


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e9  # neither NaN nor infinity


def _to_plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return str(value)
