"""What a world predicts for a beam: how that is read, and what blind sectors of the sensor make of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from resweep import portable
from resweep.pose import Array


@dataclass(frozen=True)
class PredictionConfig:
    """How a world's prediction for a beam is read.

    ``sigma_m`` is the spread of a range that a surface gives, and noise on top of a volume's. ``height_m`` is the
    spread of a surface along its normal, which grazing beams spread by the incidence. ``clutter`` is the share of beams
    that follow no model: half of them return anywhere, half not at all. It keeps the likelihood of an unlikely range
    above zero. The most likely return is the one with most probability within ``window_m``; half of what lies within
    3 m counts too. Of returns that are equally likely, to a twentieth, the farthest is taken.
    """

    sigma_m: float = 0.02
    height_m: float = 0.005
    clutter: float = 0.02
    window_m: float = 0.1


def add_blind_sectors(
    found: Mapping[str, Array], blind: Array, how: PredictionConfig, range_max_m: float, measured: Array | None
) -> dict[str, Array]:
    """Native predictions (b,) of a sensor that returns nothing with the chance ``blind`` (b,), whatever is there.

    ``measured`` (b,) are the ranges whose likelihood is among the predictions, infinity for no return.
    """
    returns = found["returns"] * (1.0 - blind)
    kept = np.isfinite(found["range"]) & (returns > 0.5)
    changed = {
        **found,
        "range": np.where(kept, found["range"], np.float32(np.inf)),
        "returns": returns.astype(np.float32),
        "probability": np.where(kept, found["probability"] * (1.0 - blind), 1.0 - returns).astype(np.float32),
    }
    for name in ("reflected", "label", "instance", "kind"):
        changed[name] = np.where(kept, found[name], found[name].dtype.type(0))
    if measured is None:
        return changed
    returned = np.isfinite(measured)
    clutter = how.clutter * np.where(returned, 0.5 / range_max_m, 0.5)
    own = np.maximum(portable.exp(found["log_likelihood"].astype(np.float64)) - clutter, 0.0)
    own = np.where(returned, own * (1.0 - blind), own + (1.0 - how.clutter - own) * blind)
    changed["log_likelihood"] = portable.log(own + clutter).astype(np.float32)
    return changed
