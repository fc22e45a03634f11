"""Settings that a log cannot be built with: an error says so, so that nothing is accepted and ignored."""

from __future__ import annotations

from resweep.build.settings.base import BuildConfig
from resweep.build.settings.hybrid import HybridConfig
from resweep.config import Spec
from resweep.errors import ResweepError
from resweep.log import Log

MIN_TRIAL_SWEEPS = 3  # of which one is held out to judge a trial; chosen by hand

# What the estimator of a sensor at rest has no use for.
UNREAD_AT_REST = ("volumes", "permeable", "vote_k", "evidence", "passed_min", "gain_min")


def check_refinement(log: Log, config: BuildConfig, is_cloud: bool) -> None:
    """Raise for a refinement that the log has too few sweeps for, or no beams."""
    if is_cloud and config.refine != "none" and "refine" in config.model_fields_set:
        raise ResweepError(f"log '{log.name}': refining follows beams, which a cloud does not have; set refine to none")
    if config.refine == "full" and len(log) < MIN_TRIAL_SWEEPS:
        raise ResweepError(
            f"log '{log.name}': refine full holds sweeps out for a trial and needs {MIN_TRIAL_SWEEPS}, this log has "
            f"{len(log)}; take fast"
        )


def check_visibility(log: Log, config: BuildConfig) -> None:
    """Raise for a log that has too few sweeps to see through what moved."""
    passes = config.map.visibility.passes
    if config.map.moving == "visibility" and len(log) <= passes:
        raise ResweepError(
            f"log '{log.name}': map.moving visibility takes {passes} other sweeps that see through what moved, this "
            f"log has {len(log)} in all; set map.moving to none, or give more sweeps"
        )


def check_unread_at_rest(log: Log, config: HybridConfig, tile_m: float | None) -> None:
    """Raise for settings that would be accepted and ignored where a sensor stood still."""
    unread = [name for name in UNREAD_AT_REST if differs(config, name)]
    if tile_m is not None:
        unread.append("tile_m")
    if config.refine != "none" and "refine" in config.model_fields_set:
        unread.append("refine")
    if config.quick:
        unread.append("quick")
    if unread:
        raise ResweepError(
            f"log '{log.name}': its sensor stood still, so that each direction is learned by itself and "
            f"{', '.join(unread)} would be ignored; leave that out, or set stationary to never"
        )


def check_tiles_for_workers(config: BuildConfig, stationary: bool) -> None:
    """Raise if a build cannot be divided into tiles, which workers would build."""
    if stationary:
        raise ResweepError(
            "workers: the world of a sensor that stood still is built in one piece, by one process; give none, or "
            "set stationary to never"
        )
    if not config.can_be_tiled:
        raise ResweepError(
            "workers: this method needs the whole map in one piece, which one process builds; give none, or take "
            "a method that builds by tiles, such as hybrid or splats"
        )


def differs(config: BuildConfig, name: str) -> bool:
    """Whether a setting was given another value than its default."""
    default, given = type(config).model_fields[name].get_default(), getattr(config, name)
    if isinstance(given, Spec):  # the reach was left open, and chosen since
        given, default = (part.model_copy(update={"neighbour_slope": None}) for part in (given, default))
        return dict(given) != dict(default)
    return bool(given != default)
