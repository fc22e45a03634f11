"""A drop model learned on one sensor, used on another: what carries over, and what does not.

On synthetic streets two sensors of other rings, columns and maximum range drop beams by one law of the share of the
maximum range, of incidence and of material, and each has weak lasers of its own. The simulation that models see is
exact. A transferable model knows none of the lasers; another one is used with the wrong lasers, which Resweep itself
refuses. Both are scored on streets that the target sensor drove, beside the base rates, models of the target itself,
and the law.

RELLIS-3D has one moment seen by two sensors, an OS1-64 and a VLP-32C. What a beam should have hit is read off its
neighbours. There is one frame, without poses, and intensities have no common unit: models know range and incidence
alone, sectors of one scene are no independent places, beams without return are inferred from the grids, and a beam in a
hole of vegetation counts as lost. Whether the drops of one sensor are predicted better than by a base rate is all
that can be concluded, not how models carry over in general.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import resweep as rs
from experiments.c_places import DATA
from experiments.learned_places import street_sensor
from experiments.presenting import BLUE, GREEN, GREY, ORANGE, console, figure, main, progress, table
from resweep.calibration import find_blind_bins
from resweep.learn.beam_pairs import BeamPair
from resweep.learn.examples import join_layouts
from resweep.learn.fitting import FitConfig, FittedModel, fit
from resweep.learn.scores import measure_reliability, score_drops
from resweep.neighbours import Neighbours
from resweep.pose import Array, from_xyz_rpy
from resweep.scenes.street import StreetConfig, street
from resweep.simulate.beam_channels import CHANNELS, BeamChannels, find_turn
from resweep.simulate.sensor_grid import SensorGrid, find_sensor_grid

VARIANTS = ("base-rate", "target-rate", "transferable", "with-lasers", "target-transferable", "target", "law")
_SHOWN = ("brier", "brier_base", "log_loss", "ece", "drop_f1", "drop_f1_sampled", "mean_said")
_STREETS = {"train": (31, 32), "choose": (33,), "score": (34, 35)}
_COLOURS = {"transferable": GREEN, "with-lasers": ORANGE, "target": BLUE, "law": GREY}
_WEAK = {"wide": 5, "narrow": 3}  # every so many lasers of each sensor one is weak
_RELLIS = {"OS1-64": ("000104.bin", 120.0), "VLP-32C": ("vel000104.bin", 200.0)}
_K, _NEIGHBOURS, _NEAR_DEG, _AGREE = 16, 4, 0.6, 0.1  # of neighbours that say what a beam should have hit
_MODEL = "mlp"


def drop_law(share: Array, incidence_deg: Array, intensity: Array, weak: Array) -> Array:
    """The probability (n,) that a return is lost: far for the sensor, slanted, dark, and on weak lasers."""
    slant = np.square(np.asarray(incidence_deg, np.float64) / 80.0)
    logit = -4.2 + 4.5 * share + 1.5 * slant + 2.0 * np.exp(-np.asarray(intensity, np.float64) / 0.05) + 1.2 * weak
    return np.asarray(1 / (1 + np.exp(-logit)))


def run(fast: bool, only: str = "") -> dict[str, Any]:
    """Scores of every variant on every target."""
    rows: list[dict[str, Any]] = []
    diagrams: dict[str, Any] = {}
    if only.lower() in "synthetic street":
        pairs = _street_pairs(fast)
        for source, target in (("wide", "narrow"), ("narrow", "wide")):
            found, diagram = compare_streets(pairs[source], pairs[target], source, target, fast)
            rows += found
            diagrams[f"{source} to {target}"] = diagram
    if not fast and only.lower() in "rellis" and (DATA / "rellis3d_frame").is_dir():
        rows += compare_rellis(fast)
    return {"rows": rows, "variant": _MODEL, "_diagrams": diagrams}


def sensors(fast: bool) -> dict[str, rs.Sensor]:
    """The two sensors: one with many rings that sees far, one with few rings, finer columns and half the range."""
    wide, narrow = ((24, 160), (16, 240)) if fast else ((48, 360), (24, 512))
    rings = {"elevation_deg": np.linspace(-18.0, 8.0, narrow[0]).tolist()}
    return {
        "wide": street_sensor(*wide),
        "narrow": street_sensor(*narrow).with_(range_max_m=40.0, **{"pattern.channels": rings}),
    }


def _street_pairs(fast: bool) -> dict[str, dict[str, list[BeamPair]]]:
    """Pairs of each sensor, by what they are for."""
    return {
        name: {
            role: [pair for seed in seeds for pair in _pair_street(name, sensor, seed, 2 if fast else 6)]
            for role, seeds in progress(list(_STREETS.items()), f"streets of the {name} sensor")
        }
        for name, sensor in sensors(fast).items()
    }


def _pair_street(name: str, sensor: rs.Sensor, seed: int, sweeps: int) -> list[BeamPair]:
    """Pairs of a drive through a street: what was simulated, and what the law left of it."""
    simulator = rs.Simulator(street(seed, StreetConfig(length_m=60.0)), sensor, seed=seed)
    poses = np.stack([from_xyz_rpy(1.5 * (at - sweeps / 2), -1.0, 1.73) for at in range(sweeps)])
    return [_pair_sweep(sweep, simulator, name, [seed, at]) for at, sweep in enumerate(simulator.run(poses))]


def _pair_sweep(sweep: rs.Sweep, simulator: rs.Simulator, name: str, key: Sequence[int]) -> BeamPair:
    incidence, reach = _find_incidence(sweep, simulator), simulator.sensor.range_max_m
    values = np.zeros((sweep.n_beams, len(CHANNELS)), np.float32)
    values[:, CHANNELS.index("laser")] = sweep.beam_ring
    columns = {"range_m": sweep.range, "original_range_m": sweep.range, "intensity": sweep.intensity}
    columns |= {"incidence_deg": incidence, "original_incidence_deg": incidence, "occupancy": np.ones(len(incidence))}
    for channel, column in columns.items():
        values[sweep.beam, CHANNELS.index(channel)] = column
    chance = drop_law(sweep.range / reach, incidence, sweep.intensity, find_weak(sweep.ring, name))
    kept = np.random.default_rng(list(key)).random(len(chance)) >= chance
    returned = np.zeros(sweep.n_beams, bool)
    returned[sweep.beam[kept]] = True
    ranges, light = (values[:, CHANNELS.index(channel)] * returned for channel in ("range_m", "intensity"))
    whole = np.ones(sweep.n_beams, bool)
    channels = BeamChannels(values, find_turn(sweep), find_blind_bins(sweep.beam_direction).astype(np.int16), whole)
    return _join(channels, returned, ranges, light, f"street {key[0]}", find_sensor_grid(sweep))


def _join(
    channels: BeamChannels, returned: Array, ranges: Array, light: Array, place: str, layout: SensorGrid
) -> BeamPair:
    """A pair of beams that all count and all look where something was recorded, with no blind spots."""
    whole, none = np.ones(len(channels), bool), np.zeros(len(channels), np.float32)
    hit = np.zeros((len(channels), 3), np.float32)  # of use to intensities alone
    return BeamPair(channels, returned, ranges, light, light, whole, hit, whole, none, place, layout, False)


def _find_incidence(sweep: rs.Sweep, simulator: rs.Simulator) -> Array:
    """True incidence (n,) in degrees of the returns of a sweep that stood still."""
    direction = (sweep.beam_direction.astype(np.float64) @ sweep.pose[:3, :3].T).astype(np.float32)
    origin = np.broadcast_to((sweep.pose[:3, 3] - simulator.world.origin).astype(np.float32), direction.shape)
    hits = simulator.scene.intersect(np.ascontiguousarray(origin), direction, simulator.sensor.range_max_m)
    return np.degrees(np.arccos(np.clip(hits["cosine"][sweep.beam], 0.0, 1.0)))


def find_weak(ring: Array, name: str) -> Array:
    """Which lasers (n,) of a sensor are weak."""
    return np.asarray(np.asarray(ring, np.int64) % _WEAK[name] == 1)


def compare_streets(
    source: dict[str, list[BeamPair]],
    target: dict[str, list[BeamPair]],
    source_name: str,
    target_name: str,
    fast: bool,
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The rows of one direction, and reliability diagrams."""
    reach = {name: sensor.range_max_m for name, sensor in sensors(fast).items()}
    moved = {name: _transfer(pairs, reach[name]) for name, pairs in ((source_name, source), (target_name, target))}
    score, moved_score = target["score"], moved[target_name]["score"]
    models = {
        "transferable": (_fit(moved[source_name], fast), moved_score),
        "with-lasers": (_fit(source, fast), _limit_lasers(score, source)),
        "target-transferable": (_fit(moved[target_name], fast), moved_score),
        "target": (_fit(target, fast), score),
    }
    said = {
        name: np.concatenate([model.predict(p)[p.chosen] for p in pairs]) for name, (model, pairs) in models.items()
    }
    cuts = {name: model.part.scores["cut"] for name, (model, _) in models.items()}
    true = np.concatenate([pair.dropped for pair in score])
    said["law"] = np.concatenate([_apply_law(pair, target_name, reach[target_name]) for pair in score])
    cuts["law"] = cuts["target"]
    for name, pairs in (("base-rate", source), ("target-rate", target)):
        said[name] = np.full(len(true), np.concatenate([pair.dropped for pair in pairs["train"]]).mean())
        cuts[name] = 0.0
    rows = [_row(f"street, {source_name} to {target_name}", name, said[name], true, cuts[name]) for name in VARIANTS]
    return rows, {name: measure_reliability(said[name], true) for name in _COLOURS}


