"""How a sensor scatters, as its recording shows it: intensities, ranges, and beams that come back empty.

Tables, estimated while a world is built (`resweep.calibrate.scatter`) and kept in its calibration. Simulation draws
from them (`resweep.simulate.world_noise`).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from resweep import portable
from resweep.config import NotNegative, Share, Spec
from resweep.errors import SettingsError
from resweep.normal import find_share
from resweep.pose import Array
from resweep.quantities import MAX_COUNT, Number

SURFACE, VOLUME = -1, -2  # in place of a label: primitives whose label has no table of its own
NORMALS = np.linspace(-3.0, 3.0, 25)  # at which distributions are kept: what lies beyond is as rare as it is uncertain
_Factor = Annotated[float, Field(ge=0.0, le=100.0)]
_Shift = Annotated[float, Field(ge=-10.0, le=10.0)]
_Kind = Annotated[int, Field(ge=-2, lt=2**24)]
_Table = Annotated[int, Field(ge=0, le=MAX_COUNT)]
_Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
_Sigma = Annotated[float, Field(ge=0.0, le=1.0)]
_Correlation = Annotated[float, Field(ge=-1.0, le=1.0)]
_WIDTH_ERROR = 0.96  # of one normal number, over sigma: √(p (1 - 2 p) / 2) / φ(1), where p lies beyond 1 sigma


class Texture(Spec):
    """The part of the scatter that belongs to surfaces, at one scale."""

    size_m: Annotated[float, Field(gt=0.0, le=100.0)]
    """Side of the cells within which it is the same, metres."""
    share: Share
    """Share of the variance of the scatter."""


class IntensityTable(Spec):
    """The intensities that were recorded where others were expected."""

    expected: tuple[NotNegative, ...]
    """Expected intensities (k), without the gains of lasers, ascending."""
    quantiles: tuple[tuple[NotNegative, ...], ...]
    """Quantiles (k, q) of the recorded ones where exactly that was expected, without gains."""
    even: bool = True
    """Whether they lie at evenly spaced shares from 0 to 1; else at evenly spaced normal numbers from -3 to 3."""

    @model_validator(mode="after")
    def _check(self) -> IntensityTable:
        widths = {len(row) for row in self.quantiles}
        if not self.expected or len(self.quantiles) != len(self.expected) or len(widths) != 1 or min(widths) < 2:
            raise SettingsError("quantiles", "expected a row of two or more for each expected intensity; build again")
        return self

    def find_curves(self) -> Array:
        """Recorded intensities (k, `NORMALS`) at each of `NORMALS`."""
        rows = np.array(self.quantiles)
        if self.even:
            place, levels = np.linspace(0.0, 1.0, rows.shape[1]), find_share(NORMALS)
        else:
            place, levels = np.linspace(NORMALS[0], NORMALS[-1], rows.shape[1]), NORMALS
        return np.stack([np.interp(levels, place, row) for row in rows])


class IntensityScatter(Spec):
    """How intensities scatter about those that reflectance, incidence and gain predict: by kind, range and laser.

    A kind is a label with enough returns; the last two are all other surfaces and all other volumes. Where a return
    lies in its table's distribution is a normal number: that of a laser is shifted, and spread, by kind and range.
    """

    kinds: tuple[_Kind, ...]
    """Labels (l) with tables of their own, then `SURFACE` and `VOLUME`."""
    range_edges_m: tuple[NotNegative, ...]
    """Edges (r) of the bins of range, metres."""
    tables: tuple[IntensityTable, ...]
    """The tables, of one kind each, at one range or all."""
    table_of: tuple[tuple[_Table, ...], ...]
    """The number (l + 2, r + 1) of the table of each kind and range."""
    response: tuple[tuple[_Factor, ...], ...] = ()
    """What lasers (k) report at each range (k, r + 1), over their gain."""
    shift: tuple[tuple[tuple[_Shift, ...], ...], ...] = ()
    """Mean (l + 2, k, r + 1) of the normal numbers of a laser."""
    spread: tuple[tuple[tuple[_Factor, ...], ...], ...] = ()
    """Their spread (l + 2, k, r + 1)."""
    independent: tuple[Share, ...] = ()
    """Spread (l + 2) of the part of the normal numbers that is independent from beam to beam, which simulation draws.

    The rest is alike along rings: what a laser reports there in one sweep. Drawn anew, it would be elsewhere.
    """
    next_weight: Annotated[float, Field(gt=-1.0, lt=1.0)] = 0.0
    """Weight of a beam's own number in the next one of its laser: below 0 a strong return makes the next one weaker."""
    step: NotNegative = 0.0
    """Step in which the sensor counts; 0 if it does not."""
    ceiling: NotNegative = 0.0
    """The largest intensity that was recorded; 0 if none is known."""
    returns: tuple[tuple[_Count, ...], ...] = ()
    """How many returns (l + 2, r + 1) of each kind and range there were; empty if unknown."""
    effective_returns: tuple[tuple[_Count, ...], ...] = ()
    """As how many independent ones (l + 2, r + 1) they count: those of one place are alike."""

    @model_validator(mode="after")
    def _check(self) -> IntensityScatter:
        if self.kinds[-2:] != (SURFACE, VOLUME):
            raise SettingsError("kinds", "expected all other surfaces and volumes at the end; build again")
        kinds, ranges, lasers = len(self.kinds), len(self.range_edges_m) + 1, len(self.response)
        if _find_shape((self.table_of,)) != (1, kinds, ranges) or max(map(max, self.table_of)) >= len(self.tables):
            raise SettingsError("table_of", f"expected {kinds} × {ranges} numbers of tables; build again")
        if lasers and _find_shape((self.response,)) != (1, lasers, ranges):
            raise SettingsError("response", f"expected {lasers} × {ranges} values; build again")
        if self.independent and len(self.independent) != kinds:
            raise SettingsError("independent", f"expected {kinds} values; build again")
        for name, values in (("shift", self.shift), ("spread", self.spread)):
            if lasers and _find_shape(values) != (kinds, lasers, ranges):
                raise SettingsError(name, f"expected {kinds} × {lasers} × {ranges} values; build again")
        for name, counts in (("returns", self.returns), ("effective_returns", self.effective_returns)):
            if counts and (len(counts) != kinds or {len(row) for row in counts} != {ranges}):
                raise SettingsError(name, f"expected {kinds} × {ranges} numbers; build again")
        return self

    def find_width_errors(self) -> Array:
        """The standard error (l + 2, r + 1) of the width of each kind's distribution at each range, as a share of it.

        It is that of half the distance between the quantiles of a sixth and five sixths, of a normal distribution; NaN
        where nothing was recorded or no numbers are known.
        """
        if not self.effective_returns:
            return np.full((len(self.kinds), len(self.range_edges_m) + 1), np.nan)
        count = np.array(self.effective_returns, np.float64)
        return np.where(count > 0, _WIDTH_ERROR / np.sqrt(np.maximum(count, 1.0)), np.nan)

    def stack_tables(self) -> tuple[Array, Array, Array]:
        """The last knot (t,) of each table, its knots (t, k), and what they hold (t, k, `NORMALS`).

        Tables of fewer knots than the longest repeat their last one.
        """
        last = np.array([len(table.expected) - 1 for table in self.tables], np.int32)
        knots = np.zeros((len(last), int(last.max()) + 1))
        curves = np.zeros((*knots.shape, len(NORMALS)))
        for own, rows, table in zip(knots, curves, self.tables, strict=True):
            count = len(table.expected)
            own[:count], own[count:] = table.expected, table.expected[-1]
            rows[:count] = table.find_curves()
            rows[count:] = rows[count - 1]
        return last, knots, curves

    def find_kinds(self, label: Array, surface: Array) -> Array:
        """The number (n,) of the kind of primitives with a ``label`` (n,), by whether each is a ``surface`` (n,)."""
        count = len(self.kinds)
        found: Array = np.where(surface, count - 2, count - 1)
        for number, kind in enumerate(self.kinds[:-2]):
            found[label == kind] = number
        return found


