"""What a quick build leaves out: the steps that take long and bring little to a first look."""

from __future__ import annotations

from typing import Any, TypeVar

from resweep.build.settings.base import BuildConfig
from resweep.build.settings.hybrid import HybridConfig
from resweep.calibrate.config import CalibrateConfig
from resweep.errors import ResweepError
from resweep.log import Log

Settings = TypeVar("Settings", bound=BuildConfig)

# Half of what a calibration takes by default: lasers and poses come out about as good, and less certain.
QUICK_ITERATIONS, QUICK_SAMPLES = 3, 20_000


def choose_quick(config: Settings, log: Log, is_cloud: bool, reasons: dict[str, str]) -> Settings:
    """``config`` without what takes long if it is to be quick, and in ``reasons`` what that was; what was given stays.

    An error where a build of that log and kind has nothing that could be left out.
    """
    if not config.quick:
        return config
    changes: dict[str, Any] = {"refine": "none"}
    left_out = []
    if isinstance(config, HybridConfig) and not is_cloud:
        changes["evidence"] = tuple(kind for kind in config.evidence if kind != "likelihood")
        left_out += ["refinement", "the likelihood of held-out sweeps"]
    if config.calibrate is not None:
        changes["calibrate"] = _shorten(config.calibrate)
        left_out += ["azimuth bias", "the later iterations of the calibration"]
    if not left_out:
        raise ResweepError(f"log '{log.name}': quick: this build has nothing that could be left out; leave quick out")
    reasons["quick"] = f"a first look, without {', '.join(left_out)}"
    return config.model_copy(update=changes)


def _shorten(config: CalibrateConfig) -> CalibrateConfig:
    """The calibration in fewer iterations, by fewer returns, without azimuth bias; what was given stays."""
    quick = {"iterations": QUICK_ITERATIONS, "samples": QUICK_SAMPLES}
    changes = {name: value for name, value in quick.items() if name not in config.model_fields_set}
    return config.model_copy(update={**changes, "azimuth_bias_prior_m": 0.0})
