"""How many pulses a sweep has, and how long it lasts: refused before anything is reserved for it."""

from __future__ import annotations

from resweep.errors import SettingsError
from resweep.sensors.patterns import Block, Pattern, Raster, Rosette, Spinning, TwoBlock, count_steps

MAX_PULSES = 500_000_000  # of a sweep: a terrestrial scanner at 0.01 degrees has 360 million
MAX_TURN_PULSES = 4_000_000  # of a head that turns: 128 channels at 0.012 degrees; none of today's has half a million
_MIN_PERIOD_S, _MAX_PERIOD_S = 1e-4, 86_400.0
_MIN_PACKETS, _MIN_LOWER_PACKETS = 16.0, 2.0


def check_sweep_size(pattern: Pattern, rate_hz: float, period_s: float) -> None:
    """Raise a `SettingsError` for a sweep that no sensor has; ``rate_hz`` is that of a head that turns."""
    if not _MIN_PERIOD_S <= period_s <= _MAX_PERIOD_S:
        problem = f"a sweep of {period_s:.3g} s; sweeps last {_MIN_PERIOD_S:g} s to a day"
        raise SettingsError("pattern", f"{problem}; check its rates")
    turns = isinstance(pattern, Spinning | TwoBlock)
    count, most = _count_pulses(pattern, rate_hz), MAX_TURN_PULSES if turns else MAX_PULSES
    if count > most:
        raise SettingsError("pattern", f"gives {count:,} pulses a sweep, {most:,} at most; take wider steps")
    for name, block in _list_blocks(pattern).items():
        delay = max(block.firing_time_s or (0.0,))
        if delay > period_s:
            raise SettingsError(
                f"pattern.{name}.firing_time_s", f"{delay:g} s is longer than a turn, {period_s:g} s; check the unit"
            )


def _list_blocks(pattern: Pattern) -> dict[str, Block]:
    if isinstance(pattern, TwoBlock):
        return {"upper": pattern.upper, "lower": pattern.lower}
    return {"channels": pattern.channels} if isinstance(pattern, Spinning) else {}


def _count_pulses(pattern: Pattern, rate_hz: float) -> int:
    """Pulses of a sweep; raises where the steps are too wide or too narrow for a turn."""
    if isinstance(pattern, Rosette):
        return round(pattern.points_per_second * pattern.frame_s)
    if isinstance(pattern, Raster):
        return pattern.n_lines * pattern.n_per_line
    if isinstance(pattern, TwoBlock):
        return _count_packets(pattern, rate_hz) * pattern.upper.n_channels
    assert isinstance(pattern, Spinning)
    step_deg = pattern.azimuth_step_deg(rate_hz)
    if step_deg > 180.0:
        raise SettingsError("pattern.firing_period_s", "the head turns more than 180° between two steps; check units")
    return count_steps(pattern.azimuth_max_deg - pattern.azimuth_min_deg, step_deg) * pattern.channels.n_channels


def _count_packets(pattern: TwoBlock, rate_hz: float) -> int:
    packets = pattern.steps_per_turn(rate_hz)
    if packets < _MIN_PACKETS:
        raise SettingsError("pattern.laser_rate_hz", "fewer than 16 packets a turn; give pulses per second of a block")
    if packets * pattern.lower_packets / (pattern.upper_packets + pattern.lower_packets) < _MIN_LOWER_PACKETS:
        raise SettingsError("pattern.lower_packets", "fewer than 2 packets of the lower block a turn; give it more")
    return count_steps(360.0, pattern.upper_step_deg(rate_hz))