class RangeNoise(Spec):
    """Sigma of the range noise of surfaces, by bins of range and of incidence.

    Of volumes none is known: where in them a beam ends is drawn anyway. Ranges are rounded to ``step_m`` (0: not
    rounded).
    """

    range_edges_m: tuple[Number, ...]
    """Edges (r) of the bins of range, metres."""
    incidence_edges_deg: tuple[Number, ...]
    """Edges (i) of the bins of incidence, degrees from the normal."""
    sigma_m: tuple[tuple[_Sigma, ...], ...]
    """Sigma (r + 1, i + 1), metres."""
    step_m: _Sigma = 0.0
    """Step that ranges are rounded to, metres."""
    error_m: tuple[tuple[_Sigma, ...], ...] = ()
    """Standard error (r + 1, i + 1) of each sigma, metres; empty if unknown."""

    @model_validator(mode="after")
    def _check(self) -> RangeNoise:
        columns = {len(row) for row in self.sigma_m}
        if len(self.sigma_m) != len(self.range_edges_m) + 1 or columns != {len(self.incidence_edges_deg) + 1}:
            raise SettingsError(
                "sigma_m", "expected a value for each bin of range and incidence; learn the model again"
            )
        if self.error_m and [len(row) for row in self.error_m] != [len(row) for row in self.sigma_m]:
            raise SettingsError("error_m", "expected a value for each sigma; learn the model again")
        return self

    def find_sigma(self, range_m: Array, incidence_deg: Array, surface: Array) -> Array:
        """Sigma (n,) of ranges (n,) at incidences (n,), metres; 0 where a volume was hit."""
        row = find_bins(range_m, self.range_edges_m)
        column = find_bins(incidence_deg, self.incidence_edges_deg)
        return np.where(surface, np.array(self.sigma_m)[row, column], 0.0)


