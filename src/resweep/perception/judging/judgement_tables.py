"""A judgement as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from resweep.errors import printable
from resweep.evaluation.report.values import format_value
from resweep.perception.judging.clouds import OURS, SHARED

if TYPE_CHECKING:
    from rich.table import Table

    from resweep.perception.judging.judgement import Judgement, ModelJudgement, SegmentationScores


def list_tables(judgement: Judgement) -> Iterator[Table]:
    """The tables of all models."""
    for item in judgement.models:
        yield make_cloud_table(item)
        if item.segmentation is not None:
            yield _make_class_table(item.model, item.segmentation)


def make_cloud_table(item: ModelJudgement) -> Table:
    """A row a cloud: agreement and mIoU with their intervals, beams and feature distance."""
    table = _open_table(f"{item.model}: what it makes of each cloud")
    scores, features = item.segmentation, item.features
    table.add_column("cloud", no_wrap=True)
    if scores is not None:
        for name in ("agreement", "mIoU", "recorded", "beams"):
            table.add_column(name, justify="right", no_wrap=True)
    if features is not None:
        table.add_column("features", justify="right", no_wrap=True)
    names = [cloud.cloud for cloud in scores.clouds] if scores is not None else []
    names = names or (list(features.distance) if features is not None else [])
    for name in names:
        cells = []
        cloud = None if scores is None else scores.find(name)
        if cloud is not None:
            cells += [str(cloud.agreement), str(cloud.miou), format_value(cloud.miou_real.value), f"{cloud.beams:,}"]
        if features is not None:
            cells.append(format_value(features.distance.get(name)))
        table.add_row(name, *cells, style="bold" if name == OURS else None)
    return table


def _make_class_table(model: str, scores: SegmentationScores) -> Table:
    """A row a class: IoU of the recorded and the simulated sweep on our beams, and agreement."""
    table = _open_table(f"{model}: by class, on the beams that both return")
    table.add_column("class", no_wrap=True)
    for name in ("IoU, recorded", "IoU, ours", "agreement"):
        table.add_column(name, justify="right", no_wrap=True)
    shared, ours = scores.find(SHARED), scores.find(OURS)
    if shared is None or ours is None:
        return table
    for name in scores.classes:
        values = (shared.iou[name], ours.iou[name], ours.agreement_of[name])
        table.add_row(printable(name), *(format_value(value) for value in values))
    return table


def _open_table(title: str) -> Table:
    from rich.table import Table
    from rich.text import Text

    return Table(title=Text(printable(title)), title_justify="left", box=None, pad_edge=False, header_style="bold")
