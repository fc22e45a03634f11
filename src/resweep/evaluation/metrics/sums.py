"""Sums over points and beams, from which the metrics of one sweep or of a whole log are computed.

A log's metrics are those of all its points and beams together, not means of its sweeps' metrics: a sweep
with few returns weighs little. Only those of the published range-image protocol are means of sweeps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from resweep.evaluation.metrics.column import Column
from resweep.evaluation.metrics.metrics import FSCORE_M, FSCORE_SQ_M2, LARGE_ERROR_M, PANO_METRICS, WITHIN_M, psnr
from resweep.labels import LabelSet
from resweep.pose import Array

Values = dict[str, float | None]
Totals = dict[str, float]

# Thresholds in metres of all F-scores by the name of their metric.
FSCORES = {**{f"fscore_{t:.2f}m": t for t in FSCORE_M}, f"fscore_sq_{FSCORE_SQ_M2:.2f}": FSCORE_SQ_M2**0.5}
_HISTOGRAM_M = np.linspace(-1.0, 1.0, 201)
_CDF_M = np.geomspace(1e-3, 100.0, 151)


def _make_zeros() -> Totals:
    return defaultdict(float)


@dataclass
class MetricSums:
    """What adds up over sweeps: ``totals`` by name, ``classes`` by label, and the range ``errors`` of all beams.

    An error is the simulated minus the real range in metres of a beam that returned in both.

    Distances are summed under ``c2c`` (to the whole recorded cloud), ``c2c_sweep`` (to the paired sweep) and ``map``
    (between the accumulated clouds), in all and by class; their numbers under the same names with ``_n``.
    """

    totals: Totals = field(default_factory=_make_zeros)
    classes: dict[int, Totals] = field(default_factory=lambda: defaultdict(_make_zeros))
    errors: Column = field(default_factory=Column)
    ranges: Values | None = None
    """Figures of errors that are no longer held here."""
    means: dict[str, tuple[float, int]] = field(default_factory=dict)
    """By name of the metric, the sum and the number of figures of single sweeps, of which a log's is the mean."""

    def add_mean(self, name: str, value: float, count: int = 1) -> None:
        """Add a metric of one sweep, or the sum of it over ``count`` sweeps."""
        total, known = self.means.get(name, (0.0, 0))
        self.means[name] = (total + value, known + count)

    def add(self, other: MetricSums) -> None:
        """Add the sums of another sweep."""
        for name, value in other.totals.items():
            self.totals[name] += value
        for label, totals in other.classes.items():
            for name, value in totals.items():
                self.classes[label][name] += value
        for name, (value, count) in other.means.items():
            self.add_mean(name, value, count)
        self.take_errors(other)

    def take_errors(self, other: MetricSums) -> None:
        """Move the range errors of another sweep here; it keeps the figures that they give."""
        if other.ranges is None:
            other.ranges = other._ranges()
            for chunk in other.errors.chunks():
                self.errors.append(chunk)
            other.errors = Column()

    def copy_distances(self, source: str, target: str) -> None:
        """Give the distances summed under one name another name too."""
        for totals in (self.totals, *self.classes.values()):
            for name in ("", "_n"):
                if f"{source}{name}" in totals:
                    totals[f"{target}{name}"] = totals[f"{source}{name}"]

    def metrics(self, thin: Iterable[int], range_max_m: float) -> Values:
        """Every metric that the sums determine, None where nothing was there to compare."""
        s, thin = self.totals, tuple(thin)
        values: Values = {"c2c_m": _ratio(s["c2c"], s["c2c_n"]), "thin_c2c_m": self._thin(thin, "c2c")}
        values.update(_compute_cloud_metrics(s))
        values["thin_c2c_sweep_m"] = self._thin(thin, "c2c_sweep")
        values.update({**self._ranges(), **_compute_return_metrics(s), **_compute_intensity_metrics(s)})
        squares = _ratio(s["image_sq"], s["image_n"])
        values["range_psnr_db"] = None if squares is None else psnr(squares, range_max_m)
        values["range_ssim"] = _ratio(s["ssim"], s["image_n"])
        values.update({name: _ratio(*self.means.get(name, (0.0, 0))) for name in PANO_METRICS})
        values["label_agreement"] = _ratio(s["label_equal"], s["label_n"])
        if s["map_n"]:
            values["c2c_map_m"] = _ratio(s["map"], s["map_n"])
            values["thin_c2c_map_m"] = self._thin(thin, "map")
        return values

    def per_class(self, labels: LabelSet) -> dict[str, Values]:
        """By class name, the label and what is known of its points and beams; classes in neither sweep are absent."""
        table: dict[str, Values] = {}
        for label in sorted(self.classes):
            s = self.classes[label]
            row: Values = {
                "label": label,
                "sim_points": int(s["sim"]),
                "real_points": int(s["real"]),
                "c2c_m": _ratio(s["c2c"], s["c2c_n"]),
                "c2c_sweep_m": _ratio(s["c2c_sweep"], s["c2c_sweep_n"]),
                "range_mean_m": _ratio(s["range"], s["range_n"]),
                "return_recall": _ratio(s["range_n"], s["matched"]),
            }
            if self.totals["map_n"]:
                row["c2c_map_m"] = _ratio(s["map"], s["map_n"])
            table[labels.class_name(label)] = row
        return table

    def error_curves(self) -> dict[str, list[float]]:
        """A histogram of the signed range errors and the distribution of the absolute ones, for drawing."""
        if not len(self.errors):
            return {}
        counts, within = np.zeros(len(_HISTOGRAM_M) - 1, np.int64), np.zeros(len(_CDF_M), np.int64)
        for errors in self.errors.chunks():
            counts += np.histogram(np.clip(errors, _HISTOGRAM_M[0], _HISTOGRAM_M[-1]), _HISTOGRAM_M)[0]
            within += np.searchsorted(np.sort(np.abs(errors)), _CDF_M, side="right")
        share = within / len(self.errors)
        return {
            "histogram_edges_m": _HISTOGRAM_M.round(4).tolist(),
            "histogram_counts": counts.tolist(),
            "cdf_at_m": _CDF_M.round(6).tolist(),
            "cdf_share": share.round(6).tolist(),
        }

    def count_returns(self) -> dict[str, int]:
        """Matched beams that returned in both, are missing or surplus in the simulation, or returned in neither."""
        s = self.totals
        both, sim, real = int(s["both"]), int(s["sim_returned"]), int(s["real_returned"])
        neither = int(s["matched"]) - sim - real + both
        return {"both": both, "missing": real - both, "surplus": sim - both, "neither": neither}

    def _thin(self, thin: Iterable[int], key: str) -> float | None:
        """The mean over thin classes of their mean distances."""
        known = [self.classes[label] for label in thin if label in self.classes]
        each = [s[key] / s[f"{key}_n"] for s in known if s[f"{key}_n"]]
        return float(np.mean(each)) if each else None

    def _ranges(self) -> Values:
        if self.ranges is not None:
            return self.ranges
        errors, count = self.errors, len(self.errors)
        near = {t: float(errors.count(_is_within(t))) for t in WITHIN_M}
        values: Values = {
            "range_bias_m": _ratio(errors.sum(), count),
            "range_mean_m": _ratio(errors.sum(np.abs), count),
            "range_median_m": errors.median_size() if count else None,
            "range_rmse_m": _root(_ratio(errors.sum(np.square), count)),
        }
        values.update({f"within_{t:.2f}m": _ratio(n, count) for t, n in near.items()})
        returned = self.totals["real_returned"]
        values.update({f"recovered_{t:.2f}m": _ratio(n, returned) for t, n in near.items()})
        early = errors.count(lambda error: error < -LARGE_ERROR_M)
        late = errors.count(lambda error: error > LARGE_ERROR_M)
        values[f"too_early_{LARGE_ERROR_M:g}m"] = _ratio(float(early), count)
        values[f"too_late_{LARGE_ERROR_M:g}m"] = _ratio(float(late), count)
        return values


