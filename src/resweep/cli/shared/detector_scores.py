"""What ``resweep learn detector`` prints: how well a detector finds objects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from resweep.files.strict_json import format_json, replace_not_finite

if TYPE_CHECKING:
    from resweep.perception.detection.detector_card import DetectorCard


def print_detector(output: Path, card: DetectorCard, as_json: bool) -> None:
    """Print the average precision of a detector, class by class and rule by rule."""
    scores = card.tested or card.validated
    assert scores is not None
    where = "logs that training did not see" if card.tested else "logs that chose the best round, which flatters"
    typer.echo(f"{output}: {card.parameters:,} weights; average precision on {', '.join(scores.on)} ({where})")
    for row in scores.rows:
        shown = "no such object" if row.ap is None else f"{row.ap:.3f} of {row.objects} objects"
        view = "from above" if row.kind == "bev" else "in space"
        typer.echo(f"  {row.name:12} IoU {row.iou:g} {view:10}, {row.min_points:2}+ returns: {shown}")
    if as_json:
        rows = [row.model_dump(mode="json") for row in scores.rows]
        trained = [item.model_dump(mode="json") for item in card.trained_on]
        facts = {"model": str(output), "trained_on": trained, "scored_on": list(scores.on), "sweeps": scores.sweeps}
        typer.echo(format_json(replace_not_finite({**facts, "parameters": card.parameters, "rows": rows})))