def _row(place: str, variant: str, said: Array, true: Array, cut: float) -> dict[str, Any]:
    scores = score_drops(said, true, cut)
    return {"place": place, "variant": variant, "beams": len(true), "mean_said": float(said.mean()), **scores}


def _transfer(pairs: dict[str, list[BeamPair]], range_max_m: float) -> dict[str, list[BeamPair]]:
    return {
        role: [replace(pair, channels=pair.channels.transferred(range_max_m)) for pair in part]
        for role, part in pairs.items()
    }


def _limit_lasers(pairs: list[BeamPair], source: dict[str, list[BeamPair]]) -> list[BeamPair]:
    """The pairs with lasers that the source sensor has: those beyond its last count as the last."""
    last, at = join_layouts(source["train"]).rings - 1, CHANNELS.index("laser")
    found = []
    for pair in pairs:
        values = pair.channels.values.copy()
        values[:, at] = np.minimum(values[:, at], last)
        found.append(replace(pair, channels=replace(pair.channels, values=values)))
    return found


def _fit(pairs: dict[str, list[BeamPair]], fast: bool) -> FittedModel:
    training = {"epochs": 12, "patience": 6, "learning_rate": 5e-3 if fast else 2e-3, "threads": 1}
    config = FitConfig.model_validate({"variant": _MODEL, "training": training})
    return fit("drop", pairs["train"], pairs["choose"], join_layouts(pairs["train"]), config, progress=False)


