"""Results of other people's programs: a ``.label`` file for each sweep, as SemanticKITTI's benchmark takes them.

Results are those of the sweeps that they were made from, and of no others: the recorded ones, or simulated ones that
were exported. Files are matched to sweeps by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from resweep.errors import InputError, ResweepError
from resweep.files.untrusted import read_bytes
from resweep.label_mapping import map_labels
from resweep.labels import LabelSet, load_labels
from resweep.log import Log
from resweep.perception.models import UNKNOWN
from resweep.perception.segmentation.segment_classes import VocabularyClasses
from resweep.pose import Array
from resweep.sweep import Sweep

SUFFIX = ".label"
UNLABELLED = "unlabelled"
_BYTES = 4  # of a label: 16 bits for the class, 16 for the instance
_CLASS_BITS = 0xFFFF
_SAME_TIME_S = 1e-6


@dataclass(frozen=True, eq=False)
class ResultFolder:
    """Results in a folder, not yet matched to sweeps: `for_log` does that.

    ``files`` are the result files by name; labels in them are ids of ``source``, judged as the classes of ``target``.
    """

    folder: Path
    files: tuple[Path, ...]
    source: LabelSet
    target: VocabularyClasses

    def for_log(self, log: Log) -> ResultFiles:
        """The results of the sweeps of a log: by order if there is a file for each sweep, else by their numbers.

        ``000007.label`` is that of sweep 7 of the whole log.
        """
        count = len(log.whole)
        if len(self.files) == count:
            by_number = dict(enumerate(self.files))
        else:
            by_number = {_read_number(file): file for file in self.files}
        rows = log.numbers.tolist()
        if not any(row in by_number for row in rows):
            raise InputError(
                f"{self.folder}: holds {len(self.files)} results from {self.files[0].name} to {self.files[-1].name}, "
                f"none of a sweep of log '{log.name}' ({count} sweeps); give the results of these sweeps"
            )
        if len(np.unique(log.times)) < len(log):
            raise InputError(f"log '{log.name}': several sweeps have one time, so results cannot be matched to them")
        found = tuple(by_number.get(row) for row in rows)
        return ResultFiles(self, log.name, log.times, found)


@dataclass(frozen=True, eq=False)
class ResultFiles:
    """The results of the sweeps of one log, by their ``times`` (n,); ``found`` are their files, None for none."""

    results: ResultFolder
    log: str
    times: Array
    found: tuple[Path | None, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes; the last is what results leave without one."""
        return (*self.results.target.names, UNLABELLED)

    def for_log(self, log: Log) -> ResultFiles:
        """The results of the sweeps of another log, such as a slice."""
        return self.results.for_log(log)

    def segment(self, sweep: Sweep) -> Array:
        """The number in `classes` (n,) uint8 of each return of a sweep of the log that the results are of."""
        at = int(np.argmin(np.abs(self.times - sweep.timestamp)))
        if abs(self.times[at] - sweep.timestamp) > _SAME_TIME_S:
            raise InputError(
                f"{self.results.folder}: its results are of log '{self.log}', which has no sweep at "
                f"{sweep.timestamp:.6f} s; results are those of the sweeps that they were made from"
            )
        file = self.found[at]
        if file is None:
            raise InputError(f"{self.results.folder}: has no result for sweep {at} of log '{self.log}'; add its file")
        label = read_result(file, len(sweep), f"sweep {at} of log '{self.log}'")
        unknown = np.setdiff1d(label, list(self.results.source.classes))
        if len(unknown):
            raise InputError(
                f"{file}: has the label {unknown[0]}, which is no class of the vocabulary "
                f"'{self.results.source.name}'; name the vocabulary of the results (labels)"
            )
        number = self.results.target.number(label, self.results.source)
        return np.where(number == UNKNOWN, len(self.classes) - 1, number).astype(np.uint8)

    def find_truth(self, label: Array, labels: LabelSet) -> Array:
        """The number in `classes` (n,) uint8 of true labels (n,) of a vocabulary; `UNKNOWN` for others."""
        return self.results.target.number(label, labels)


def list_results(folder: Path) -> list[Path]:
    """The result files of a folder: its own ``.label`` files, else those of ``predictions`` in it or of a sequence."""
    for pattern in ("*", "predictions/*", "*/predictions/*", "sequences/*/predictions/*"):
        found = sorted(folder.glob(f"{pattern}{SUFFIX}"))
        if found:
            return found
    return []


def open_results(
    folder: str | Path, labels: str | LabelSet = "semantickitti", classes: str | LabelSet = "semantickitti-19"
) -> ResultFolder:
    """The results in a folder: ``.label`` files, or ``predictions`` of one sequence, as the benchmark lays them out.

    ``labels`` is the vocabulary of their ids, ``classes`` that of the classes they are judged as.

    Example: ``model = open_results("predictions/sequences/08").for_log(rs.open_log("kitti/sequences/08"))``
    """
    folder, source, target = Path(folder), load_labels(labels), load_labels(classes)
    if not folder.is_dir():
        raise InputError(f"{folder}: is no folder; give the one that holds the {SUFFIX} files")
    files = list_results(folder)
    if not files:
        raise InputError(f"{folder}: holds no {SUFFIX} file; give the folder of the results of one sequence")
    if len({file.parent for file in files}) > 1:
        places = ", ".join(sorted({file.parent.parent.name for file in files})[:5])
        raise InputError(f"{folder}: holds results of several sequences ({places}); give the folder of one of them")
    map_labels(source, target)  # both must be known
    return ResultFolder(folder, tuple(files), source, VocabularyClasses.of(target))


def read_result(file: Path, returns: int, of: str) -> Array:
    """The labels (n,) int64 in a result file, without instances; an error unless there is one for each return."""
    try:
        data = read_bytes(file)
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror or error}); check the file") from error
    if len(data) % _BYTES or len(data) // _BYTES != returns:
        raise InputError(
            f"{file}: holds {len(data) / _BYTES:g} labels, but {of} has {returns} returns; results are those of the "
            "sweeps that they were made from"
        )
    return np.frombuffer(data, "<u4").astype(np.int64) & _CLASS_BITS


def _read_number(file: Path) -> int:
    if not file.stem.isdecimal() or len(file.stem) > 18:
        raise ResweepError(f"{file}: is named by no number; name results as the scans, such as 000007{SUFFIX}")
    return int(file.stem)
