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
from resweep.pose import Array

SURFACE, VOLUME = -1, -2  # in place of a label: primitives whose label has no table of its own
_Sigma = Annotated[float, Field(ge=0.0, le=1.0)]


class Texture(Spec):
    """The part of the scatter that belongs to surfaces, at one scale."""

    size_m: Annotated[float, Field(gt=0.0, le=100.0)]
    """Side of the cells within which it is the same, metres."""
    share: Share
    """Share of the variance of the scatter."""


class IntensityTable(Spec):
    """The intensities that were recorded where others were expected, for one kind of surface."""

    label: int
    """The label of the primitives; -1 for all other surfaces, -2 for all other volumes."""
    expected: tuple[NotNegative, ...]
    """Expected intensities (k), without the gains of lasers, ascending."""
    quantiles: tuple[tuple[NotNegative, ...], ...]
    """Quantiles (k, q) of the recorded ones, without gains, evenly spaced from the least to the largest."""

    @model_validator(mode="after")
    def _check(self) -> IntensityTable:
        widths = {len(row) for row in self.quantiles}
        if not self.expected or len(self.quantiles) != len(self.expected) or len(widths) != 1 or min(widths) < 2:
            raise SettingsError("quantiles", "expected a row of two or more for each expected intensity; build again")
        return self


class IntensityScatter(Spec):
    """How intensities scatter about those that reflectance, incidence and range predict."""

    tables: tuple[IntensityTable, ...]
    """Tables by label; the last two are those of all other surfaces and volumes."""
    step: NotNegative = 0.0
    """Step in which the sensor counts; 0 if it does not."""
    ceiling: NotNegative = 0.0
    """The largest intensity that was recorded; 0 if none is known."""
    textures: tuple[Texture, ...] = ()
    """What stays with the surface from sweep to sweep."""
    ring_correlation: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0
    """Of the rest: the correlation of neighbours on a ring."""

    @model_validator(mode="after")
    def _check(self) -> IntensityScatter:
        if [table.label for table in self.tables[-2:]] != [SURFACE, VOLUME]:
            raise SettingsError("tables", "expected those of all other surfaces and volumes at their end; build again")
        if sum(texture.share for texture in self.textures) > 1.0:
            raise SettingsError("textures", "their shares are more than 1 together; build again")
        return self

    def find_tables(self, label: Array, surface: Array) -> Array:
        """The number (n,) of the table of primitives with a ``label`` (n,), by whether each is a ``surface`` (n,)."""
        count = len(self.tables)
        found: Array = np.where(surface, count - 2, count - 1)
        for number, table in enumerate(self.tables[:-2]):
            found[label == table.label] = number
        return found


class RangeNoise(Spec):
    """Sigma of the range noise of surfaces, by bins of range and of incidence.

    Of volumes none is known: where in them a beam ends is drawn anyway. Ranges are rounded to ``step_m`` (0: not
    rounded).
    """

    range_edges_m: tuple[float, ...]
    """Edges (r) of the bins of range, metres."""
    incidence_edges_deg: tuple[float, ...]
    """Edges (i) of the bins of incidence, degrees from the normal."""
    sigma_m: tuple[tuple[_Sigma, ...], ...]
    """Sigma (r + 1, i + 1), metres."""
    step_m: _Sigma = 0.0
    """Step that ranges are rounded to, metres."""

    @model_validator(mode="after")
    def _check(self) -> RangeNoise:
        columns = {len(row) for row in self.sigma_m}
        if len(self.sigma_m) != len(self.range_edges_m) + 1 or columns != {len(self.incidence_edges_deg) + 1}:
            raise SettingsError(
                "sigma_m", "expected a value for each bin of range and incidence; learn the model again"
            )
        return self

    def find_sigma(self, range_m: Array, incidence_deg: Array, surface: Array) -> Array:
        """Sigma (n,) of ranges (n,) at incidences (n,), metres; 0 where a volume was hit."""
        row = find_bins(range_m, self.range_edges_m)
        column = find_bins(incidence_deg, self.incidence_edges_deg)
        return np.where(surface, np.array(self.sigma_m)[row, column], 0.0)


class DropTable(Spec):
    """How often beams come back empty from a surface that the world holds, beyond its blind sectors."""

    range_edges_m: tuple[float, ...]
    incidence_edges_deg: tuple[float, ...]
    intensity_edges: tuple[float, ...]
    """Edges of the bins of range (r), incidence (i) and expected intensity (j)."""
    probability: tuple[tuple[tuple[Share, ...], ...], ...]
    """Chance (r + 1, i + 1, j + 1) that a beam is lost."""

    @model_validator(mode="after")
    def _check(self) -> DropTable:
        sizes = tuple(len(edges) + 1 for edges in (self.range_edges_m, self.incidence_edges_deg, self.intensity_edges))
        if _shape(self.probability) != sizes:
            raise SettingsError("probability", f"expected {sizes} values, got {_shape(self.probability)}; build again")
        return self

    def find_probability(self, range_m: Array, incidence_deg: Array, intensity: Array, surface: Array) -> Array:
        """The chance (n,) that each beam is lost; 0 where a volume was hit, which lets beams through by itself."""
        place = (
            find_bins(range_m, self.range_edges_m),
            find_bins(incidence_deg, self.incidence_edges_deg),
            find_bins(intensity, self.intensity_edges),
        )
        return np.where(surface, np.array(self.probability)[place], 0.0)


def _shape(rows: tuple[tuple[tuple[float, ...], ...], ...]) -> tuple[int, ...] | None:
    """How many there are along each axis; None if rows differ."""
    sizes = {(len(plane), len(row)) for plane in rows for row in plane}
    return (len(rows), *sizes.pop()) if len(sizes) == 1 else None


class SensorScatter(Spec):
    """How the sensor of a recording scatters about what a world predicts; what could not be known is left out."""

    intensity: IntensityScatter | None = None
    range: RangeNoise | None = None
    drops: DropTable | None = None

    def describe(self) -> str:
        """What is known, in a line."""
        parts = []
        if self.intensity is not None:
            width = np.median(
                [row[-1 - len(row) // 6] - row[len(row) // 6] for row in self.intensity.tables[-2].quantiles]
            )
            parts.append(f"intensities scatter by {width / 2:.3f}")
        if self.range is not None:
            parts.append(f"ranges of surfaces by {100 * float(np.median(self.range.sigma_m)):.1f} cm")
        if self.drops is not None:
            parts.append(f"up to {100 * float(np.max(self.drops.probability)):.0f} % of surface returns are lost")
        return ", ".join(parts) or "scatter unknown"


def find_bins(values: Array, edges: tuple[float, ...]) -> Array:
    """The bin (n,) of each value: how many edges are not above it. Of few edges this is faster than a search."""
    found: Array = np.zeros(len(values), np.uint8)
    for edge in edges:
        found += values >= np.float32(edge)
    return found


def find_incidence(cosine: Array) -> Array:
    """Incidence (n,) in degrees from the normal, of its cosine (n,)."""
    return np.asarray(90.0 - np.degrees(portable.arcsin(np.clip(cosine, 0.0, 1.0).astype(np.float64))))