class DropTable(Spec):
    """How often beams come back empty from a surface that the world holds, beyond its blind sectors."""

    range_edges_m: tuple[Number, ...]
    """Edges (r) of the bins of range, metres."""
    incidence_edges_deg: tuple[Number, ...]
    """Edges (i) of the bins of incidence, degrees from the normal."""
    intensity_edges: tuple[Number, ...]
    """Edges (j) of the bins of expected intensity."""
    probability: tuple[tuple[tuple[Share, ...], ...], ...]
    """Chance (r + 1, i + 1, j + 1) that a beam is lost."""
    error: tuple[tuple[tuple[Share, ...], ...], ...] = ()
    """Standard error (r + 1, i + 1, j + 1) of each chance; empty if unknown."""

    @model_validator(mode="after")
    def _check(self) -> DropTable:
        sizes = tuple(len(edges) + 1 for edges in (self.range_edges_m, self.incidence_edges_deg, self.intensity_edges))
        if _find_shape(self.probability) != sizes:
            raise SettingsError(
                "probability", f"expected {sizes} values, got {_find_shape(self.probability)}; build again"
            )
        if self.error and _find_shape(self.error) != sizes:
            raise SettingsError("error", f"expected {sizes} values, got {_find_shape(self.error)}; build again")
        return self

    def find_probability(self, range_m: Array, incidence_deg: Array, intensity: Array, surface: Array) -> Array:
        """The chance (n,) that each beam is lost; 0 where a volume was hit, which lets beams through by itself."""
        place = (
            find_bins(range_m, self.range_edges_m),
            find_bins(incidence_deg, self.incidence_edges_deg),
            find_bins(intensity, self.intensity_edges),
        )
        return np.where(surface, np.array(self.probability)[place], 0.0)


def _find_shape(rows: tuple[tuple[tuple[float, ...], ...], ...]) -> tuple[int, ...] | None:
    """How many there are along each axis; None if rows differ."""
    sizes = {(len(plane), len(row)) for plane in rows for row in plane}
    return (len(rows), *sizes.pop()) if len(sizes) == 1 else None


class ScatterCorrelation(Spec):
    """How much the scatter of intensities is alike along rings, and between sweeps in cells of the world.

    Of the normal numbers that give recorded intensities, without what lasers do. What is alike belongs to surfaces:
    it is how far a world's reflectance is off, or too smooth. Simulation draws independent numbers, but for the memory
    of lasers.
    """

    steps: Annotated[tuple[_Count, ...], Field(max_length=100)]
    """Beams (s) from one to the other along a ring."""
    along_rings: Annotated[tuple[_Correlation, ...], Field(max_length=100)]
    """Correlation (s) of returns that lie so many beams apart."""
    along_rings_error: Annotated[tuple[NotNegative, ...], Field(max_length=100)]
    """Standard errors (s) of these."""
    cells_m: Annotated[tuple[NotNegative, ...], Field(max_length=100)]
    """Sides (c) of cells, metres."""
    between_sweeps: Annotated[tuple[_Correlation, ...], Field(max_length=100)]
    """Correlation (c) of the returns of different sweeps from one cell."""
    between_sweeps_error: Annotated[tuple[NotNegative, ...], Field(max_length=100)]
    """Standard errors (c) of these."""

    @model_validator(mode="after")
    def _check(self) -> ScatterCorrelation:
        for name, count in (("along_rings", len(self.steps)), ("between_sweeps", len(self.cells_m))):
            for own in (name, f"{name}_error"):
                if len(getattr(self, own)) != count:
                    raise SettingsError(own, f"expected {count} values, got {len(getattr(self, own))}; build again")
        return self


