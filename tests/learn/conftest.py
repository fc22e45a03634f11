"""A tiny spinning sensor in a short street, whose beams are dropped by a known law, and pairs made of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep.learn.beam_pairs import BeamPair
from resweep.pose import Array, from_xyz_rpy
from resweep.scenes.street import StreetConfig, street
from resweep.simulate.realism import CHANNELS, BeamChannels, SensorGrid

RINGS, COLUMNS = 16, 96


def known_law(ranges: Array, ring: Array) -> Array:
    """The probability (n,) that a beam is dropped: it grows with range, and two lasers are weak."""
    return 1 / (1 + np.exp(5.0 - 0.1 * ranges - 2.0 * (ring % 8 == 3)))


@pytest.fixture(scope="session")
def tiny_sensor() -> rs.Sensor:
    """16 rings of 288 columns."""
    return rs.Sensor.model_validate(
        {
            "name": "tiny",
            "range_max_m": 60.0,
            "rotation_rate_hz": 10.0,
            "pattern": {
                "kind": "spinning",
                "azimuth_resolution_deg": 360 / (3 * COLUMNS),
                "channels": {"elevation_deg": np.linspace(-20, 5, RINGS).tolist()},
            },
            "beam": {"divergence_h_rad": 0.0, "divergence_v_rad": 0.0, "rays": "single"},
            "receiver": {"mode": "strongest"},
        }
    )


@pytest.fixture(scope="session")
def tiny_log(tiny_sensor: rs.Sensor) -> rs.Log:
    """Six sweeps through a street, of which the law dropped some returns."""
    poses = np.stack([from_xyz_rpy(0.5 * at, -1.0, 1.7) for at in range(6)])
    drive = rs.Simulator(street(1, StreetConfig(length_m=30.0)), tiny_sensor).run(poses)
    sweeps = []
    for at, sweep in enumerate(drive):
        drawn = np.random.default_rng(at).random(sweep.n_beams)
        sweeps.append(sweep.select(drawn[sweep.beam] >= known_law(sweep.range, sweep.ring)))
    facts = {"labels": drive.labels, "sensor": tiny_sensor, "empty_beams": drive.empty_beams}
    return rs.Log.from_sweeps(sweeps, "tiny", **facts)


@pytest.fixture(scope="session")
def tiny_world(tiny_log: rs.Log) -> rs.World:
    """The street as surfels."""
    return rs.build(tiny_log, rs.SurfelConfig(), progress=False)


@pytest.fixture(scope="session")
def tiny_log_folder(tiny_log: rs.Log, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log on disk."""
    folder = tmp_path_factory.mktemp("learn") / "log"
    rs.write_log(tiny_log, folder, format="sweep", progress=False)
    return folder


MakePairs = Callable[..., list[BeamPair]]


@pytest.fixture(scope="session")
def make_made_up() -> MakePairs:
    """Pairs made up of random channels, with drops by the known law and intensities by another: ``f(count, seed)``."""
    layout = SensorGrid(rings=RINGS, columns=COLUMNS, elevation_deg=np.linspace(-20, 5, RINGS).tolist())

    def make(count: int, seed: int = 0, places: int = 2) -> list[BeamPair]:
        rng = np.random.default_rng(seed)
        return [_make_up(rng, layout, f"place {at % places}") for at in range(count)]

    return make


def _make_up(rng: np.random.Generator, layout: SensorGrid, place: str) -> BeamPair:
    beams = layout.rings * layout.columns
    values = np.zeros((beams, len(CHANNELS)), np.float32)
    column = {name: values[:, at] for at, name in enumerate(CHANNELS)}
    column["laser"][:] = np.repeat(np.arange(layout.rings), layout.columns)
    occupied = rng.random(beams) < 0.9
    column["range_m"][:] = rng.uniform(3, 40, beams)
    column["intensity"][:] = rng.uniform(0, 0.6, beams)
    column["incidence_deg"][:] = rng.uniform(0, 85, beams)
    column["original_range_m"][:] = column["range_m"] * rng.uniform(0.8, 1.2, beams)
    column["original_incidence_deg"][:] = column["incidence_deg"]
    column["class"][:] = rng.integers(0, 3, beams)
    column["occupancy"][:] = 1
    laser = column["laser"].copy()
    values[~occupied] = 0
    column["laser"][:] = laser
    dropped = rng.random(beams) < known_law(column["range_m"], laser)
    light = column["intensity"] * (1 + 0.3 * (laser % 2)) + 0.05 * (column["class"] == 2)
    turn = (np.tile(np.arange(layout.columns), layout.rings) + 0.5) / layout.columns
    channels = BeamChannels(values, turn.astype(np.float32), (turn * 360).astype(np.int16), occupied)
    returned = occupied & ~dropped
    columns = (returned, np.where(returned, column["range_m"], 0), np.where(returned, light, 0).astype(np.float32))
    angle, hit = 2 * np.pi * turn, np.zeros((beams, 3), np.float32)
    hit[:, 0], hit[:, 1] = column["range_m"] * np.cos(angle), column["range_m"] * np.sin(angle)
    rest = (np.ones(beams, bool), hit, np.ones(beams, bool), np.zeros(beams, np.float32))
    return BeamPair(channels, *columns, column["intensity"].copy(), *rest, place, layout, True)