def _apply_law(pair: BeamPair, name: str, range_max_m: float) -> Array:
    """What the law itself says of the chosen beams, where the simulation has them."""
    column = {channel: pair.channels.values[pair.chosen, at] for at, channel in enumerate(CHANNELS)}
    weak = find_weak(column["laser"], name)
    return drop_law(column["range_m"] / range_max_m, column["incidence_deg"], column["intensity"], weak)


def compare_rellis(fast: bool) -> list[dict[str, Any]]:
    """Rows of the two sensors of one frame of RELLIS-3D, in both directions."""
    pairs = {name: _split_sectors(_pair_frame(*_RELLIS[name])) for name in _RELLIS}
    models = {name: _fit(parts, fast) for name, parts in pairs.items()}
    rows = []
    for source, target in (("OS1-64", "VLP-32C"), ("VLP-32C", "OS1-64")):
        score = pairs[target]["score"]
        true = np.concatenate([pair.dropped for pair in score])
        said = {
            "base-rate": np.full(len(true), np.concatenate([p.dropped for p in pairs[source]["train"]]).mean()),
            "target-rate": np.full(len(true), np.concatenate([p.dropped for p in pairs[target]["train"]]).mean()),
            "transferable": np.concatenate([models[source].predict(pair)[pair.chosen] for pair in score]),
            "target-transferable": np.concatenate([models[target].predict(pair)[pair.chosen] for pair in score]),
        }
        cuts = {"transferable": models[source], "target-transferable": models[target]}
        for name, p in said.items():
            cut = cuts[name].part.scores["cut"] if name in cuts else 0.0
            rows.append(_row(f"RELLIS, {source} to {target}", name, p, true, cut))
    return rows


