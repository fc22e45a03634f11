"""What the page of a judgement says of detections."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from resweep.evaluation.report.page_parts import render_figure, render_table, show
from resweep.perception.judging.clouds import CLOUDS, CONTROL, NULL_NOISE, OURS, REAL
from resweep.perception.judging.detection_pictures import (
    DetectedSweep,
    draw_detection_bars,
    draw_detections,
    draw_scores,
)

if TYPE_CHECKING:
    from resweep.perception.judging.judgement import DetectionFigures, Estimate

IOUS = (0.5, 0.7)  # of the table
_WORST = 12  # objects that the page lists


def render_detection(scores: DetectionFigures, sweep: DetectedSweep | None, many: bool) -> Iterator[str]:
    """Headlines, bars by cloud, D's Table 7, and the objects whose scores differ most."""
    names = sorted({row.name for row in scores.rows})
    if not names:
        yield '<p class="sub">No object of its classes occurs.</p>'
        return
    for name in names:
        yield _render_cards(scores, name)
    yield "<h2>What gives the simulation away</h2>"
    for name in names:
        shown = [row for row in scores.rows if (row.name, row.iou, row.min_points) == (name, 0.5, 1)]
        yield render_figure(draw_detection_bars(shown), f"{name}: every cloud, from an overlap of .5.")
    yield "<h2>Detections</h2>"
    for name in names:
        yield from _render_rules(scores, name)
    if sweep is not None:
        yield f"<h2>Sweep {sweep.number}{', whose scores differ most' if many else ''}</h2>"
        yield render_figure(draw_detections(sweep, scores.min_score), "What is found, from above.")
    yield _render_objects(scores)


def _render_cards(scores: DetectionFigures, name: str) -> str:
    cards = []
    for cloud, title in ((OURS, "ours"), (NULL_NOISE, "null"), (CONTROL, "control")):
        row = scores.find(cloud, name)
        if row is not None and row.agreement.value is not None:
            cards.append(_make_card(row.agreement, f"κ, {title}", f"{name}: found in both or in neither"))
    for cloud, title in ((OURS, "ours"), (REAL, "recorded")):
        row = scores.find(cloud, name)
        if row is not None and row.ap.value is not None:
            cards.append(_make_card(row.ap, f"AP, {title}", f"{name}: from an overlap of .5"))
    return f'<div class="cards">{"".join(cards)}</div>'


def _make_card(estimate: Estimate, title: str, about: str) -> str:
    between = "" if estimate.low is None else f"{estimate.low:.3f} to {estimate.high:.3f}"
    return (
        f'<div class="card"><b>{estimate.value:.3f}</b><em>{title}</em><span class="spread">{escape(about)}</span>'
        f'<span class="spread">{between}</span></div>'
    )


def _render_rules(scores: DetectionFigures, name: str) -> Iterator[str]:
    """A table for each least number of returns that other objects have: AP and κ of each cloud by overlap."""
    counts: dict[int, int] = {}
    for row in scores.rows:
        if row.name == name and row.cloud == REAL and row.objects not in counts.values():
            counts[row.min_points] = row.objects
    for points, objects in counts.items():
        rows = []
        for cloud in CLOUDS:
            pair = [scores.find(cloud, name, iou, points) for iou in IOUS]
            given = [row for row in pair if row is not None]
            if given:
                values = [*(row.ap for row in given), *(row.agreement for row in given), given[0].score_change]
                cells = "".join(f'<td class="n">{item}</td>' for item in values)
                rows.append(f"<tr><td>{escape(cloud)}</td>{cells}</tr>")
        heads = [*(f"AP, IoU {iou:g} ↑" for iou in IOUS), *(f"κ, IoU {iou:g} ↑" for iou in IOUS), "score change"]
        head = "<th>cloud</th>" + "".join(f'<th class="n">{text}</th>' for text in heads)
        more = "1 return or more" if points == 1 else f"{points} returns or more"
        about = f'<p class="sub">{escape(name)}: {objects:,} objects of {more}.</p>'
        yield about + render_table(head, rows)


def _render_objects(scores: DetectionFigures) -> str:
    if not scores.objects:
        return ""
    worst = sorted(scores.objects, key=lambda item: -abs(item.ours - item.real))[:_WORST]
    rows = []
    for item in worst:
        cells = f'<td class="n">{item.sweep}</td><td>{escape(item.name)}</td><td class="n">{show(item.range_m)}</td>'
        cells += (
            f'<td class="n">{item.points:,}</td><td class="n">{item.real:.3f}</td><td class="n">{item.ours:.3f}</td>'
        )
        rows.append(f"<tr>{cells}</tr>")
    heads = (("sweep", "n"), ("class", ""), ("range, m", "n"), ("returns", "n"), ("recorded", "n"), ("ours", "n"))
    head = "".join(f'<th class="{kind}">{text}</th>' for text, kind in heads)
    picture = render_figure(draw_scores(scores.objects), "The score of every object; 0 where it was not found.")
    return f"<h2>Objects whose scores differ most</h2>{render_table(head, rows)}{picture}"
