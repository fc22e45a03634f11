"""The bench of B, Figure 4: a single-point LiDAR before a stand of uniform vertical stems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from resweep import Sensor, Simulator, Trajectory, World
from resweep.scenes import SCENE_LABELS, stems

Array = NDArray[Any]

WIDTH_M, DEPTH_M = 10.0, 5.0  # B, 3.4.1
DIVERGENCE_RAD = 0.001  # B, 3.4.1
CUTOFF_M = 100.0  # B, 3.4.1: longer than the stand, so that every ray counts
EDGE_M = 0.5  # pulses keep this far from the ends of the stand, where part of the spot would pass beside it
HEIGHT_M = 0.5  # of the beam; the stems are 1 m tall and the spot at most 35 mm across
STEM_SIDES = 24  # the width of a stem then depends on where it is seen from by less than half a per cent
PULSE_STEP_DEG = 1e-7  # a whole scan turns by less than half the width of a hair at 35 m


def single_point_sensor(pulses: int, rays: str = "nine", n_rays: int = 9, divergence: float = DIVERGENCE_RAD) -> Sensor:
    """A LiDAR that fires ``pulses`` times along +x: `first` mode, no noise, no rounding."""
    span = (pulses - 1) * PULSE_STEP_DEG
    return Sensor.model_validate(
        {
            "name": "single-point",
            "range_max_m": 200.0,
            "wavelength_nm": 905.0,
            "rotation_rate_hz": 1.0,
            "pattern": {
                "kind": "spinning",
                "azimuth_min_deg": -span / 2,
                "azimuth_max_deg": span / 2,
                "azimuth_resolution_deg": PULSE_STEP_DEG,
                "direction": "counterclockwise",
                "channels": {"elevation_deg": [0.0]},
            },
            "beam": {"divergence_h_rad": divergence, "divergence_v_rad": divergence, "rays": rays, "n_rays": n_rays},
            "receiver": {"mode": "first", "signal_cutoff_m": CUTOFF_M},
        }
    )


@dataclass(frozen=True)
class Shots:
    """Ranges (n,) of the returns, the stand (n,) each came from, and how many pulses were fired."""

    ranges: Array
    stand: Array
    fired: int

    @property
    def lost(self) -> float:
        """Share of the pulses of which no ray hit a stem."""
        return 1.0 - len(self.ranges) / self.fired


def across(pulses: int, rng: np.random.Generator) -> Array:
    """Random places (pulses,) across the stand, off its ends."""
    half = WIDTH_M / 2 - EDGE_M
    return rng.uniform(-half, half, pulses)


def moving_sideways(distance: float, y: Array) -> Trajectory:
    """One knot for each pulse: the sensor looks along +x from ``distance`` before the stand, at ``y``."""
    poses = np.tile(np.eye(4), (len(y), 1, 1))
    poses[:, 0, 3], poses[:, 1, 3], poses[:, 2, 3] = -distance, y, HEIGHT_M
    return Trajectory(np.arange(len(y)) * (PULSE_STEP_DEG / 360.0), poses)


def stand_simulator(density: float, diameter: float, seed: int) -> Simulator:
    """A simulator of a random stand; give it a sensor with `Simulator.with_sensor`."""
    standing = stems(WIDTH_M, DEPTH_M, density, diameter, 2 * HEIGHT_M, sides=STEM_SIDES, seed=seed)
    world = World([standing], labels=SCENE_LABELS)
    return Simulator(world, single_point_sensor(2), seed=seed)


def shoot_stand(
    density: float,
    diameter: float,
    distances: tuple[float, ...],
    samplings: dict[str, dict[str, Any]],
    pulses: int,
    seed: int,
) -> Iterator[tuple[float, str, Array]]:
    """Ranges of the returns of one stand, for every distance and way of sampling the spot."""
    bench = stand_simulator(density, diameter, seed)
    y = across(pulses, np.random.default_rng([seed, 0x79]))
    for name, beam in samplings.items():
        simulator = bench.with_sensor(single_point_sensor(pulses, **beam))
        for distance in distances:
            sweep = simulator.sweep(moving_sideways(distance, y))
            yield distance, name, sweep.range.astype(np.float64)
