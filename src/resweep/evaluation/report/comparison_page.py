"""Several reports side by side, as one self-contained page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import resweep
from resweep.evaluation.metrics.metrics import METRICS
from resweep.evaluation.report.figures import draw_error_curves
from resweep.evaluation.report.page_parts import (
    ARROW,
    BETTER,
    render_figure,
    render_frame,
    render_metric_rows,
    render_table,
    show,
)

if TYPE_CHECKING:
    from resweep.evaluation.report.report import Report
    from resweep.evaluation.report.side_by_side import SideBySide


def render(reports: SideBySide) -> str:
    """The page: what was compared, every metric by report with the best marked, errors by range and class, notes."""
    parts = (_render_compared, _render_metrics, _render_curves, _render_ranges, _render_classes, _render_notes)
    sections = [part(reports) for part in parts]
    title = ", ".join(reports.names)
    return render_frame(title, "Reports side by side", resweep.__version__, sections)


def _render_compared(reports: SideBySide) -> str:
    rows = [
        f"<tr><td><b>{escape(name)}</b></td><td>{escape(report.title())}</td></tr>"
        for name, report in zip(reports.names, reports.reports, strict=True)
    ]
    warnings = "".join(f'<p class="warning"><b>Warning:</b> {escape(line)}</p>' for line in reports.warnings())
    return warnings + render_table("<th>report</th><th>what was compared</th>", rows)


def _render_metrics(reports: SideBySide) -> str:
    cells = {}
    for name in reports.metrics:
        metric, best = METRICS[name], reports.best(name)
        values = "".join(
            f'<td class="n{" best" if at in best else ""}">{show(value)}{_show_spread(reports.reports[at], name)}</td>'
            for at, value in enumerate(reports.values(name))
        )
        cells[name] = (
            f'{values}<td>{escape(metric.unit)}</td><td title="{BETTER[metric.better]}">{ARROW[metric.better]}</td>'
            f'<td class="what">{escape(metric.definition)}</td>'
        )
    head = f'{_render_head(reports, "metric")}<th>unit</th><th>better</th><th class="what">what it is</th>'
    rows = render_metric_rows(reports.metrics, cells, 4 + len(reports.names))
    return f'<h2>Metrics over all sweeps</h2><p class="sub">● the best of a row.</p>{render_table(head, rows)}'


def _show_spread(report: Report, name: str) -> str:
    """The least and the largest value of a metric over the sweeps of a report, small, if there are several."""
    values = [row[name] for row in report.per_sweep if row.get(name) is not None]
    return f'<br><small class="sub">{show(min(values))} – {show(max(values))}</small>' if len(values) > 1 else ""


def _render_ranges(reports: SideBySide) -> str:
    """The share of true returns that came back right, by true range and report."""
    found = [report.per_range for report in reports.reports]
    if not all(found):
        return ""
    shares = [{(row["from_m"], row["to_m"]): row["recovered_0.10m"] for row in each} for each in found]
    bins = {key for each in shares for key in each}  # a report has no row where it has no beam
    rows = []
    for near, to in sorted(bins, key=lambda key: (key[0] or 0.0, math.inf if key[1] is None else key[1])):
        far = "and more" if to is None else f"to {show(to)}"
        cells = "".join(f'<td class="n">{show(each.get((near, to)))}</td>' for each in shares)
        rows.append(f"<tr><td>{show(near)} {far} m</td>{cells}</tr>")
    return f"<h2>By range: recovered_0.10m ↑</h2>{render_table(_render_head(reports, 'true range'), rows)}"


def _render_classes(reports: SideBySide) -> str:
    """The mean range error by class and report; classes that only some know have gaps."""
    names = list(dict.fromkeys(name for report in reports.reports for name in report.per_class))
    if len(names) < 2:
        return ""
    rows = []
    for name in names:
        values = (report.per_class.get(name, {}).get("range_mean_m") for report in reports.reports)
        cells = "".join(f'<td class="n">{show(value)}</td>' for value in values)
        rows.append(f"<tr><td>{escape(name)}</td>{cells}</tr>")
    return f"<h2>By class: range_mean_m ↓</h2>{render_table(_render_head(reports, 'class'), rows)}"


def _render_head(reports: SideBySide, first: str) -> str:
    return f"<th>{first}</th>" + "".join(f'<th class="n">{escape(name)}</th>' for name in reports.names)


def _render_curves(reports: SideBySide) -> str:
    curves = {
        name: report.range_errors
        for name, report in zip(reports.names, reports.reports, strict=True)
        if report.range_errors
    }
    if not curves:
        return ""
    return f"<h2>Range errors</h2>{render_figure(draw_error_curves(curves), 'Of all beams that returned in both.')}"


def _render_notes(reports: SideBySide) -> str:
    parts: Sequence[str] = [
        f"<h3>{escape(name)}</h3><ul class='notes'>{''.join(f'<li>{escape(note)}</li>' for note in report.notes)}</ul>"
        for name, report in zip(reports.names, reports.reports, strict=True)
        if report.notes
    ]
    return f"<h2>How these were measured</h2>{''.join(parts)}" if parts else ""
