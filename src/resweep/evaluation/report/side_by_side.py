"""Reports of several worlds, sensors or settings, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from resweep.errors import ResweepError, printable
from resweep.evaluation.metrics.metrics import METRICS
from resweep.evaluation.report.report import Report
from resweep.evaluation.report.saving import save_as
from resweep.evaluation.report.values import format_value
from resweep.files.strict_json import format_json

if TYPE_CHECKING:
    from rich.console import RenderableType

_SAME = 1e-9  # relative difference below which two values are equally good


@dataclass(frozen=True)
class SideBySide:
    """Reports by name; `best` gives those that are best in a metric."""

    names: tuple[str, ...]
    reports: tuple[Report, ...]

    @classmethod
    def load(cls, paths: Sequence[str | Path]) -> SideBySide:
        """The reports in JSON files, named by the shortest ends of their paths that differ."""
        if len(paths) < 2:
            raise ResweepError(f"compare: {len(paths)} report given; give two or more, as .json files")
        places = [Path(path) for path in paths]
        names = _make_distinct_names(places)
        if len(set(names)) < len(names):
            twice = next(str(path) for at, path in enumerate(places) if names[at] in names[:at])
            raise ResweepError(f"compare: '{twice}' is given twice; give different reports")
        return cls(tuple(names), tuple(Report.load(path) for path in places))

    @property
    def metrics(self) -> list[str]:
        """The metrics that at least one report knows, in their usual order."""
        return [name for name in METRICS if any(value is not None for value in self.values(name))]

    def values(self, metric: str) -> list[float | None]:
        """A metric of each report, None where unknown."""
        return [report.metrics.get(metric) for report in self.reports]

    def best(self, metric: str) -> set[int]:
        """The numbers of the reports that are best in a metric; none where all are equal or only one knows it."""
        known = {at: value for at, value in enumerate(self.values(metric)) if value is not None}
        if len(known) < 2:
            return set()
        better = METRICS[metric].better
        cost = {at: -v if better == "higher" else abs(v) if better == "zero" else v for at, v in known.items()}
        best_cost = min(cost.values())
        best = {at for at, value in cost.items() if value - best_cost <= _SAME * max(abs(best_cost), abs(value))}
        return set() if len(best) == len(known) else best

    def warnings(self) -> list[str]:
        """What makes figures of different reports mean different things."""
        real = {report.settings.get("real") for report in self.reports}
        sweeps = {tuple(row["real"] for row in report.per_sweep) for report in self.reports}
        lines = []
        if len(real) > 1:
            lines.append(f"the reports compare with different recordings ({', '.join(sorted(map(str, real)))}).")
        elif len(sweeps) > 1:
            lines.append("the reports compare with different sweeps of the recording.")
        for name, report in zip(self.names, self.reports, strict=True):
            lines.extend(f"{name}: {line}" for line in report.warnings)
        return lines

    def to_json(self) -> str:
        """One JSON object: by metric and report the values, and the names of the best."""
        record = {
            "reports": list(self.names),
            "metrics": {name: dict(zip(self.names, self.values(name), strict=True)) for name in self.metrics},
            "best": {name: sorted(self.names[at] for at in self.best(name)) for name in self.metrics},
            "warnings": self.warnings(),
        }
        return format_json(record)

    def save(self, path: str | Path) -> Path:
        """Write one self-contained ``.html`` file, or ``.json``."""

        def page() -> str:
            from resweep.evaluation.report.comparison_page import render

            return render(self)

        return save_as(path, "comparison", page, self.to_json)

    def table(self) -> RenderableType:
        """The metrics as a table for the terminal, the best of a row in bold."""
        from rich.table import Table
        from rich.text import Text

        made = Table(pad_edge=False)
        made.add_column("metric", no_wrap=True)
        for name in self.names:
            made.add_column(Text(printable(name)), justify="right", no_wrap=True)
        made.add_column("unit")
        made.add_column("better")
        group = ""
        for name in self.metrics:
            metric, best = METRICS[name], self.best(name)
            if metric.group != group:
                made.add_section()
            group = metric.group
            values = [
                Text(format_value(value) + (" *" if at in best else "  "), style="bold" if at in best else "")
                for at, value in enumerate(self.values(name))
            ]
            made.add_row(name, *values, metric.unit, metric.better)
        return made


def _make_distinct_names(paths: Sequence[Path]) -> list[str]:
    """File names without suffix, with as many folders before them as it takes to tell them apart."""
    plain = [path.absolute().with_suffix("") for path in paths]
    longest = max(len(path.parts) for path in plain)
    for count in range(1, longest + 1):
        names = ["/".join(path.parts[-count:]) for path in plain]
        if len(set(names)) == len(names):
            break
    return names
