"""Colours of returns: by range, intensity, label and all else that a sweep knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from resweep.errors import ResweepError, nearest_names
from resweep.labels import UNKNOWN_LABELS, LabelSet
from resweep.pose import Array
from resweep.sweep import Sweep
from resweep.viewer import palette

KINDS = {0: "unknown", 1: "mesh", 2: "splats", 3: "volumes"}
KIND_COLOURS = {0: "#8a8f98", 1: "#e69f00", 2: "#56b4e9", 3: "#009e73"}  # Okabe and Ito 2008, for the colour-blind
_RETURN_COLOURS = ("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#d55e00")
_GREY = np.array([138, 143, 152], np.uint8)
_MAX_ERROR_M = 0.5  # drawn in the last colour


@dataclass(frozen=True, eq=False)
class ReturnColours:
    """Colours ``rgb`` (n, 3) uint8 of returns, and a ``legend`` as text or as (name, colour)."""

    rgb: Array
    legend: str
    entries: tuple[tuple[str, str], ...] = ()


def list_colourings(sweep: Sweep, labels: LabelSet = UNKNOWN_LABELS, error: Array | None = None) -> list[str]:
    """What returns of a sweep can be coloured by; what it does not know is left out."""
    found = ["range", "height"]
    if len(sweep) and np.ptp(sweep.intensity) > 0:
        found.append("intensity")
    if sweep.n_beams and sweep.beam_ring.max() > 0:
        found.append("ring")
    if sweep.n_beams and np.ptp(sweep.beam_time) > 0:
        found.append("time")
    if len(sweep) and sweep.label.any():
        found.append("label")
    if len(sweep) and sweep.instance.any():
        found.append("instance")
    if len(sweep) and sweep.return_index.any():
        found.append("return number")
    for name, column in (("primitive kind", "primitive"), ("confidence", "confidence")):
        if column in sweep.extra:
            found.append(name)
    return [*found, "error"] if error is not None else found


def colour_returns(
    sweep: Sweep,
    by: str,
    labels: LabelSet = UNKNOWN_LABELS,
    *,
    error: Array | None = None,
    maximum: float | None = None,
) -> ReturnColours:
    """The returns of a sweep coloured ``by`` one of `list_colourings`.

    ``error`` (n,) metres is that of each return, NaN where it is unknown. ``maximum`` is the value that is drawn
    in the last colour (default: that of 98 % of the returns).
    """
    if by == "error":
        return _colour_by_error(error, len(sweep))
    if by not in _COLOURINGS:
        raise ResweepError(f"colour by '{by}': no such colouring; {nearest_names(by, [*_COLOURINGS, 'error'])}")
    return _COLOURINGS[by](sweep, labels, maximum)


def _map_values(values: Array, low: float, high: float, what: str, unit: str, name: str = "turbo") -> ReturnColours:
    share = np.clip((np.asarray(values, np.float64) - low) / max(high - low, 1e-12), 0.0, 1.0)
    known = np.isfinite(share)
    rgb = colour_table(name)[np.rint(255 * np.where(known, share, 0.0)).astype(np.int64)]
    rgb[~known] = _GREY
    return ReturnColours(rgb, f"{what}: {low:.3g} (dark) to {high:.3g}{unit} (bright)")


def colour_table(name: str) -> Array:
    """The colours (256, 3) uint8 of a map of matplotlib, without the darkest: the ground is dark."""
    from matplotlib import colormaps

    first = 0.08 if name == "turbo" else 0.15
    return np.asarray(np.rint(255 * np.asarray(colormaps[name](np.linspace(first, 1.0, 256)))[:, :3]), np.uint8)


def _find_quantile(values: Array, maximum: float | None) -> float:
    return maximum if maximum is not None else float(np.quantile(values, 0.98)) if len(values) else 1.0


def _colour_by_range(sweep: Sweep, labels: LabelSet, maximum: float | None) -> ReturnColours:
    return _map_values(sweep.range, 0.0, _find_quantile(sweep.range, maximum), "range", " m")


def _colour_by_height(sweep: Sweep, labels: LabelSet, maximum: float | None) -> ReturnColours:
    z = sweep.deskewed()[:, 2]
    low, high = np.quantile(z, (0.02, 0.98)) if len(z) else (0.0, 1.0)
    return _map_values(z, float(low), float(high), "height above the sensor", " m", "viridis")


def _colour_by_intensity(sweep: Sweep, labels: LabelSet, maximum: float | None) -> ReturnColours:
    return _map_values(sweep.intensity, 0.0, _find_quantile(sweep.intensity, maximum) or 1.0, "intensity", "", "magma")


def _colour_by_ring(sweep: Sweep, labels: LabelSet, maximum: float | None) -> ReturnColours:
    return _map_values(sweep.ring, 0.0, float(sweep.beam_ring.max(initial=1)), "ring", "")


def _colour_by_time(sweep: Sweep, labels: LabelSet, maximum: float | None) -> ReturnColours:
    begin = float(sweep.beam_time.min()) if sweep.n_beams else 0.0
    last = float(np.ptp(sweep.beam_time)) if sweep.n_beams else 1.0
    return _map_values(1e3 * (sweep.time - begin), 0.0, 1e3 * last, "time since the sweep began", " ms", "plasma")


def _colour_by_label(sweep: Sweep, labels: LabelSet, maximum: float | None) -> ReturnColours:
    rgb = np.rint(255 * palette.label_colours(sweep.label, labels)).astype(np.uint8)
    ids, counts = np.unique(sweep.label, return_counts=True)
    listed = ids[np.argsort(-counts, kind="stable")][:14].tolist()
    return ReturnColours(rgb, "label", tuple((labels.class_name(item), labels.colour(item)) for item in listed))


def _colour_by_instance(sweep: Sweep, labels: LabelSet, maximum: float | None) -> ReturnColours:
    rgb = colour_instances(sweep.instance)
    return ReturnColours(rgb, f"instance: {len(np.unique(sweep.instance[sweep.instance != 0]))} of them; grey: none")


def colour_instances(instance: Array) -> Array:
    """Colours (n, 3) uint8 that differ between neighbouring ids; grey for 0."""
    hue = (np.asarray(instance, np.float64) * 0.61803398875) % 1.0  # the golden ratio spreads ids over the circle
    wheel = np.stack([np.abs((6.0 * hue + shift) % 6.0 - 3.0) - 1.0 for shift in (0.0, 4.0, 2.0)], axis=1)
    rgb = np.rint(255 * (0.35 + 0.65 * np.clip(wheel, 0.0, 1.0))).astype(np.uint8)
    rgb[np.asarray(instance) == 0] = _GREY
    return rgb


def _colour_by_return(sweep: Sweep, labels: LabelSet, maximum: float | None) -> ReturnColours:
    table = np.array([_to_bytes(colour) for colour in _RETURN_COLOURS], np.uint8)
    names = ("first", "second", "third", "fourth", "fifth", "later")
    there = np.unique(np.minimum(sweep.return_index, len(names) - 1)).tolist()
    rgb = table[np.minimum(sweep.return_index, len(table) - 1)]
    return ReturnColours(rgb, "return number", tuple((names[at], _RETURN_COLOURS[at]) for at in there))


def _colour_by_kind(sweep: Sweep, labels: LabelSet, maximum: float | None) -> ReturnColours:
    kind = _read_column(sweep, "primitive")
    table = np.array([_to_bytes(KIND_COLOURS[item]) for item in KINDS], np.uint8)
    there = [item for item in np.unique(kind).tolist() if item in KINDS]
    legend = tuple((KINDS[item], KIND_COLOURS[item]) for item in there)
    return ReturnColours(table[np.minimum(kind, 3)], "primitive kind", legend)


def _colour_by_confidence(sweep: Sweep, labels: LabelSet, maximum: float | None) -> ReturnColours:
    return _map_values(_read_column(sweep, "confidence"), 0.0, 1.0, "confidence", "", "viridis")


def _colour_by_error(error: Array | None, count: int) -> ReturnColours:
    if error is None or len(error) != count:
        raise ResweepError("colour by 'error': there is nothing to compare with; give a recorded and a simulated log")
    return _map_values(np.abs(error), 0.0, _MAX_ERROR_M, "range error (grey: no pair)", " m", "inferno")


def _read_column(sweep: Sweep, name: str) -> Array:
    if name not in sweep.extra:
        raise ResweepError(f"colour by '{name}': the sweep has no such column; sweeps that Resweep simulates have it")
    return np.asarray(sweep.extra[name])


def _to_bytes(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


_COLOURINGS: dict[str, Callable[[Sweep, LabelSet, float | None], ReturnColours]] = {
    "range": _colour_by_range,
    "height": _colour_by_height,
    "intensity": _colour_by_intensity,
    "ring": _colour_by_ring,
    "time": _colour_by_time,
    "label": _colour_by_label,
    "instance": _colour_by_instance,
    "return number": _colour_by_return,
    "primitive kind": _colour_by_kind,
    "confidence": _colour_by_confidence,
}