def _is_within(limit: float) -> Callable[[Array], Array]:
    """Which errors are at most so large."""
    return lambda error: np.abs(error) <= limit


def _compute_cloud_metrics(s: Totals) -> Values:
    forward, backward = _ratio(s["c2c_sweep"], s["c2c_sweep_n"]), _ratio(s["reverse"], s["reverse_n"])
    values: Values = {"c2c_sweep_m": forward, "c2c_reverse_m": backward, "chamfer_m": None, "chamfer_sq_sum_m2": None}
    if forward is not None and backward is not None:
        values["chamfer_m"] = (forward + backward) / 2
        values["chamfer_sq_sum_m2"] = s["c2c_sweep_sq"] / s["c2c_sweep_n"] + s["reverse_sq"] / s["reverse_n"]
    for name in FSCORES:
        precision, recall = _ratio(s[f"{name} sim"], s["sim"]), _ratio(s[f"{name} real"], s["real"])
        # An empty cloud has no share of points that are near, and none that should have been
        nothing = precision is None and recall is None
        values[name] = None if nothing else _harmonic(precision or 0.0, recall or 0.0)
    return values


def _compute_return_metrics(s: Totals) -> Values:
    precision = _ratio(s["both"], s["sim_returned"])
    recall = _ratio(s["both"], s["real_returned"])
    known = precision is not None or recall is not None
    return {
        "matched": _ratio(s["matched"], s["real_beams"]),
        "return_precision": precision,
        "return_recall": recall,
        "return_f1": _harmonic(precision or 0.0, recall or 0.0) if known else None,
    }


def _compute_intensity_metrics(s: Totals) -> Values:
    n = s["both"]
    values: Values = {
        "intensity_rmse": _root(_ratio(s["intensity_sq"], n)),
        "intensity_mae": _ratio(s["intensity_abs"], n),
        "intensity_corr": None,
    }
    if n:
        spread_sim = s["intensity_ss"] / n - (s["intensity_s"] / n) ** 2
        spread_real = s["intensity_rr"] / n - (s["intensity_r"] / n) ** 2
        together = s["intensity_sr"] / n - s["intensity_s"] * s["intensity_r"] / n**2
        # Below rounding, a constant has no correlation with anything
        if spread_sim > 1e-12 * s["intensity_ss"] / n and spread_real > 1e-12 * s["intensity_rr"] / n:
            values["intensity_corr"] = float(np.clip(together / np.sqrt(spread_sim * spread_real), -1.0, 1.0))
    return values


def _ratio(sum_: float, count: float) -> float | None:
    return float(sum_ / count) if count else None


def _root(value: float | None) -> float | None:
    return None if value is None else float(np.sqrt(value))


def _harmonic(first: float, second: float) -> float:
    return 2 * first * second / (first + second) if first + second else 0.0