class SensorScatter(Spec):
    """How the sensor of a recording scatters about what a world predicts; what could not be known is left out.

    Standard errors are those of chance, of returns of which those of one place and of all sweeps are alike.
    """

    intensity: IntensityScatter | None = None
    """Intensities, about those that are expected."""
    range: RangeNoise | None = None
    """Ranges of surfaces."""
    drops: DropTable | None = None
    """Returns that are lost."""
    correlation: ScatterCorrelation | None = None
    """How much the scatter of intensities is alike; for people, it is not drawn."""

    @property
    def n_lasers(self) -> int:
        """How many lasers the tables of intensities know."""
        return 0 if self.intensity is None else len(self.intensity.response)

    def carried_over(self, channels: int) -> SensorScatter:
        """What holds of a sensor with so many channels: all of one with as many, else how the surfaces scatter."""
        if self.n_lasers in (0, channels) or self.intensity is None:
            return self
        of_lasers = {"response": (), "shift": (), "spread": (), "next_weight": 0.0}
        return SensorScatter(intensity=self.intensity.model_copy(update=of_lasers))

    def describe(self) -> str:
        """What is known, and how well, in a line."""
        parts = []
        if self.intensity is not None:
            curves = np.concatenate([table.find_curves() for table in self.intensity.tables])
            low, high = np.searchsorted(NORMALS, (-1.0, 1.0))
            width = float(np.median(curves[:, high] - curves[:, low])) / 2
            errors = self.intensity.find_width_errors()
            known = "" if np.isnan(errors).all() else f" ± {width * float(np.nanmedian(errors)):.3f}"
            parts.append(f"intensities scatter by {width:.3f}{known}")
        if self.range is not None:
            known = f" ± {100 * float(np.median(self.range.error_m)):.1f}" if self.range.error_m else ""
            parts.append(f"ranges of surfaces by {100 * float(np.median(self.range.sigma_m)):.1f}{known} cm")
        if self.drops is not None:
            chance = np.ravel(self.drops.probability)
            errors = np.ravel(self.drops.error) if self.drops.error else np.zeros(len(chance))
            most = int(np.argmax(chance - errors))
            known = f" ± {100 * float(errors[most]):.0f}" if self.drops.error else ""
            parts.append(f"up to {100 * float(chance[most]):.0f}{known} % of surface returns are lost")
        if self.correlation is not None:
            parts.append(_describe_correlation(self.correlation))
        return ", ".join(part for part in parts if part) or "scatter unknown"


def _describe_correlation(correlation: ScatterCorrelation) -> str:
    """How much is alike from beam to beam, and from sweep to sweep in the smallest cells."""
    first = [
        f"{value:.2f} ± {error:.2f} {name}"
        for name, values, errors in (
            ("from beam to beam", correlation.along_rings, correlation.along_rings_error),
            ("between sweeps", correlation.between_sweeps, correlation.between_sweeps_error),
        )
        for value, error in zip(values[:1], errors[:1], strict=True)
    ]
    return f"scatter correlates by {' and '.join(first)}" if first else ""


def find_bins(values: Array, edges: tuple[float, ...]) -> Array:
    """The bin (n,) of each value: how many edges are not above it. Of few edges this is faster than a search."""
    found: Array = np.zeros(len(values), np.uint8)
    for edge in edges:
        found += values >= np.float32(edge)
    return found


def split_beyond(expected: Array, least: Array | float, most: Array | float) -> tuple[Array, Array]:
    """Expected intensities (n,) within the ends of their tables, and by which factor (n,) each is beyond an end."""
    within = np.clip(expected, least, most)
    return within, np.where(within > 0.0, expected / np.where(within > 0.0, within, 1.0), 1.0)


def find_incidence(cosine: Array) -> Array:
    """Incidence (n,) in degrees from the normal, of its cosine (n,)."""
    return np.asarray(90.0 - np.degrees(portable.arcsin(np.clip(cosine, 0.0, 1.0).astype(np.float64))))


def find_cosine_limits(edges_deg: tuple[float, ...]) -> Array:
    """The largest cosines (k,) float32 whose incidence is not below each edge, by which bins need no angles.

    The bin of an incidence is how many limits are not below its cosine.
    """
    # Positive float32 numbers are ordered as their bits are: halves lead to the last one that reaches the edge.
    edges = np.array(edges_deg, np.float32)
    last = int(np.float32(1.0).view(np.uint32))
    low, high = np.zeros(len(edges), np.int64), np.full(len(edges), last + 1)
    while (high - low > 1).any():
        middle = (low + high) // 2
        reached = find_incidence(middle.astype(np.uint32).view(np.float32)) >= edges
        low, high = np.where(reached, middle, low), np.where(reached, high, middle)
    limits = low.astype(np.uint32).view(np.float32)
    limits[edges > find_incidence(np.zeros(len(edges), np.float32))] = -np.inf
    limits[low == last] = np.inf
    return limits
