"""A report as one self-contained page."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

from resweep.evaluation.metrics.metrics import METRICS
from resweep.evaluation.report import charts, figures
from resweep.evaluation.report.caveats import WARNING
from resweep.evaluation.report.page_parts import (
    ARROW,
    BETTER,
    describe_spread,
    render_figure,
    render_frame,
    render_metric_rows,
    render_table,
    show,
)
from resweep.evaluation.report.placement_names import PLACEMENT_FIGURES, PLACEMENT_RETURNS, PLACEMENT_TITLE

if TYPE_CHECKING:
    from resweep.evaluation.compare.pair import Pair
    from resweep.evaluation.report.report import Report

_HEADLINES = (
    "range_median_m",
    "recovered_0.10m",
    "within_0.10m",
    "return_f1",
    "c2c_m",
    "c2c_sweep_m",
    "fscore_0.10m",
    "intensity_rmse",
    "log_likelihood",
)
# Titles of the headlines; the names of the metrics are below them.
_TITLES = {
    "range_median_m": "median range error",
    "recovered_0.10m": "true returns within 10 cm",
    "within_0.10m": "common returns within 10 cm",
    "return_f1": "returns and no-returns, F1",
    "c2c_m": "to the nearest recorded point",
    "c2c_sweep_m": "to the nearest of the sweep",
    "fscore_0.10m": "points within 10 cm, F-score",
    "intensity_rmse": "intensity error, RMS",
    "log_likelihood": "log-likelihood of a beam",
}
_BY_SWEEP = (
    "recovered_0.10m",
    "within_0.10m",
    "range_median_m",
    "range_mean_m",
    "return_f1",
    "c2c_sweep_m",
    "chamfer_m",
)


def render(report: Report) -> str:
    """The whole page: headlines, where the errors are, pictures, every metric, classes, sweeps, notes."""
    parts = (
        _render_warnings,
        _render_cards,
        _render_placements,
        _render_errors,
        _render_ranges,
        _render_returns,
        _render_worst,
        _render_metrics,
        _render_classes,
        _render_sweeps,
        _render_notes,
    )
    sections = [part(report) for part in parts]
    return render_frame(report.title(), "Simulated against real", str(report.settings.get("resweep", "")), sections)


def _render_warnings(report: Report) -> str:
    return "".join(f'<p class="warning"><b>Warning:</b> {escape(line)}</p>' for line in report.warnings)


def _render_cards(report: Report) -> str:
    cards = []
    for name in _HEADLINES:
        if report.metrics.get(name) is None:
            continue
        metric = METRICS[name]
        values = [row[name] for row in report.per_sweep if row.get(name) is not None]
        over = f'<span class="spread">{describe_spread(values)}</span>' if len(values) > 1 else ""
        cards.append(
            f'<div class="card" title="{escape(metric.definition)}"><b>{show(report.metrics[name])} '
            f"<small>{metric.unit} {ARROW[metric.better]}</small></b><em>{_TITLES[name]}</em>"
            f"<span>{name}</span>{over}</div>"
        )
    about = '<p class="sub">↑ higher is better, ↓ lower is better. Every figure is defined in the table below.</p>'
    return f'<div class="cards">{"".join(cards)}</div>{about}' if cards else ""


def _render_placements(report: Report) -> str:
    if not report.placements:
        return ""
    rows = []
    for row in report.placements:
        values = (row[kind][name] for kind in PLACEMENT_RETURNS for name in PLACEMENT_FIGURES)
        cells = "".join(f'<td class="n">{show(value)}</td>' for value in values)
        rows.append(f"<tr><td>{escape(row['placement'])}</td>{cells}</tr>")
    heads = [f"{kind}<br>{name}" for kind in PLACEMENT_RETURNS.values() for name in PLACEMENT_FIGURES.values()]
    head = "<th>sweep placed</th>" + "".join(f'<th class="n">{name}</th>' for name in heads)
    about = (
        '<p class="sub">All other figures are those of drawn returns, registered by pose: what simulating the recorded '
        "beams again gives.</p>"
    )
    title = PLACEMENT_TITLE[0].upper() + PLACEMENT_TITLE[1:]
    return f"<h2>{title}</h2>{about}{render_table(head, rows)}"


def _render_errors(report: Report) -> str:
    parts = []
    if report.range_errors:
        picture = figures.draw_range_errors(report.range_errors)
        parts.append(render_figure(picture, "Range errors of all beams that returned in both, over all sweeps."))
    if report.ground:
        cell = show(report.ground["cell_m"])
        caption = f"From above, in the world: the share of true returns that came back within 10 cm, by {cell} m cell."
        parts.append(render_figure(charts.draw_ground(report.ground), caption))
    by_sweep = figures.draw_sweeps(report.per_sweep)
    if by_sweep:
        parts.append(render_figure(by_sweep, "Figures of each pair of sweeps."))
    return f"<h2>Where the errors are</h2>{''.join(parts)}" if parts else ""


def _render_ranges(report: Report) -> str:
    if not report.per_range:
        return ""
    rows = []
    for row in report.per_range:
        far = "and more" if row["to_m"] is None else f"to {show(row['to_m'])}"
        values = (row[name] for name in ("beams", "recovered_0.10m", "range_mean_m", "return_recall", "surplus"))
        cells = "".join(f'<td class="n">{show(value)}</td>' for value in values)
        rows.append(f"<tr><td>{show(row['from_m'])} {far} m</td>{cells}</tr>")
    heads = ("true returns", "recovered_0.10m ↑", "range_mean_m ↓", "return_recall ↑", "surplus returns ↓")
    head = "<th>true range</th>" + "".join(f'<th class="n">{name}</th>' for name in heads)
    about = '<p class="sub">Surplus returns, which only the simulation has, count at their simulated range.</p>'
    return f"<h2>By range</h2>{about}{render_table(head, rows)}"


def _render_returns(report: Report) -> str:
    total = sum(report.returns.values())
    if not total:
        return ""

    def cell(name: str) -> str:
        count = report.returns[name]
        return f'<td class="n">{count:,} ({count / total:.1%})</td>'

    rows = [
        f"<tr><td>real returned</td>{cell('both')}{cell('missing')}</tr>",
        f"<tr><td>real did not</td>{cell('surplus')}{cell('neither')}</tr>",
    ]
    head = '<th>matched beams</th><th class="n">simulated returned</th><th class="n">simulated did not</th>'
    made = f"<h2>Returns and no-returns</h2>{render_table(head, rows)}"
    if report.calibration:
        caption = "Share of returns within 10 cm, by the confidence that they state; on the line it is calibrated."
        made += render_figure(charts.draw_calibration(report.calibration), caption)
    return made


def _render_worst(report: Report) -> str:
    if report.load_pair is None:
        return ""
    parts = []
    rows = report.settings.get("worst_rows", [])
    for place, row in enumerate(rows):
        facts = report.per_sweep[row]
        which = f"simulated sweep {facts['sim']} and real sweep {facts['real']}"
        if len(report.per_sweep) > 1:
            parts.append(f"<h3>{escape(which[0].upper() + which[1:])}</h3>")
        parts.append(_render_pictures(report.load_pair(row), which, whole=place == 0))
    title = "Worst sweeps, by c2c_sweep_m" if len(report.per_sweep) > 1 else "Pictures"
    return f"<h2>{title}</h2>{''.join(parts)}" if parts else ""


def _render_pictures(pair: Pair, which: str, whole: bool) -> str:
    """The pictures of a pair; those of the first are more."""
    parts = []
    if len(pair.sim.points) and len(pair.real.points):
        parts.append(render_figure(figures.draw_birds_eye(pair), f"From above: {which}."))
    parts.append(render_figure(figures.draw_range_images(pair), f"As the sensor sees: {which}."))
    more: tuple[tuple[Callable[[Pair], bytes | None], str], ...] = (
        (charts.draw_angle_range, "Returns by azimuth and range, of all lasers (as figure 6 of Deschaud 2012)"),
        (figures.draw_intensity, "Intensity"),
    )
    for draw, caption in more if whole else ():
        picture = draw(pair)
        if picture:
            parts.append(render_figure(picture, f"{caption}: {which}."))
    return "".join(parts)


def _render_metrics(report: Report) -> str:
    cells = {}
    several = len(report.per_sweep) > 1
    for name, value in report.metrics.items():
        metric = METRICS[name]
        values = [row[name] for row in report.per_sweep if row.get(name) is not None]
        over = f"{show(min(values))} – {show(max(values))}" if len(values) > 1 else ""
        cells[name] = (
            f'<td class="n">{show(value)}</td><td>{escape(metric.unit)}</td>'
            + (f'<td class="n">{over}</td>' if several else "")
            + f'<td class="n">{show(metric.perfect, "")}</td>'
            f'<td title="{BETTER[metric.better]}">{ARROW[metric.better]}</td>'
            f'<td class="what">{escape(metric.definition)}</td>'
        )
    head = (
        '<th>metric</th><th class="n">value</th><th>unit</th>'
        + ('<th class="n">over sweeps</th>' if several else "")
        + '<th class="n">perfect</th><th>better</th><th class="what">what it is</th>'
    )
    return (
        f"<h2>Metrics over all sweeps</h2>{render_table(head, render_metric_rows(report.metrics, cells, 6 + several))}"
    )


def _render_classes(report: Report) -> str:
    unlabelled = set(report.settings.get("unlabelled_labels", (0,)))
    if all(values["label"] in unlabelled for values in report.per_class.values()):
        return ""
    thin = set(report.settings.get("thin_labels", ()))
    columns = list(next(iter(report.per_class.values())))
    rows = []
    for name, values in report.per_class.items():
        kind = ' class="thin"' if values.get("label") in thin else ""
        cells = "".join(f'<td class="n">{show(values.get(column))}</td>' for column in columns)
        rows.append(f"<tr{kind}><td>{escape(name)}</td>{cells}</tr>")
    head = "<th>class</th>" + "".join(f'<th class="n">{escape(_format_name(column))}</th>' for column in columns)
    about = (
        '<p class="sub">c2c_m and c2c_sweep_m are between points of the same class; range_mean_m and return_recall are '
        "of the beams whose real return has the class.</p>"
    )
    title = report.class_title()
    return f"<h2>{escape(title[0].upper() + title[1:])}</h2>{about}{render_table(head, rows)}"


def _format_name(name: str) -> str:
    """A metric's name with the direction of better; other names as they are."""
    return f"{name} {ARROW[METRICS[name].better]}" if name in METRICS else name


def _render_sweeps(report: Report) -> str:
    if len(report.per_sweep) < 2:
        return ""
    rows = [
        f'<tr><td class="n">{row["sim"]}</td><td class="n">{row["real"]}</td>'
        + "".join(f'<td class="n">{show(row.get(column))}</td>' for column in _BY_SWEEP)
        + "</tr>"
        for row in report.per_sweep
    ]
    head = '<th class="n">simulated</th><th class="n">real</th>'
    head += "".join(f'<th class="n">{_format_name(column)}</th>' for column in _BY_SWEEP)
    return f"<h2>Sweep by sweep</h2>{render_table(head, rows)}"


def _render_notes(report: Report) -> str:
    data_range = report.settings.get("range_max_m")
    lines = [note for note in report.notes if not note.startswith(WARNING)]
    if data_range is not None:
        lines.append(f"PSNR and SSIM take {data_range:g} m as their data range.")
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<h2>How this was measured</h2><ul class="notes">{items}</ul>' if items else ""
