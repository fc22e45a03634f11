"""What all pages share: the style, tables, figures and the frame of a page."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Sequence
from html import escape

from resweep.evaluation.metrics.metrics import METRICS
from resweep.evaluation.report.values import format_value

# The two palettes follow the reader's system; print is always light.
_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1d2733; --faint: #5b6878; --line: #dde3ea; --soft: #f4f6f9;
  --accent: #0072b2; --warn: #b25d00; --warn-soft: #fff4e0; }
@media (prefers-color-scheme: dark) { :root { --paper: #12171d; --ink: #e4eaf1; --faint: #9aa8b8; --line: #2b3541;
  --soft: #1a2129; --accent: #56b4e9; --warn: #e69f00; --warn-soft: #2b2312; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 2rem 1.2rem 4rem; color: var(--ink); background: var(--paper);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.55rem; margin: 0 0 .2rem; }
h2 { font-size: 1.12rem; margin: 2.4rem 0 .7rem; border-bottom: 2px solid var(--accent); padding-bottom: .2rem; }
h3 { font-size: 1rem; margin: 1.6rem 0 .3rem; }
.sub, .notes, figcaption { color: var(--faint); }
.sub { margin: 0 0 1.2rem; overflow-wrap: anywhere; }
.cards { margin-bottom: .5rem; display: grid; grid-template-columns: repeat(auto-fit, minmax(158px, 1fr)); gap: .7rem; }
.card { background: var(--soft); border: 1px solid var(--line); border-radius: 8px; padding: .7rem .9rem; }
.card b { display: block; font-size: 1.45rem; font-variant-numeric: tabular-nums; }
.card b small { font-size: .85rem; font-weight: 500; color: var(--faint); }
.card em { display: block; font-style: normal; }
.card span { display: block; font: 12.5px/1.5 ui-monospace, Menlo, Consolas, monospace; color: var(--faint); }
.card .spread { font: 12.5px/1.4 system-ui, sans-serif; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { padding: .32rem .7rem; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; color: var(--faint); white-space: nowrap; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.k { font: 13px/1.6 ui-monospace, Menlo, Consolas, monospace; white-space: nowrap; }
td.best { font-weight: 700; color: var(--accent); }
td.best::after { content: " ●"; }
tr.group th { background: var(--soft); color: var(--ink); padding-top: .5rem; }
tr.thin td:first-child::after { content: " thin"; color: var(--accent); font-size: .78rem; }
.row { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 380px), 1fr)); gap: 1.2rem; }
figure { margin: .8rem 0; } img { max-width: 100%; height: auto; display: block; }
figcaption { font-size: .88rem; }
.notes { padding-left: 1.2rem; }
.warning { border-left: 4px solid var(--warn); background: var(--warn-soft); padding: .6rem .9rem; margin: 0 0 1rem; }
@media (max-width: 640px) { body { padding: 1.2rem .8rem 3rem; } th, td { padding: .3rem .4rem; }
  td.what, th.what { display: none; } figure.wide { overflow-x: auto; } figure.wide img { max-width: none;
  height: 290px; } }
@page { margin: 14mm 12mm; }
@media print { :root { --paper: #fff; --ink: #111; --faint: #555; --line: #ccc; --soft: #f6f6f6; --accent: #0072b2; }
  body { max-width: none; padding: 0; font-size: 10pt; } figure, tr, .card { break-inside: avoid; }
  h2, h3, tr.group { break-after: avoid; } .scroll { overflow: visible; } figure img { max-height: 150mm; }
  table { font-size: 8.2pt; } th { white-space: normal; } th, td { padding: .15rem .4rem; } td.k { font-size: 7.6pt; }
  td.what { width: 48%; } .cards { grid-template-columns: repeat(3, 1fr); } }
"""
BETTER = {"lower": "lower is better", "higher": "higher is better", "zero": "nearer to 0 is better"}
ARROW = {"lower": "↓", "higher": "↑", "zero": "→ 0"}


def render_frame(title: str, heading: str, version: str, sections: Iterable[str]) -> str:
    """A whole page: ``heading`` above ``title``, and the sections that are not empty."""
    body = "\n".join(filter(None, sections))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body>\n<h1>{escape(heading)}</h1>\n"
        f'<p class="sub">{escape(title)} · Resweep {escape(version)}</p>\n{body}\n</body></html>\n'
    )


def show(value: float | None, missing: str = "–") -> str:
    """A value for people, escaped."""
    return escape(format_value(value, missing))


def render_table(head: str, rows: Iterable[str]) -> str:
    """A table that scrolls sideways where the page is narrow."""
    body = "".join(rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def render_figure(png: bytes, caption: str) -> str:
    """A picture within the page, and what it shows."""
    data = base64.b64encode(png).decode("ascii")
    width, height = struct.unpack(">II", png[16:24])  # of the head of a PNG
    wide = ' class="wide"' if width > 1.8 * height else ""
    return (
        f'<figure{wide}><img alt="{escape(caption)}" src="data:image/png;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def describe_spread(values: Sequence[float]) -> str:
    """The least and the largest of a figure over sweeps, as text."""
    return f"{show(min(values))} to {show(max(values))} over sweeps"


def render_metric_rows(names: Iterable[str], cells: dict[str, str], columns: int) -> list[str]:
    """Rows of a table of metrics by group: ``cells[name]`` stand behind the name of a metric."""
    rows, group = [], ""
    for name in names:
        metric = METRICS[name]
        if metric.group != group:
            group = metric.group
            rows.append(f'<tr class="group"><th colspan="{columns}">{escape(group)}</th></tr>')
        rows.append(f'<tr><td class="k">{name}</td>{cells[name]}</tr>')
    return rows
