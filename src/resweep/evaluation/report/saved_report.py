"""A report as it is saved: the model that a file is checked against, once, when it is read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from resweep.errors import InputError, nearest_names
from resweep.evaluation.metrics.metrics import METRICS
from resweep.saved_record import SavedRecord, check_record, read_saved

FORMAT, VERSION = "resweep-report", 1
_LARGEST = 1e15  # of any figure: metres to the sun are 1.5e11, and larger ones fit no table
_ROUNDING = 1e-6  # by which a share may pass its end
_MAX_TEXT = 20_000  # characters of a name or a note
_MAX_CELLS = 50_000_000  # of the ground as a picture

Text = Annotated[str, Field(max_length=_MAX_TEXT)]
Figure = Annotated[float, Field(ge=-_LARGEST, le=_LARGEST)]
Size = Annotated[float, Field(ge=0.0, le=_LARGEST)]
Count = Annotated[int, Field(ge=0, le=int(_LARGEST))]
Ratio = Annotated[float, Field(ge=0.0, le=1.0 + _ROUNDING)]


def _check_metrics(values: dict[str, Any]) -> dict[str, Any]:
    for name, value in values.items():
        if name not in METRICS:
            raise ValueError(f"metric '{name:.80}' is unknown; {nearest_names(name, METRICS)}")
        low, high = _find_bounds(name)
        if value is not None and not low - _ROUNDING <= value <= high + _ROUNDING:
            raise ValueError(
                f"{name} is {value:g}, expected {f'{low:g} to {high:g}' if high == 1.0 else 'no less than 0'}"
            )
    return values


def _find_bounds(name: str) -> tuple[float, float]:
    """What a metric can be: shares end at 1, errors begin at 0."""
    metric = METRICS[name]
    if metric.better == "higher" and metric.unit == "" and metric.perfect == 1.0:
        return (-1.0 if name.endswith(("ssim", "corr")) else 0.0), 1.0
    return (0.0 if metric.better == "lower" else -_LARGEST), _LARGEST


def _check_units(units: dict[str, str]) -> dict[str, str]:
    for name, unit in units.items():
        if name not in METRICS or unit != METRICS[name].unit:
            raise ValueError(f"{name:.80} is in '{unit:.20}', which is not its unit")
    return units


Metrics = Annotated[dict[str, Figure | None], AfterValidator(_check_metrics)]


class _ReportSettings(SavedRecord):
    """What was compared, and how."""

    model_config = ConfigDict(extra="ignore")

    resweep: Text = ""
    sim: Text = ""
    real: Text = ""
    sweeps: Count = 0
    range_max_m: Annotated[float, Field(gt=0.0, le=_LARGEST)] | None = None
    labels: Text = ""
    labels_title: Text = ""
    unlabelled_labels: list[int] = Field(default_factory=list)
    thin_labels: list[int] = Field(default_factory=list)
    worst_rows: list[Count] = Field(default_factory=list)
    beams_left_out: Count = 0
    intensity_scales: list[Size | None] = Field(default_factory=list)
    noise: Text = ""


class _RangeBin(SavedRecord):
    from_m: Size
    to_m: Size | None
    beams: Count
    range_mean_m: Size | None
    recovered: Ratio | None = Field(alias="recovered_0.10m")
    return_recall: Ratio | None
    surplus: Count


class _ReturnCounts(SavedRecord):
    both: Count
    missing: Count
    surplus: Count
    neither: Count


class _ErrorCurves(SavedRecord):
    histogram_edges_m: list[Figure]
    histogram_counts: list[Size]
    cdf_at_m: list[Annotated[float, Field(gt=0.0, le=_LARGEST)]]
    cdf_share: list[Ratio]

    @model_validator(mode="after")
    def _fits(self) -> _ErrorCurves:
        _check_rising("histogram_edges_m", self.histogram_edges_m)
        _check_rising("cdf_at_m", self.cdf_at_m)
        if len(self.histogram_edges_m) != len(self.histogram_counts) + 1:
            raise ValueError("histogram_counts: expected one for each two neighbours of histogram_edges_m")
        if len(self.cdf_at_m) != len(self.cdf_share):
            raise ValueError("cdf_share: expected one for each of cdf_at_m")
        if not sum(self.histogram_counts) > 0:
            raise ValueError("histogram_counts: expected some beams")
        return self


class _GroundCells(SavedRecord):
    cell_m: Annotated[float, Field(gt=1e-3, le=_LARGEST)]
    x_m: list[Figure]
    y_m: list[Figure]
    beams: list[Annotated[int, Field(gt=0, le=int(_LARGEST))]]
    right: list[Count]

    @model_validator(mode="after")
    def _fits(self) -> _GroundCells:
        lengths = {len(values) for values in (self.x_m, self.y_m, self.beams, self.right)}
        if len(lengths) > 1 or not self.x_m:
            raise ValueError("x_m, y_m, beams and right: expected lists of one length")
        sides = ((max(values) - min(values)) / self.cell_m + 1 for values in (self.x_m, self.y_m))
        if next(sides) * next(sides) > _MAX_CELLS:
            raise ValueError(f"x_m and y_m: span more than {_MAX_CELLS:,} cells of cell_m")
        return self


class _ConfidenceBin(SavedRecord):
    returns: Annotated[int, Field(gt=0, le=int(_LARGEST))]
    confidence: Ratio
    right: Ratio


class _PlacementRow(SavedRecord):
    placement: Text
    drawn: Metrics
    most_likely: Metrics

    @model_validator(mode="after")
    def _fits(self) -> _PlacementRow:
        for name in ("range_median_m", "within_0.10m"):
            if not (name in self.drawn and name in self.most_likely):
                raise ValueError(f"drawn and most_likely: {name} is missing")
        return self


class _SweepRow(SavedRecord):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Figure | None] = Field(init=False)

    sim: Count
    real: Count
    time_s: Figure = 0.0

    @model_validator(mode="after")
    def _fits(self) -> _SweepRow:
        _check_metrics(self.__pydantic_extra__)
        return self


class _ClassRow(SavedRecord):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Figure | None] = Field(init=False)

    label: int

    @model_validator(mode="after")
    def _fits(self) -> _ClassRow:
        _check_metrics({name: value for name, value in self.__pydantic_extra__.items() if name in METRICS})
        return self


def _take_nothing(value: Any) -> Any:
    """None for an empty object, which says that there is none of a figure."""
    if value is None:
        raise ValueError("expected an object, got null")
    return None if value == {} else value


Maybe = BeforeValidator(_take_nothing)


class SavedReport(SavedRecord):
    """What `Report.save` writes as JSON. Reports of older versions lack the last five."""

    format: Literal["resweep-report"]
    version: Literal[1]
    metrics: Metrics
    per_sweep: list[_SweepRow]
    per_class: dict[Text, _ClassRow]
    range_errors: Annotated[_ErrorCurves | None, Maybe]
    notes: list[Text]
    settings: _ReportSettings
    units: Annotated[dict[Text, Text], AfterValidator(_check_units)] = Field(default_factory=dict)
    per_range: list[_RangeBin] = Field(default_factory=list)
    returns: Annotated[_ReturnCounts | None, Maybe] = None
    ground: Annotated[_GroundCells | None, Maybe] = None
    calibration: list[_ConfidenceBin] = Field(default_factory=list)
    placements: list[_PlacementRow] = Field(default_factory=list)

    @model_validator(mode="after")
    def _fits(self) -> SavedReport:
        if any(row >= len(self.per_sweep) for row in self.settings.worst_rows):
            raise ValueError("settings.worst_rows: names rows that per_sweep does not have")
        return self


def read_record(path: Path) -> dict[str, Any]:
    """The checked contents of a report's file; one error of one line for anything else."""
    record = read_saved(path, "report", FORMAT, VERSION, "Report.save")
    missing = [name for name, field in SavedReport.model_fields.items() if field.is_required() and name not in record]
    if missing:
        raise InputError(f"{path}: damaged, it lacks {', '.join(missing)}; evaluate again")
    check_record(record, SavedReport, str(path), "evaluate again")
    return record


def _check_rising(name: str, values: Sequence[float]) -> None:
    if len(values) < 2 or any(second <= first for first, second in pairwise(values)):
        raise ValueError(f"{name}: expected two or more values, each above the one before")
