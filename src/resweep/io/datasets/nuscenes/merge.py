"""Several nuScenes datasets in one: their tables joined, their files side by side."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from resweep.errors import InputError, OutputError, ResweepError
from resweep.files import atomic_folder, lock_local
from resweep.io.datasets.json_files import read_json
from resweep.io.datasets.nuscenes.scene_tables import SceneTables, join_tables, write_tables
from resweep.io.datasets.nuscenes.tables import find_tables, read_records
from resweep.progress import track
from resweep.remote import find_path

_SPLITS = "splits"
_WITH_FILES = ("sample_data", "map", "lidarseg", "panoptic")


@dataclass(frozen=True)
class MergeResult:
    """What a merged dataset holds: the names of its scenes, and how many samples."""

    scenes: tuple[str, ...]
    samples: int


@dataclass(frozen=True)
class _MergeSource:
    """One dataset that goes into another: its root, the folder of its tables, and these."""

    root: Path
    version: str
    tables: SceneTables

    @classmethod
    def open(cls, root: Path, version: str | None) -> _MergeSource:
        found = find_tables(root, version)
        if found is None:
            raise InputError(f"{root}: no nuScenes dataset; give the folder that holds samples/ and the tables")
        names = sorted(file.stem for file in found.folder.glob("*.json") if file.stem != _SPLITS)
        return cls(root, found.folder.name, {name: list(read_records(found.folder / f"{name}.json")) for name in names})

    def splits(self) -> dict[str, list[str]]:
        """The scenes of each split, by the tokens of the scenes."""
        file = self.root / self.version / f"{_SPLITS}.json"
        if not file.is_file():
            return {}
        token = {row["name"]: row["token"] for row in self.tables["scene"]}
        listed = {split: [name.text() for name in names.items()] for split, names in read_json(file).entries().items()}
        return {split: [token[name] for name in names if name in token] for split, names in listed.items()}

    def files(self) -> list[str]:
        """Where the files that its tables name lie in it."""
        names = sorted({row["filename"] for table in _WITH_FILES for row in self.tables.get(table, [])})
        for name in names:
            if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise ResweepError(f"{self.root}: its tables name the file '{name}' outside of it; do not trust them")
        return names


def merge_nuscenes(
    sources: Sequence[str | Path], target: str | Path, *, version: str | None = None, progress: bool = True
) -> MergeResult:
    """Make one nuScenes dataset of several in the new folder ``target``, which appears once it is whole.

    The files that tables name are copied, records that several sources share are there once, and a scene whose name
    another one has gets a number after it; ``splits.json`` follows. Sources must have tables of the same ``version``.
    """
    target = Path(target).absolute()
    with lock_local(target):
        return _merge(sources, target, version, progress)


def _merge(sources: Sequence[str | Path], target: Path, version: str | None, progress: bool) -> MergeResult:
    """Make one dataset of several in a folder that no other process writes."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise OutputError(f"{target}: exists and is not empty; choose another name")
    found = [_MergeSource.open(find_path(source), version) for source in sources]
    if len({source.version for source in found}) != 1:
        names = ", ".join(f"{source.root} has {source.version}" for source in found)
        raise ResweepError(f"datasets of one version can be merged ({names}); write them with one version=")
    try:
        tables = join_tables([source.tables for source in found], [str(source.root) for source in found])
        splits = _join_splits(found, {row["token"]: row["name"] for row in tables["scene"]})
        files = [(source.root / name, name) for source in found for name in source.files()]
    except ResweepError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        names = ", ".join(str(source.root) for source in found)
        raise ResweepError(f"{names}: tables damaged or not nuScenes' ({error!r}); write them again") from error
    with atomic_folder(target) as folder:
        for file, name in track(files, f"merging into {target.name}", show=progress):
            _copy(file, folder / name)
        write_tables(tables, folder / found[0].version, splits)
    return MergeResult(tuple(row["name"] for row in tables["scene"]), len(tables["sample"]))


def _join_splits(sources: Sequence[_MergeSource], names: dict[str, str]) -> dict[str, list[str]]:
    """The scenes of each split of all sources, by their ``names`` in the merged dataset."""
    splits: dict[str, list[str]] = {}
    for source in sources:
        for split, tokens in source.splits().items():
            splits.setdefault(split, []).extend(names[token] for token in tokens)
    return {split: list(dict.fromkeys(scenes)) for split, scenes in splits.items()}


def _copy(source: Path, target: Path) -> None:
    if not source.is_file():
        raise InputError(f"{source}: missing, though the tables name it; complete the dataset")
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():  # the same record in two sources has the same file
        shutil.copyfile(source, target)
