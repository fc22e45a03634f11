"""A report: every metric with its unit and perfect value, to print, save and load."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resweep.errors import ResweepError, nearest_names, printable
from resweep.evaluation.metrics.metrics import METRICS
from resweep.evaluation.report.caveats import WARNING
from resweep.evaluation.report.placement_names import PLACEMENT_FIGURES, PLACEMENT_RETURNS, PLACEMENT_TITLE
from resweep.evaluation.report.saved_report import FORMAT, VERSION, read_record
from resweep.evaluation.report.saving import save_as
from resweep.evaluation.report.values import format_value
from resweep.files.strict_json import format_json

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

    from resweep.evaluation.compare.pair import Pair

_FIELDS = ("metrics", "per_sweep", "per_class", "range_errors", "notes", "settings")
_BREAKDOWNS = ("per_range", "returns", "ground", "calibration", "placements")  # reports of older versions have none
_WIDTH = 118
_SHOWN = 4  # metrics in the one line of a report


@dataclass(frozen=True)
class Report:
    """The result of `evaluate`: ``report["c2c_m"]``, ``print(report)``, ``report.save("report.html")``.

    ``metrics`` maps names of `METRICS` to values over all sweeps, None where there was nothing to compare.
    ``per_sweep`` has the same for each pair, with the indices ``sim`` and ``real``; ``per_class`` maps class
    names to their counts and distances; ``settings["labels"]`` is the vocabulary of the names. ``per_range`` has
    figures by true range, ``returns`` the matched beams by what returned, ``ground`` where in the world ranges are
    right, ``calibration`` how often returns are right by the confidence that they state (`Breakdown`). ``range_errors``
    holds curves for drawing, ``notes`` how it was measured.

    ``placements`` has ranges of held-out sweeps by where the sweep is placed and what stands for its return: a row at
    the recorded pose, one registered by pose, one registered with motion, each with figures of ``most_likely`` and
    ``drawn`` returns. All other figures of such a report are those of drawn returns, registered by pose.

    ``load_pair(row)`` compares the sweeps of a row again, for the pictures of the HTML; a report loaded from JSON has
    none.
    """

    metrics: dict[str, float | None]
    per_sweep: list[dict[str, Any]]
    per_class: dict[str, dict[str, float | None]]
    range_errors: dict[str, list[float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    per_range: list[dict[str, float | None]] = field(default_factory=list)
    returns: dict[str, int] = field(default_factory=dict)
    ground: dict[str, Any] = field(default_factory=dict)
    calibration: list[dict[str, float]] = field(default_factory=list)
    placements: list[dict[str, Any]] = field(default_factory=list)
    load_pair: Callable[[int], Pair] | None = field(default=None, compare=False, repr=False)

    def __getitem__(self, name: str) -> float | None:
        if name not in self.metrics:
            raise ResweepError(f"report: no metric '{name}'; {nearest_names(name, self.metrics)}")
        return self.metrics[name]

    def to_json(self) -> str:
        """One JSON object: metrics, units, per sweep, per class, notes and settings; None is null."""
        record = {
            "format": FORMAT,
            "version": VERSION,
            **{name: getattr(self, name) for name in _FIELDS + _BREAKDOWNS},
        }
        record["units"] = {name: METRICS[name].unit for name in self.metrics}
        return format_json(record)

    def save(self, path: str | Path) -> Path:
        """Write the report to ``path``: one self-contained ``.html`` file, or ``.json`` for `Report.load`."""

        def page() -> str:
            from resweep.evaluation.report.report_page import render

            return render(self)

        return save_as(path, "report", page, self.to_json)

    @classmethod
    def load(cls, path: str | Path) -> Report:
        """The report in a ``.json`` file that `save` wrote, checked as `SavedReport`; InputError for anything else."""
        record = read_record(Path(path))
        return cls(**{name: record[name] for name in _FIELDS + _BREAKDOWNS if name in record})

    def __repr__(self) -> str:
        """One line; ``print`` gives the table."""
        known = [f"{name} {format_value(value)}" for name, value in self.metrics.items() if value is not None]
        return f"Report({self.title()}: {', '.join(known[:_SHOWN])}{', ...' if len(known) > _SHOWN else ''})"

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=_WIDTH, color_system=None, force_terminal=False, force_jupyter=False)
        with console.capture() as captured:
            console.print(self)
        return captured.get().rstrip("\n")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        from rich.text import Text

        yield self.table()
        if self.placements:
            yield self.placement_table()
        for note in self.notes:
            style = "bold yellow" if note.startswith(WARNING) else "dim"
            yield Text(printable(note), style=style)

    @property
    def warnings(self) -> list[str]:
        """The notes that a reader must not miss: what makes figures mean something else than their names say."""
        return [note.removeprefix(WARNING) for note in self.notes if note.startswith(WARNING)]

    def title(self) -> str:
        """What was compared with what."""
        count = self.settings.get("sweeps", len(self.per_sweep))
        pairs = "1 sweep" if count == 1 else f"{count} sweeps"
        noise = self.settings.get("noise", "unknown")
        said = "" if noise == "unknown" else f"; noise {noise}"
        return f"{self.settings.get('sim', 'simulated')} against {self.settings.get('real', 'real')}, {pairs}{said}"

    def class_title(self) -> str:
        """The heading of the classes: whose they are."""
        vocabulary = self.settings.get("labels_title") or self.settings.get("labels")
        return f"by class ({vocabulary})" if vocabulary else "by class"

    def table(self) -> RenderableType:
        """The metrics as a table for the terminal."""
        from rich.table import Table
        from rich.text import Text

        table = Table(title=Text(printable(self.title())), title_justify="left", pad_edge=False)
        table.add_column("metric", style="bold", no_wrap=True)
        table.add_column("value", justify="right", no_wrap=True)
        table.add_column("unit", no_wrap=True)
        table.add_column("perfect", justify="right", no_wrap=True)
        table.add_column("what it is", style="dim", ratio=1)
        group = ""
        for name, value in self.metrics.items():
            metric = METRICS[name]
            if metric.group != group:
                table.add_section()
            group = metric.group
            table.add_row(name, format_value(value), metric.unit, format_value(metric.perfect, ""), metric.definition)
        return table

    def placement_table(self) -> RenderableType:
        """Range figures by placement and kind of return as a table for the terminal."""
        from rich.table import Table

        table = Table(title=PLACEMENT_TITLE, title_justify="left", pad_edge=False)
        table.add_column("sweep placed", style="bold", no_wrap=True)
        for kind in PLACEMENT_RETURNS.values():
            for figure in PLACEMENT_FIGURES.values():
                table.add_column(f"{kind}\n{figure}", justify="right", no_wrap=True)
        for row in self.placements:
            cells = [format_value(row[kind][name]) for kind in PLACEMENT_RETURNS for name in PLACEMENT_FIGURES]
            table.add_row(row["placement"], *cells)
        return table

    def class_table(self) -> RenderableType:
        """The classes as a table for the terminal."""
        from rich.table import Table
        from rich.text import Text

        table = Table(title=Text(printable(self.class_title())), title_justify="left", pad_edge=False)
        table.add_column("class", style="bold", overflow="fold")
        columns = list(next(iter(self.per_class.values()), {}))
        for column in columns:  # narrow heads, so that values are not cut on a narrow terminal
            table.add_column(column.replace("_", "\n"), justify="right", overflow="fold")
        for name, values in self.per_class.items():
            table.add_row(Text(printable(name)), *(format_value(values.get(column)) for column in columns))
        return table
