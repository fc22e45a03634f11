"""What ``resweep convert`` does: a log or a world to one cloud (COPC), a sweep to a file, a log to a folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from resweep.cli.shared.targets import check_absent
from resweep.errors import InputError, OutputError, ResweepError

if TYPE_CHECKING:
    from resweep.labels import LabelSet
    from resweep.log import Log
    from resweep.worlds import World

SUFFIX = ".copc.laz"


@dataclass(frozen=True)
class Conversion:
    """What is converted, and to what; ``written`` are options of the writer. Wrong names raise at once."""

    source: Path
    target: Path
    format: str | None
    frame: str | None
    labels: str | None
    from_labels: str | None
    crs: Path | None
    overwrite: bool
    written: Mapping[str, Any]
    seen: set[int] = field(default_factory=set)  # ids of labels that occurred, as they are read

    def __post_init__(self) -> None:
        from resweep.labels import load_labels

        for name in (self.labels, self.from_labels):
            if name is not None:
                load_labels(name)

    def check_cloud(self) -> bool:
        """Whether the target is one cloud; raises for options that it does not take."""
        target, named = self.target, self.target.name.lower().endswith(SUFFIX)
        if not named and self.format != "copc":
            if self.crs is not None:
                raise ResweepError(f"--crs: is written into COPC alone; give an OUT that ends in {SUFFIX}")
            return False
        if not named:
            raise OutputError(f"{target}: COPC is one file; give a name that ends in {SUFFIX}")
        if self.format not in (None, "copc"):
            raise ResweepError(f"{target}: is COPC by its name, and --format is {self.format}; leave one of them out")
        if self.frame not in (None, "world"):
            raise ResweepError(f"--frame {self.frame}: a cloud of many sweeps is in world coordinates; leave it out")
        check_absent(target, self.overwrite)
        return True

    def check_file(self, log: Log) -> bool:
        """Whether the target is one file for the one sweep of a log; raises where neither file nor folder will do."""
        from resweep.cli.shared.writing import list_formats
        from resweep.io.registry import find_format, list_sweep_suffixes

        target = self.target
        as_file = target.suffix.lower() in list_sweep_suffixes() and not target.is_dir()
        if as_file and len(log) == 1 and self.format in (None, find_format(target).name):
            check_absent(target, self.overwrite)
            return True
        if self.format is None and as_file:
            raise OutputError(
                f"{target}: one file cannot hold the {len(log)} sweeps of {self.source}; give a folder and --format, "
                f"or a name that ends in {SUFFIX} for one cloud"
            )
        if self.format is None and self.source.is_file():
            find_format(target)  # a file asks for a file: this raises and lists the suffixes
        if self.format is None:
            known = ", ".join(sorted(list_formats()))
            raise ResweepError(f"{target}: give --format for the log's sweeps, one of {known}")
        return False

    def map_labels(self, log: Log) -> Log:
        """The log with its labels mapped as asked for."""
        from resweep.label_mapping import relabel
        from resweep.labels import load_labels

        if self.from_labels is not None:
            log = replace(log, labels=load_labels(self.from_labels))
        if self.labels is None:
            return log
        if not log.labels.known:
            raise InputError(
                f"{self.source}: the meaning of its labels is unknown, so they cannot be mapped to {self.labels}; "
                "give --from-labels NAME, such as semantickitti"
            )
        return relabel(log, self.labels, seen=self.seen)

    def write_cloud(self, content: Log | World, labels: str | None, what: str) -> dict[str, Any]:
        """Write the points of a log or a world as one cloud, with labels mapped if a vocabulary is given."""
        from resweep.config import read_text
        from resweep.io import write_cloud

        kept: dict[str, Any] = {} if self.labels is None else {"labels": labels}
        wkt = None if self.crs is None else read_text(self.crs, "a file of WKT").strip()
        count = write_cloud(content, self.target, crs=wkt, overwrite=True, **kept, **self.written)
        typer.echo(f"{self.target}: {count:,} points of {what} as COPC")
        return {"points": count}

    def write_sweep(self, log: Log, found: LabelSet) -> dict[str, Any]:
        """Write the one sweep of a log as a file."""
        from resweep.io import write_sweep
        from resweep.io.registry import find_format

        entry = find_format(self.target)
        kept = {} if entry.facts is None else {"part_of": log}
        write_sweep(log[0], self.target, frame=self.frame, **kept, **self.written)
        typer.echo(f"{self.target}: 1 sweep as {entry.title}")
        self._print_lost_labels(found, log)
        return {"sweeps": 1}

    def write_log(self, log: Log, found: LabelSet, points: str | None, made_from: Mapping[str, str]) -> dict[str, Any]:
        """Write a log as a folder, after the sweeps that a stopped command had finished."""
        from resweep.cli.shared.inputs import report_skipped
        from resweep.cli.shared.progress import Tally
        from resweep.cli.shared.writing import LogTarget, name_resumed
        from resweep.progress import SilentProgress

        assert self.format is not None
        tally = Tally(SilentProgress())
        count = tally.begin(len(log), 0.0, "converting")
        target = LogTarget(self.target, self.format, self.overwrite, made_from, points)
        target.write(log, frame=self.frame, on_sweep=count, **self.written)
        report_skipped(self.source, log)
        before = len(log) - tally.sweeps
        many = "1 sweep" if len(log) == 1 else f"{len(log):,} sweeps"
        typer.echo(f"{self.target}: {many} as {self.format}{name_resumed(before)}")
        self._print_lost_labels(found, log, " of the new ones" if before else "")
        return {"sweeps": len(log)}

    def _print_lost_labels(self, source: LabelSet, log: Log, where: str = "") -> None:
        """Print which classes that occurred have no counterpart in the vocabulary of the log, if labels were mapped.

        ``where`` tells in which sweeps they occurred, if not in all.
        """
        import numpy as np

        from resweep.label_mapping import map_labels

        if not self.seen:
            return
        lost = map_labels(source, log.labels).lost_names(np.array(sorted(self.seen)))
        name = log.labels.class_name(log.labels.unlabelled_id)
        what = f"no counterpart, now {name}: {', '.join(lost)}" if lost else "every class has a counterpart"
        typer.echo(f"labels{where}: {source.name} to {log.labels.name}; {what}")


def is_world(source: Path) -> bool:
    """Whether a folder holds a world."""
    return (source / "world.json").is_file()


def convert_world(job: Conversion, as_cloud: bool, refused: bool) -> dict[str, Any]:
    """Write the points of a world: centres of splats, means of volumes, points on meshes; the figures of that.

    ``refused`` tells that options of logs were given.
    """
    from resweep.worlds import load_world

    if not as_cloud or refused:
        raise ResweepError(f"{job.source}: is a world; it is converted to {SUFFIX} alone, without options of logs")
    world = load_world(job.source)
    return job.write_cloud(world, job.labels, f"{len(world.layers)} layers")


def convert_log(
    job: Conversion, log: Log, as_cloud: bool, points: str | None, made_from: Mapping[str, str]
) -> tuple[str, dict[str, Any]]:
    """Write a log as what the target is; returns that and its figures."""
    from resweep.cli.shared.inputs import report_skipped
    from resweep.labels import load_labels

    found = log.labels if job.from_labels is None else load_labels(job.from_labels)
    log = job.map_labels(log)
    if as_cloud:  # labels that are mapped already stay as they are
        facts = job.write_cloud(log, None, f"{len(log)} sweeps")
        report_skipped(job.source, log)
        return "cloud", facts
    if job.check_file(log):
        return "sweep", job.write_sweep(log, found)
    return "log", job.write_log(log, found, points, made_from)
