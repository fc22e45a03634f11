"""Several reports side by side, as one self-contained page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import resweep
from resweep.evaluation.metrics import METRICS
from resweep.evaluation.pages.figures import draw_error_curves
from resweep.evaluation.pages.parts import ARROW, BETTER, figure, frame, metric_rows, show, table
from resweep.evaluation.side_by_side import SideBySide


def render(reports: SideBySide) -> str:
    """The page: what was compared, every metric by report with the best marked, range errors, notes."""
    sections = (_compared(reports), _metrics(reports), _curves(reports), _notes(reports))
    title = ", ".join(reports.names)
    return frame(title, "Reports side by side", resweep.__version__, sections)


def _compared(reports: SideBySide) -> str:
    rows = [
        f"<tr><td><b>{escape(name)}</b></td><td>{escape(report.title())}</td></tr>"
        for name, report in zip(reports.names, reports.reports, strict=True)
    ]
    warnings = "".join(f'<p class="warning"><b>Warning:</b> {escape(line)}</p>' for line in reports.warnings())
    return warnings + table("<th>report</th><th>what was compared</th>", rows)


def _metrics(reports: SideBySide) -> str:
    cells = {}
    for name in reports.metrics:
        metric, best = METRICS[name], reports.best(name)
        values = "".join(
            f'<td class="n{" best" if at in best else ""}">{show(value)}</td>'
            for at, value in enumerate(reports.values(name))
        )
        cells[name] = (
            f'{values}<td>{escape(metric.unit)}</td><td title="{BETTER[metric.better]}">{ARROW[metric.better]}</td>'
            f'<td class="what">{escape(metric.definition)}</td>'
        )
    head = "<th>metric</th>" + "".join(f'<th class="n">{escape(name)}</th>' for name in reports.names)
    head += '<th>unit</th><th>better</th><th class="what"></th>'
    rows = metric_rows(reports.metrics, cells, 4 + len(reports.names))
    return f'<h2>Metrics over all sweeps</h2><p class="sub">● the best of a row.</p>{table(head, rows)}'


def _curves(reports: SideBySide) -> str:
    curves = {
        name: report.range_errors
        for name, report in zip(reports.names, reports.reports, strict=True)
        if report.range_errors
    }
    if not curves:
        return ""
    return f"<h2>Range errors</h2>{figure(draw_error_curves(curves), 'Of all beams that returned in both.')}"


def _notes(reports: SideBySide) -> str:
    parts: Sequence[str] = [
        f"<h3>{escape(name)}</h3><ul class='notes'>{''.join(f'<li>{escape(note)}</li>' for note in report.notes)}</ul>"
        for name, report in zip(reports.names, reports.reports, strict=True)
        if report.notes
    ]
    return f"<h2>How these were measured</h2>{''.join(parts)}" if parts else ""
