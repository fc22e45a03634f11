"""Sums over points and beams, from which the metrics of one sweep or of a whole log are computed.

A log's metrics are those of all its points and beams together, not means of its sweeps' metrics: a sweep
with few returns weighs little.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from resweep.evaluation.metrics import FSCORE_M, FSCORE_SQ_M2, LARGE_ERROR_M, WITHIN_M, psnr
from resweep.labels import LabelSet
from resweep.pose import Array

Values = dict[str, float | None]
Totals = dict[str, float]

# Thresholds in metres of all F-scores by the name of their metric.
FSCORES = {**{f"fscore_{t:.2f}m": t for t in FSCORE_M}, f"fscore_sq_{FSCORE_SQ_M2:.2f}": FSCORE_SQ_M2**0.5}
_HISTOGRAM_M = np.linspace(-1.0, 1.0, 201)
_CDF_M = np.geomspace(1e-3, 100.0, 151)


@dataclass
class MetricSums:
    """What adds up over sweeps: ``totals`` by name, ``classes`` by label, and the range ``errors`` (m,) of each sweep.

    Distances are summed under ``c2c`` (to the whole recorded cloud), ``c2c_sweep`` (to the paired sweep) and ``map``
    (between the accumulated clouds), in all and by class; their numbers under the same names with ``_n``.
    """

    totals: Totals = field(default_factory=lambda: defaultdict(float))
    classes: dict[int, Totals] = field(default_factory=lambda: defaultdict(lambda: defaultdict(float)))
    errors: list[Array] = field(default_factory=list)

    def add(self, other: MetricSums) -> None:
        """Add the sums of another sweep."""
        for name, value in other.totals.items():
            self.totals[name] += value
        for label, totals in other.classes.items():
            for name, value in totals.items():
                self.classes[label][name] += value
        self.errors.extend(other.errors)

    def copy_distances(self, source: str, target: str) -> None:
        """Give the distances summed under one name another name too."""
        for totals in (self.totals, *self.classes.values()):
            for name in ("", "_n"):
                if f"{source}{name}" in totals:
                    totals[f"{target}{name}"] = totals[f"{source}{name}"]

    @property
    def range_errors(self) -> Array:
        """Simulated minus real range (n,) metres of every beam that returned in both."""
        return np.concatenate([np.empty(0, np.float32), *self.errors])

    def metrics(self, thin: Iterable[int], range_max_m: float) -> Values:
        """Every metric that the sums determine, None where nothing was there to compare."""
        s, thin = self.totals, tuple(thin)
        values: Values = {"c2c_m": _ratio(s["c2c"], s["c2c_n"]), "thin_c2c_m": self._thin(thin, "c2c")}
        values.update(_clouds(s))
        values["thin_c2c_sweep_m"] = self._thin(thin, "c2c_sweep")
        values.update({**self._ranges(), **_returns(s), **_intensities(s)})
        squares = _ratio(s["image_sq"], s["image_n"])
        values["range_psnr_db"] = None if squares is None else psnr(squares, range_max_m)
        values["range_ssim"] = _ratio(s["ssim"], s["image_n"])
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
        errors = self.range_errors
        if not len(errors):
            return {}
        counts = np.histogram(np.clip(errors, _HISTOGRAM_M[0], _HISTOGRAM_M[-1]), _HISTOGRAM_M)[0]
        share = np.searchsorted(np.sort(np.abs(errors)), _CDF_M, side="right") / len(errors)
        return {
            "histogram_edges_m": _HISTOGRAM_M.round(4).tolist(),
            "histogram_counts": counts.tolist(),
            "cdf_at_m": _CDF_M.round(6).tolist(),
            "cdf_share": share.round(6).tolist(),
        }

    def _thin(self, thin: Iterable[int], key: str) -> float | None:
        """The mean over thin classes of their mean distances."""
        known = [self.classes[label] for label in thin if label in self.classes]
        each = [s[key] / s[f"{key}_n"] for s in known if s[f"{key}_n"]]
        return float(np.mean(each)) if each else None

    def _ranges(self) -> Values:
        errors = self.range_errors.astype(np.float64)
        size = np.abs(errors)
        count = len(errors)
        values: Values = {
            "range_bias_m": _ratio(float(errors.sum()), count),
            "range_mean_m": _ratio(float(size.sum()), count),
            "range_median_m": float(np.median(size)) if count else None,
            "range_rmse_m": _root(_ratio(float((errors**2).sum()), count)),
        }
        values.update({f"within_{t:.2f}m": _ratio(float((size <= t).sum()), count) for t in WITHIN_M})
        returned = self.totals["real_returned"]
        values.update({f"recovered_{t:.2f}m": _ratio(float((size <= t).sum()), returned) for t in WITHIN_M})
        values[f"too_early_{LARGE_ERROR_M:g}m"] = _ratio(float((errors < -LARGE_ERROR_M).sum()), count)
        values[f"too_late_{LARGE_ERROR_M:g}m"] = _ratio(float((errors > LARGE_ERROR_M).sum()), count)
        return values


def _clouds(s: Totals) -> Values:
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


def _returns(s: Totals) -> Values:
    precision = _ratio(s["both"], s["sim_returned"])
    recall = _ratio(s["both"], s["real_returned"])
    known = precision is not None or recall is not None
    return {
        "matched": _ratio(s["matched"], s["real_beams"]),
        "return_precision": precision,
        "return_recall": recall,
        "return_f1": _harmonic(precision or 0.0, recall or 0.0) if known else None,
    }


def _intensities(s: Totals) -> Values:
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
