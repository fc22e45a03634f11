"""A report as one self-contained HTML file."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from resweep.evaluation import figures
from resweep.evaluation.caveats import WARNING
from resweep.evaluation.metrics import METRICS

if TYPE_CHECKING:
    from resweep.evaluation.report import Report

_HEADLINES = ("c2c_m", "c2c_sweep_m", "range_median_m", "within_0.10m", "fscore_0.10m", "return_f1", "range_ssim")
_STYLE = """
:root { --ink: #1d2733; --faint: #66758a; --line: #dde3ea; --soft: #f5f7fa; --accent: #1f6fb4; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 2.2rem 1.4rem 4rem; color: var(--ink); background: #fff;
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.55rem; margin: 0 0 .2rem; }
h2 { font-size: 1.1rem; margin: 2.4rem 0 .7rem; border-bottom: 2px solid var(--accent); padding-bottom: .2rem; }
.sub, .notes, caption { color: var(--faint); }
.sub { margin: 0 0 1.4rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: .7rem; }
.card { background: var(--soft); border: 1px solid var(--line); border-radius: 8px; padding: .7rem .9rem; }
.card b { display: block; font-size: 1.45rem; font-variant-numeric: tabular-nums; }
.card b small { font-size: .85rem; font-weight: 500; color: var(--faint); }
.card span { font: 12.5px ui-monospace, Menlo, Consolas, monospace; color: var(--faint); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { padding: .32rem .7rem; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; color: var(--faint); white-space: nowrap; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.k { font: 13px/1.6 ui-monospace, Menlo, Consolas, monospace; white-space: nowrap; }
tr.group th { background: var(--soft); color: var(--ink); padding-top: .5rem; }
tr.thin td:first-child::after { content: " thin"; color: var(--accent); font-size: .78rem; }
figure { margin: 1rem 0; } img { max-width: 100%; height: auto; display: block; }
figcaption { color: var(--faint); font-size: .88rem; }
.notes { padding-left: 1.2rem; }
.warning { border-left: 4px solid #c77700; background: #fff6e5; padding: .6rem .9rem; margin: 0 0 1rem; }
@media print { body { max-width: none; } figure, tr { break-inside: avoid; } }
"""


def render(report: Report) -> str:
    """The whole page: headlines, metrics with units and perfect values, classes, pictures, notes."""
    parts = (_warnings, _cards, _metrics, _classes, _pictures, _sweeps, _notes)
    sections = [part(report) for part in parts]
    title = escape(report.title())
    version = escape(str(report.settings.get("resweep", "")))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body>\n<h1>Simulated against real</h1>\n"
        f'<p class="sub">{title} · Resweep {version}</p>\n' + "\n".join(filter(None, sections)) + "\n</body></html>\n"
    )


def _value(value: float | None, missing: str = "–") -> str:
    from resweep.evaluation.report import format_value

    return escape(format_value(value, missing))


def _warnings(report: Report) -> str:
    return "".join(f'<p class="warning"><b>Warning:</b> {escape(line)}</p>' for line in report.warnings)


def _cards(report: Report) -> str:
    cards = [
        f'<div class="card"><b>{_value(report.metrics[name])} <small>{METRICS[name].unit}</small></b>'
        f"<span>{name}</span></div>"
        for name in _HEADLINES
        if report.metrics.get(name) is not None
    ]
    return f'<div class="cards">{"".join(cards)}</div>'


def _metrics(report: Report) -> str:
    rows, group = [], ""
    better = {"lower": "↓", "higher": "↑", "zero": "→ 0"}
    for name, value in report.metrics.items():
        metric = METRICS[name]
        if metric.group != group:
            group = metric.group
            rows.append(f'<tr class="group"><th colspan="6">{escape(group)}</th></tr>')
        rows.append(
            f'<tr><td class="k">{name}</td><td class="n">{_value(value)}</td><td>{escape(metric.unit)}</td>'
            f'<td class="n">{_value(metric.perfect, "")}</td><td>{better[metric.better]}</td>'
            f"<td>{escape(metric.definition)}</td></tr>"
        )
    head = '<th>metric</th><th class="n">value</th><th>unit</th><th class="n">perfect</th><th>better</th><th></th>'
    return f"<h2>Metrics over all sweeps</h2>{_table(head, rows)}"


def _classes(report: Report) -> str:
    unlabelled = set(report.settings.get("unlabelled_labels", (0,)))
    if all(values["label"] in unlabelled for values in report.per_class.values()):
        return ""
    thin = set(report.settings.get("thin_labels", ()))
    columns = list(next(iter(report.per_class.values())))
    rows = []
    for name, values in report.per_class.items():
        kind = ' class="thin"' if values.get("label") in thin else ""
        cells = "".join(f'<td class="n">{_value(values.get(column))}</td>' for column in columns)
        rows.append(f"<tr{kind}><td>{escape(name)}</td>{cells}</tr>")
    head = "<th>class</th>" + "".join(f'<th class="n">{escape(column)}</th>' for column in columns)
    about = (
        '<p class="sub">c2c_m and c2c_sweep_m are between points of the same class; range_mean_m and return_recall are '
        "of the beams whose real return has the class.</p>"
    )
    title = report.class_title()
    return f"<h2>{escape(title[0].upper() + title[1:])}</h2>{about}{_table(head, rows)}"


def _pictures(report: Report) -> str:
    parts = []
    if report.range_errors:
        picture = figures.draw_range_errors(report.range_errors)
        parts.append(_figure(picture, "Range errors of all beams that returned in both, over all sweeps."))
    by_sweep = figures.draw_sweeps(report.per_sweep)
    if by_sweep:
        parts.append(_figure(by_sweep, "Metrics of each pair of sweeps."))
    if report.drawn is not None:
        row = report.per_sweep[int(report.settings.get("drawn_row", 0))]
        which = f"simulated sweep {row['sim']} and real sweep {row['real']}"
        which += ", the pair with the largest c2c_sweep_m" if len(report.per_sweep) > 1 else ""
        if len(report.drawn.sim.points) and len(report.drawn.real.points):
            parts.append(_figure(figures.draw_birds_eye(report.drawn), f"From above: {which}."))
        parts.append(_figure(figures.draw_range_images(report.drawn), f"As the sensor sees: {which}."))
        intensity = figures.draw_intensity(report.drawn)
        if intensity:
            parts.append(_figure(intensity, f"Intensity: {which}."))
    return f"<h2>Pictures</h2>{''.join(parts)}" if parts else ""


def _sweeps(report: Report) -> str:
    if len(report.per_sweep) < 2:
        return ""
    columns = ("c2c_m", "c2c_sweep_m", "chamfer_m", "range_mean_m", "range_median_m", "within_0.10m", "return_f1")
    rows = [
        f'<tr><td class="n">{row["sim"]}</td><td class="n">{row["real"]}</td>'
        + "".join(f'<td class="n">{_value(row.get(column))}</td>' for column in columns)
        + "</tr>"
        for row in report.per_sweep
    ]
    head = '<th class="n">simulated</th><th class="n">real</th>'
    head += "".join(f'<th class="n">{column}</th>' for column in columns)
    return f"<h2>Sweep by sweep</h2>{_table(head, rows)}"


def _notes(report: Report) -> str:
    data_range = report.settings.get("range_max_m")
    lines = [note for note in report.notes if not note.startswith(WARNING)]
    if data_range is not None:
        lines.append(f"PSNR and SSIM take {data_range:g} m as their data range.")
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<h2>How this was measured</h2><ul class="notes">{items}</ul>' if items else ""


def _table(head: str, rows: Iterable[str]) -> str:
    body = "".join(rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _figure(png: bytes, caption: str) -> str:
    data = base64.b64encode(png).decode("ascii")
    return (
        f'<figure><img alt="{escape(caption)}" src="data:image/png;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )
