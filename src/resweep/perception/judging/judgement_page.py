"""A judgement as one self-contained page."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from resweep.evaluation.report.page_parts import render_figure, render_frame, render_table, show
from resweep.perception.judging import judgement_pictures as pictures
from resweep.perception.judging.clouds import CLOUDS, CONTROL, NULL_NEXT, NULL_NOISE, OURS, SHARED
from resweep.perception.judging.detection_page import render_detection
from resweep.perception.judging.detection_pictures import DetectedSweep

if TYPE_CHECKING:
    from resweep.perception.judging.judgement import (
        CloudScores,
        Estimate,
        Judgement,
        ModelJudgement,
        SegmentationScores,
    )


def render(judgement: Judgement) -> str:
    """The whole page: for each model its headlines, the attribution, classes, ranges and pictures; then the notes."""
    drawn = judgement.load_pictures()
    judged = {sweep.model: sweep for sweep in drawn if isinstance(sweep, pictures.JudgedSweep)}
    detected = {sweep.model: sweep for sweep in drawn if isinstance(sweep, DetectedSweep)}
    sections = []
    for item in judgement.models:
        sections.append(f"<h2>{escape(item.model)}</h2>" if len(judgement.models) > 1 else "")
        sections.extend(
            _render_model(item, judged.get(item.model), detected.get(item.model), len(judgement.settings.sweeps) > 1)
        )
    notes = "".join(f"<li>{escape(line)}</li>" for line in judgement.notes)
    sections.append(f'<h2>How it was measured</h2><ul class="notes">{notes}</ul>')
    return render_frame(judgement.title(), "Does a network believe it?", judgement.settings.resweep, sections)


def _render_model(
    item: ModelJudgement, sweep: pictures.JudgedSweep | None, detected: DetectedSweep | None, many: bool
) -> Iterator[str]:
    scores = item.segmentation
    if scores is not None:
        yield _render_cards(scores)
        yield "<h2>What gives the simulation away</h2>"
        png = pictures.draw_attribution(scores.clouds)
        yield _render_costs(scores)
        yield render_figure(png, "Every cloud as the model reads it, with the interval over places.")
        yield _render_clouds(item)
        if sweep is not None:
            yield f"<h2>Sweep {sweep.number}{', on which it agrees least' if many else ''}</h2>"
            yield render_figure(pictures.draw_range_answers(sweep), "Answers as the sensor sees them.")
            yield render_figure(pictures.draw_from_above(sweep), "Answers from above.")
        yield _render_classes(scores)
        yield _render_ranges(scores)
        yield _render_confusion(scores)
    if item.detection is not None:
        yield from render_detection(item.detection, detected, many)
    if scores is None and item.features is not None:
        yield "<h2>Feature distance</h2>"
        yield _render_clouds(item)


def _render_cards(scores: SegmentationScores) -> str:
    cards = []
    names = (OURS, SHARED, NULL_NOISE, NULL_NEXT, CONTROL)
    ours, shared, null, after, control = (scores.find(name) for name in names)
    given: list[tuple[str, Estimate | None, str]] = [
        ("agreement, ours", None if ours is None else ours.agreement, "share of beams with the recorded answer ↑"),
        ("agreement, null", None if null is None else null.agreement, "with noise on recorded ranges"),
        ("agreement, next", None if after is None else after.agreement, "the next recorded sweep"),
        ("agreement, control", None if control is None else control.agreement, "boxes, one ray, no noise"),
        ("mIoU, ours", None if ours is None else ours.miou, "against true labels ↑"),
        ("mIoU, recorded", None if shared is None else shared.miou, "on the same beams"),
        ("share of mIoU", scores.miou_share, "ours over recorded ↑"),
    ]
    for title, estimate, about in given:
        if estimate is None or estimate.value is None:
            continue
        between = "" if estimate.low is None else f"{estimate.low:.3f} to {estimate.high:.3f}"
        cards.append(
            f'<div class="card"><b>{estimate.value:.3f}</b><em>{title}</em><span class="spread">{about}</span>'
            f'<span class="spread">{between}</span></div>'
        )
    return f'<div class="cards">{"".join(cards)}</div>'


def _render_costs(scores: SegmentationScores) -> str:
    """A sentence: which part of ours changes how many answers."""
    said = []
    for part, cost in sorted(scores.costs.items(), key=lambda item: -(item[1].value or 0.0)):
        if cost.value is not None:
            between = (
                "" if cost.low is None or cost.high is None else f" ({100 * cost.low:.1f} to {100 * cost.high:.1f})"
            )
            said.append(f"{escape(part)} <b>{100 * cost.value:.1f} %</b>{between}")
    return f"<p>Answers that change when one part alone is simulated: {', '.join(said)}.</p>" if said else ""


def _render_clouds(item: ModelJudgement) -> str:
    rows = []
    scores, features = item.segmentation, item.features
    named = [cloud.cloud for cloud in scores.clouds] if scores is not None else []
    for name in named or (list(features.distance) if features is not None else []):
        cells = [f"<td>{escape(name)}</td>"]
        cloud = None if scores is None else scores.find(name)
        if cloud is not None:
            cells += [_cell(cloud.agreement), _cell(cloud.miou), _cell(cloud.miou_real), _count(cloud)]
        if features is not None:
            cells.append(f'<td class="n">{show(features.distance.get(name))}</td>')
        cells.append(f'<td class="what">{escape(CLOUDS[name])}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    heads = ["agreement ↑", "mIoU ↑", "mIoU, recorded", "beams"] if scores is not None else []
    heads += ["feature distance ↓"] if features is not None else []
    head = (
        "<th>cloud</th>" + "".join(f'<th class="n">{text}</th>' for text in heads) + '<th class="what">what it is</th>'
    )
    return render_table(head, rows)


def _cell(estimate: Estimate) -> str:
    if estimate.value is None:
        return '<td class="n">–</td>'
    between = "" if estimate.low is None else f"<br><small>{estimate.low:.3f}–{estimate.high:.3f}</small>"
    return f'<td class="n">{estimate.value:.3f}{between}</td>'


def _count(cloud: CloudScores) -> str:
    return f'<td class="n">{cloud.beams:,}</td>'


def _render_classes(scores: SegmentationScores) -> str:
    shared, ours = scores.find(SHARED), scores.find(OURS)
    if shared is None or ours is None:
        return ""
    rows = []
    for name in scores.classes:
        values = (shared.iou[name], ours.iou[name], ours.agreement_of[name])
        cells = "".join(f'<td class="n">{show(value)}</td>' for value in values)
        rows.append(f"<tr><td>{escape(name)}</td>{cells}</tr>")
    head = "<th>class</th>" + "".join(
        f'<th class="n">{text}</th>' for text in ("IoU, recorded ↑", "IoU, ours ↑", "agreement ↑")
    )
    return f"<h2>By class</h2>{render_table(head, rows)}"


def _render_ranges(scores: SegmentationScores) -> str:
    ours = scores.find(OURS)
    if ours is None:
        return ""
    rows = []
    for item in ours.ranges:
        far = "and more" if item.to_m is None else f"to {item.to_m:g}"
        values = (item.agreement, item.miou_real, item.miou)
        cells = "".join(f'<td class="n">{show(value)}</td>' for value in values)
        rows.append(f'<tr><td>{item.from_m:g} {far} m</td><td class="n">{item.beams:,}</td>{cells}</tr>')
    heads = ("beams", "agreement ↑", "mIoU, recorded ↑", "mIoU, ours ↑")
    head = "<th>true range</th>" + "".join(f'<th class="n">{text}</th>' for text in heads)
    return f"<h2>By range</h2>{render_table(head, rows)}"


def _render_confusion(scores: SegmentationScores) -> str:
    """The share of each recorded answer that becomes each simulated one."""
    rows = []
    for name, counts in zip(scores.classes, scores.confusion, strict=True):
        total = sum(counts)
        shares = [f"{count / total:.1%}" if total else "–" for count in counts]
        cells = "".join(f'<td class="n">{text}</td>' for text in shares)
        rows.append(f'<tr><td>{escape(name)}</td>{cells}<td class="n">{total:,}</td></tr>')
    head = "<th>on the recorded sweep</th>" + "".join(f'<th class="n">{escape(name)}</th>' for name in scores.classes)
    about = '<p class="sub">Rows are answers on the recorded sweep, columns what they become on ours.</p>'
    return f"<h2>Which answers change</h2>{about}{render_table(head + '<th class=n>beams</th>', rows)}"