def _pair_frame(file: str, range_max_m: float) -> tuple[BeamPair, Array]:
    """Beams of one frame whose neighbours hit a surface, with its range and incidence; and their azimuth."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "000000.bin").write_bytes((DATA / "rellis3d_frame" / file).read_bytes())
        sweep = rs.open_log(folder)[0]
    beam, range_m, incidence = expect_from_neighbours(sweep)
    values = np.zeros((len(beam), len(CHANNELS)), np.float32)
    columns = {"range_m": range_m, "original_range_m": range_m, "incidence_deg": incidence}
    columns |= {"original_incidence_deg": incidence, "occupancy": np.ones(len(beam))}
    for channel, column in columns.items():
        values[:, CHANNELS.index(channel)] = column
    measured = np.zeros(sweep.n_beams, np.float32)
    measured[sweep.beam] = sweep.range
    none, whole = np.zeros(len(beam), np.float32), np.ones(len(beam), bool)
    channels = BeamChannels(values, none, none.astype(np.int16), whole).transferred(range_max_m)
    direction = sweep.beam_direction[beam].astype(np.float64)
    ranges = measured[beam]
    pair = _join(channels, ranges > 0, ranges, none, file, find_sensor_grid(sweep))
    return pair, np.arctan2(direction[:, 1], direction[:, 0])


def expect_from_neighbours(sweep: rs.Sweep) -> tuple[Array, Array, Array]:
    """Beams (n,) whose nearest returned neighbours agree on a range, that range, and the incidence in degrees there.

    Neighbours are other beams within `_NEAR_DEG`. A beam's own return has no part in it.
    """
    points = sweep.points.astype(np.float64)
    normal = Neighbours(points).pca(_K, 2.0, only=("normal",)).normal.astype(np.float64)
    direction = sweep.beam_direction.astype(np.float64)
    near = Neighbours(direction[sweep.beam]).knn(direction, _NEIGHBOURS + 1, float(np.radians(_NEAR_DEG)))
    own = sweep.beam[near.index] == np.arange(sweep.n_beams)[:, None]
    used = (near.index >= 0) & ~own
    ranges = np.where(used, sweep.range[near.index].astype(np.float64), np.nan)
    beam = np.flatnonzero(used.sum(axis=1) >= _NEIGHBOURS)
    middle = np.nanmedian(ranges[beam], axis=1)
    spread = (np.nanmax(ranges[beam], axis=1) - np.nanmin(ranges[beam], axis=1)) / middle
    beam, middle = beam[spread < _AGREE], middle[spread < _AGREE]
    cosine = np.abs((normal[near.index[beam]] * direction[beam][:, None]).sum(axis=2))
    cosine = np.where(used[beam], cosine, 0.0).sum(axis=1) / used[beam].sum(axis=1)
    return beam, middle, np.degrees(np.arccos(np.clip(cosine, 0.0, 1.0)))


def _split_sectors(frame: tuple[BeamPair, Array]) -> dict[str, list[BeamPair]]:
    """The beams of a frame in twelve sectors: of each six, three to train, one to choose and two to score."""
    pair, azimuth = frame
    sector = np.floor((azimuth / (2 * np.pi) + 0.5) * 12).astype(int) % 6
    roles = {"train": (0, 2, 4), "choose": (5,), "score": (1, 3)}
    return {role: [_select(pair, np.isin(sector, chosen))] for role, chosen in roles.items()}


def _select(pair: BeamPair, rows: Array) -> BeamPair:
    channels = pair.channels
    some = BeamChannels(*(getattr(channels, name)[rows] for name in ("values", "turn", "azimuth", "surface")))
    columns = ("returned", "range", "intensity", "simulated", "counted", "hit", "known", "blind")
    return replace(pair, channels=some, **{name: getattr(pair, name)[rows] for name in columns})


def show(result: dict[str, Any]) -> None:
    """Print a table for each target."""
    for place in dict.fromkeys(row["place"] for row in result["rows"]):
        rows = [row for row in result["rows"] if row["place"] == place]
        made = table(
            f"{place}: {rows[0]['beams']:,} beams, {100 * rows[0]['drop_rate']:.1f} % dropped", "model", *_SHOWN
        )
        for row in rows:
            made.add_row(row["variant"], *(f"{row[name]:.4f}" for name in _SHOWN))
        console.print(made)


def draw(result: dict[str, Any]) -> Figure:
    """Reliability diagrams on the target sensor, one for each direction."""
    diagrams = result["_diagrams"]
    made, axes = figure(5.0 * max(len(diagrams), 1), 4.2, 1, max(len(diagrams), 1))
    for axis, (name, found) in zip(axes[0], diagrams.items(), strict=False):
        axis.plot([0, 1], [0, 1], "--", color=GREY, linewidth=1)
        for variant, diagram in found.items():
            used = np.array(diagram["count"]) > 20
            said, true = np.array(diagram["predicted"])[used], np.array(diagram["true"])[used]
            label = f"{variant}, error {diagram['error']:.3f}"
            axis.plot(said, true, "o-", color=_COLOURS[variant], markersize=3, label=label)
        axis.set_title(f"sensor {name}", fontsize=9, loc="left")
        axis.set_xlabel("predicted probability of a drop")
        axis.set_ylabel("share that was dropped")
        axis.legend(fontsize=7, frameon=False)
    return made


if __name__ == "__main__":
    main("d_transfer", __doc__ or "", run, show, draw)
