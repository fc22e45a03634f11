"""Pairs of real and simulated sweeps for the experiments on learned realism: recordings, and streets of known law.

Places are split once: networks are trained on some, stopped and calibrated on others, and scored on yet others. Of the
recordings, sequences 00 and 04 of SemanticKITTI are trained on, 03 chooses, 05 and 06 are scored (the grid of 02 cannot
be inferred, so that its beams without return are unknown). The streets are
synthetic, and beams are dropped by a law that is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import resweep as rs
from experiments.c_places import DATA
from experiments.presenting import progress
from resweep.dataset.learning import pair_log
from resweep.learn.beam_pairs import BeamPair, PairConfig
from resweep.pose import Array, from_xyz_rpy
from resweep.scenes.street import StreetConfig, street

STREET, RECORDINGS = "synthetic street", "SemanticKITTI"
_SEQUENCES = {"train": ("00", "04"), "choose": ("03",), "score": ("05", "06")}
_STREETS = {"train": (21, 22, 23), "choose": (24,), "score": (25, 26)}
_WEAK = 7  # every so many lasers one is weak


@dataclass(frozen=True, eq=False)
class Split:
    """Pairs of one kind of place: to train on, to choose by, and to score."""

    name: str
    train: list[BeamPair]
    choose: list[BeamPair]
    score: list[BeamPair]


def drop_law(ranges: Array, intensity: Array, ring: Array) -> Array:
    """The probability (n,) that a return is lost: far, dark, and on weak lasers."""
    logit = -4.5 + 0.06 * ranges + 2.5 * np.exp(-intensity / 0.05) + 1.5 * (ring % _WEAK == 3)
    return np.asarray(1 / (1 + np.exp(-logit)))


def splits(fast: bool, only: str = "", cache: Path | None = None) -> list[Split]:
    """Every kind of place at hand with ``only`` in its name; with ``fast`` small streets only."""
    found = []
    if only.lower() in STREET:
        size = (32, 180, 4) if fast else (64, 512, 8)
        parts = {"train": (21, 22), "choose": (24,), "score": (25, 26)} if fast else _STREETS
        found.append(_split(STREET, parts, lambda seed: street_pairs(int(seed), *size, cache=cache)))
    if not fast and only.lower() in RECORDINGS.lower() and (DATA / "semantickitti_mini").is_dir():
        found.append(_split(RECORDINGS, _SEQUENCES, lambda number: recorded_pairs(str(number), cache)))
    return found


def _split(name: str, parts: Mapping[str, Sequence[int | str]], make: Callable[[int | str], list[BeamPair]]) -> Split:
    pairs = {
        role: [pair for item in progress(items, f"{name}, to {role}") for pair in make(item)]
        for role, items in parts.items()
    }
    return Split(name, **pairs)


def recorded_pairs(number: str, cache: Path | None) -> list[BeamPair]:
    """Every other sweep of one sequence of SemanticKITTI, simulated in a hybrid world of the others."""
    log = rs.open_log(DATA / "semantickitti_mini" / "sequences" / number)
    config = PairConfig(folds=2, most_folds=1)  # one build a sequence
    return pair_log(log, rs.HybridConfig(), config, cache=_folder(cache, f"semantickitti-{number}"))


def street_pairs(seed: int, rings: int, columns: int, sweeps: int, cache: Path | None = None) -> list[BeamPair]:
    """The pairs of a street whose returns were dropped by the law, in worlds of splats."""
    log = street_log(seed, rings, columns, sweeps)
    folder = _folder(cache, f"street-{seed}-{rings}-{columns}-{sweeps}")
    return pair_log(log, rs.SplatConfig(), PairConfig(folds=2), cache=folder, progress=False)


def street_log(seed: int, rings: int, columns: int, sweeps: int) -> rs.Log:
    """A drive through a street, whose returns were dropped by the law."""
    sensor = street_sensor(rings, columns)
    poses = np.stack([from_xyz_rpy(0.6 * (at - sweeps / 2), -1.0, 1.73) for at in range(sweeps)])
    drive = rs.Simulator(street(seed, StreetConfig(length_m=60.0)), sensor, seed=seed).run(poses)
    return rs.Log.from_sweeps(
        [_drop(sweep, [seed, at]) for at, sweep in enumerate(drive)],
        f"street {seed}",
        labels=drive.labels,
        sensor=sensor,
        empty_beams=drive.empty_beams,
    )


def _drop(sweep: rs.Sweep, key: Sequence[int]) -> rs.Sweep:
    drawn = np.random.default_rng(list(key)).random(sweep.n_beams)[sweep.beam]
    return sweep.select(drawn >= drop_law(sweep.range, sweep.intensity, sweep.ring))


def street_sensor(rings: int, columns: int) -> rs.Sensor:
    """A spinning sensor with even elevations and a little noise."""
    return rs.Sensor.model_validate(
        {
            "name": f"spinning-{rings}",
            "range_max_m": 80.0,
            "rotation_rate_hz": 10.0,
            "pattern": {
                "kind": "spinning",
                "azimuth_resolution_deg": 360.0 / columns,
                "channels": {"elevation_deg": np.linspace(-24.0, 4.0, rings).tolist()},
            },
            "beam": {"divergence_h_rad": 0.0, "divergence_v_rad": 0.0, "rays": "single"},
            "receiver": {"mode": "strongest", "range_noise_sigma_m": 0.01},
        }
    )


def _folder(cache: Path | None, name: str) -> Path | None:
    if cache is None:
        return None
    folder = cache / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder
