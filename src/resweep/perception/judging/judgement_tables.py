"""A judgement as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from resweep.errors import printable
from resweep.evaluation.report.values import format_value
from resweep.perception.judging.clouds import OURS, SHARED

if TYPE_CHECKING:
    from rich.table import Table

    from resweep.perception.judging.judgement import DetectionFigures, Judgement, ModelJudgement, SegmentationScores


def list_tables(judgement: Judgement) -> Iterator[Table]:
    """The tables of all models."""
    for item in judgement.models:
        if item.segmentation is not None or item.features is not None:
            yield make_cloud_table(item)
        if item.detection is not None:
            yield _make_detection_table(item.model, item.detection)
        if item.segmentation is not None:
            yield _make_cost_table(item.model, item.segmentation)
            yield _make_class_table(item.model, item.segmentation)


def make_cloud_table(item: ModelJudgement) -> Table:
    """A row a cloud: agreement and mIoU with their intervals, beams and feature distance."""
    table = _open_table(f"{item.model}: what it makes of each cloud")
    scores, features = item.segmentation, item.features
    table.add_column("cloud")
    if scores is not None:
        for name in ("agreement", "mIoU", "recorded", "beams"):
            table.add_column(name, justify="right")
    if features is not None:
        table.add_column("features", justify="right")
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


def _make_detection_table(model: str, scores: DetectionFigures) -> Table:
    """A row a cloud and class, from an overlap of .5 and of .7: κ_det, AP and the change of scores."""
    table = _open_table(f"{model}: objects of 1 return or more, from an overlap of .5; κ: found in both or in neither")
    for name in ("class", "cloud"):
        table.add_column(name)
    for name in ("objects", "AP", "κ", "score change"):
        table.add_column(name, justify="right")
    for row in scores.rows:
        if (row.iou, row.min_points) == (0.5, 1):
            cells = (str(item) for item in (row.ap, row.agreement, row.score_change))
            style = "bold" if row.cloud == OURS else None
            table.add_row(printable(row.name), row.cloud, f"{row.objects:,}", *cells, style=style)
    return table


def _make_cost_table(model: str, scores: SegmentationScores) -> Table:
    """By how much each part that is ours lowers agreement."""
    table = _open_table(f"{model}: what gives the simulation away")
    table.add_column("part that is ours")
    table.add_column("answers that it changes", justify="right")
    for part, cost in scores.costs.items():
        table.add_row(part, str(cost))
    return table


def _make_class_table(model: str, scores: SegmentationScores) -> Table:
    """A row a class: IoU of the recorded and the simulated sweep on our beams, and agreement."""
    table = _open_table(f"{model}: by class, on the beams that both return")
    table.add_column("class")
    for name in ("IoU, recorded", "IoU, ours", "agreement"):
        table.add_column(name, justify="right")
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
