"""What ``resweep convert`` does with labels: maps them, and prints what was lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from resweep.errors import InputError

if TYPE_CHECKING:
    from resweep.labels import LabelSet
    from resweep.log import Log


def map_log_labels(log: Log, source: Path, labels: str | None, from_labels: str | None, seen: set[int]) -> Log:
    """The log with its labels mapped as asked for; the ids that occur are added to ``seen`` as they are read."""
    from resweep.label_mapping import relabel
    from resweep.labels import load_labels

    if from_labels is not None:
        log = replace(log, labels=load_labels(from_labels))
    if labels is None:
        return log
    if not log.labels.known:
        raise InputError(
            f"{source}: the meaning of its labels is unknown, so they cannot be mapped to {labels}; "
            "give --from-labels NAME, such as semantickitti"
        )
    return relabel(log, labels, seen=seen)


def print_lost_labels(source: LabelSet, log: Log, seen: set[int], where: str = "") -> None:
    """Print which classes that occurred had no counterpart in the vocabulary of the log, if labels were mapped.

    ``where`` tells in which sweeps they occurred, if not in all.
    """
    import numpy as np

    from resweep.label_mapping import map_labels

    if not seen:
        return
    lost = map_labels(source, log.labels).lost_names(np.array(sorted(seen)))
    name = log.labels.class_name(log.labels.unlabelled_id)
    what = f"no counterpart, now {name}: {', '.join(lost)}" if lost else "every class has a counterpart"
    typer.echo(f"labels{where}: {source.name} to {log.labels.name}; {what}")
