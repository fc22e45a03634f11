"""Learned models at run time: what they drop, how they say so, and what they refuse."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep.errors import ResweepError
from resweep.learn.graphs import OnnxOps
from resweep.simulate.intensity import IntensityModel
from resweep.simulate.philox import Purpose, uniform, words
from resweep.simulate.realism import CHANNELS, RealismCard, find_channels, find_sensor_grid, load_realism
from resweep.simulate.realism.model_card import NetworkCard, write_card
from resweep.simulate.realism.onnx_network import INPUT
from resweep.worlds.layers.seen import pack_seen, unpack_seen
from resweep.worlds.observed import ObservedSpace

pytest.importorskip("onnxruntime", reason="needs resweep[realism]")
pytest.importorskip("onnx", reason="needs resweep[learn]")

RINGS, COLUMNS = 16, 96
POSE = np.eye(4)


@pytest.fixture(scope="module")
def sensor() -> rs.Sensor:
    return rs.Sensor.model_validate(
        {
            "name": "tiny",
            "range_max_m": 60.0,
            "rotation_rate_hz": 10.0,
            "pattern": {
                "kind": "spinning",
                "azimuth_resolution_deg": 360 / COLUMNS,
                "channels": {"elevation_deg": np.linspace(-15, 15, RINGS).tolist()},
            },
            "beam": {"divergence_h_rad": 0.0, "divergence_v_rad": 0.0, "rays": "single"},
            "receiver": {"mode": "strongest"},
        }
    )


@pytest.fixture(scope="module")
def world() -> rs.World:
    """A wall of splats 10 m ahead, seen from 20 m at 60 degrees, in space that was observed."""
    y, z = (axis.ravel() for axis in np.meshgrid(np.arange(-9, 9, 0.25), np.arange(-3, 3, 0.25)))
    centre = np.stack([np.full(len(y), 10.0), y, z], axis=1)
    normal = np.broadcast_to([-1.0, 0.0, 0.0], centre.shape)
    ones = np.ones(len(y))
    seen = pack_seen(7 * ones, (20 * ones, 20 * ones), (0.5 * ones, 0.5 * ones))
    labels = rs.load_labels("semantickitti")
    wall = rs.Splats(centre, normal, 0.3 * ones, label=labels.id_of("car"), reflectance=0.4, extra={"seen": seen})
    nothing = ObservedSpace(0.5, np.zeros((0, 3)), np.zeros((0, 8)), 60.0)
    return rs.World([wall], labels=labels, observed=nothing)


def write_model(folder: Path, slope: float, bias: float, kind: str = "ray", **changes: object) -> Path:
    """A model whose logit of a drop is ``bias + slope · range``."""
    ops = OnnxOps()
    logit = ops.add(ops.multiply(ops.select(INPUT, 0, 1), np.float32([slope])), np.float32([bias]))
    shape = ["n", len(CHANNELS)] if kind == "ray" else ["n", len(CHANNELS), RINGS, "columns"]
    data = ops.finish(ops.sigmoid(logit), shape)
    folder.mkdir(exist_ok=True)
    (folder / "drop.onnx").write_bytes(data)
    part = NetworkCard(file="drop.onnx", sha256=hashlib.sha256(data).hexdigest(), kind=kind, variant="by hand")  # type: ignore[arg-type]
    layout = {"rings": RINGS, "columns": COLUMNS, "elevation_deg": np.linspace(-15, 15, RINGS).tolist()}
    write_card(folder, RealismCard(**{"layout": layout, "drop": part, **changes}))
    return folder


@pytest.fixture(params=["ray", "image"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> rs.RealismModel:
    return rs.load_realism(write_model(tmp_path / "m", 0.2, -2.5, request.param))


def test_channels_are_those_of_the_primitive_hit(world: rs.World, sensor: rs.Sensor) -> None:
    simulator = rs.Simulator(world, sensor)
    sweep = simulator._with(simulator.tracer.with_hits()).sweep(POSE)
    found = find_channels(sweep, world.labels)
    column = {name: found.values[found.occupied, at] for at, name in enumerate(CHANNELS)}
    cosine = sweep.beam_direction[found.occupied, 0]
    np.testing.assert_allclose(column["range_m"], 10.0 / cosine, rtol=1e-4)
    np.testing.assert_allclose(column["incidence_deg"], np.degrees(np.arccos(cosine)), atol=0.05)
    np.testing.assert_allclose(column["original_range_m"], 20.0, rtol=0.13)  # to a level of the record
    np.testing.assert_allclose(column["original_incidence_deg"], 60.0, atol=1.5)
    np.testing.assert_allclose(column["intensity"], 0.4 * 0.5, rtol=0.06)  # as recorded, at 60 degrees
    assert set(column["class"]) == {2.0}  # vehicle
    np.testing.assert_array_equal(found.laser, sweep.beam_ring)
    image = found.to_image(RINGS, COLUMNS)
    np.testing.assert_array_equal(image.reshape(len(CHANNELS), -1)[:, found.find_cells(COLUMNS)].T, found.values)
    seen = unpack_seen(sweep.extra["seen"])
    np.testing.assert_allclose(column["original_range_m"], np.sqrt(seen.range_min_m * seen.range_max_m), rtol=1e-5)
    middle = (seen.incidence_min_deg + seen.incidence_max_deg) / 2
    np.testing.assert_allclose(column["original_incidence_deg"], middle, rtol=1e-5)


def test_every_dropped_beam_says_so_and_with_what_probability(
    world: rs.World, sensor: rs.Sensor, model: rs.RealismModel
) -> None:
    plain = rs.Simulator(world, sensor, seed=3).sweep(POSE, index=5)
    sweep = rs.Simulator(world, sensor, seed=3, realism=model).sweep(POSE, index=5)
    probability = sweep.beam_extra["drop_probability"]
    returned = plain.beam_status == rs.BeamStatus.RETURN
    expected = 1 / (1 + np.exp(2.5 - 0.2 * plain.range))
    np.testing.assert_allclose(probability[plain.beam], expected, atol=2e-4)
    assert np.isnan(probability[~returned]).all()
    drawn = uniform(words(3, 5, np.arange(sweep.n_beams), 0, Purpose.RAYDROP)[:, 0])
    dropped = sweep.beam_status == rs.BeamStatus.DROPPED_BY_MODEL
    np.testing.assert_array_equal(dropped, returned & (drawn < np.nan_to_num(probability)))
    np.testing.assert_array_equal(sweep.beam, plain.beam[~dropped[plain.beam]])
    np.testing.assert_array_equal(sweep.extra["drop_probability"], probability[sweep.beam])
    assert 0 < dropped.sum() < returned.sum()
    assert not {"seen", "cosine"} & set(sweep.extra)
    np.testing.assert_array_equal(sweep.beam_status[~dropped], plain.beam_status[~dropped])


def test_beams_are_dropped_as_often_as_the_model_says(
    world: rs.World, sensor: rs.Sensor, model: rs.RealismModel
) -> None:
    simulator = rs.Simulator(world, sensor, realism=model)
    sweeps = [simulator.sweep(POSE, index=at) for at in range(40)]
    p = np.nan_to_num(sweeps[0].beam_extra["drop_probability"].astype(np.float64))
    drops = sum(int((sweep.beam_status == rs.BeamStatus.DROPPED_BY_MODEL).sum()) for sweep in sweeps)
    z = (drops - 40 * p.sum()) / np.sqrt(40 * (p * (1 - p)).sum())
    assert abs(z) < 4


def test_the_same_seed_gives_the_same_bytes_whatever_the_threads(
    world: rs.World, sensor: rs.Sensor, model: rs.RealismModel
) -> None:
    one, two, other = (
        rs.Simulator(world, sensor, seed=seed, threads=threads, realism=model).sweep(POSE)
        for seed, threads in ((1, 1), (1, 2), (2, 1))
    )
    for name in ("beam", "range", "beam_status"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()
    assert one.beam_extra["drop_probability"].tobytes() == two.beam_extra["drop_probability"].tobytes()
    assert one.beam.tobytes() != other.beam.tobytes()


def test_recorded_beams_are_dropped_too_and_a_file_keeps_all_of_it(
    world: rs.World, sensor: rs.Sensor, model: rs.RealismModel, tmp_path: Path
) -> None:
    recorded = rs.Simulator(world, sensor).run(POSE[None])
    (sweep,) = rs.resimulate(recorded, world, realism=model)
    assert (sweep.beam_status == rs.BeamStatus.DROPPED_BY_MODEL).any()
    rs.write_sweep(sweep, tmp_path / "a.sweep")
    again = rs.load_sweep(tmp_path / "a.sweep")
    np.testing.assert_array_equal(again.beam_extra["drop_probability"], sweep.beam_extra["drop_probability"])
    np.testing.assert_array_equal(again.beam_status, sweep.beam_status)
    half = sweep.select_beams(np.arange(sweep.n_beams) % 2 == 0)
    np.testing.assert_array_equal(half.beam_extra["drop_probability"], sweep.beam_extra["drop_probability"][::2])


def test_other_layouts_are_refused(world: rs.World, sensor: rs.Sensor, tmp_path: Path) -> None:
    ray, image = (write_model(tmp_path / kind, 0.1, 0.0, kind) for kind in ("ray", "image"))
    for changes, problem in (
        ({"pattern.channels": {"elevation_deg": np.linspace(-15, 15, 32).tolist()}}, "the sweep has 32 rings"),
        ({"pattern.channels": {"elevation_deg": np.linspace(-25, 5, RINGS).tolist()}}, "elevations differ"),
    ):
        with pytest.raises(ResweepError, match=problem):
            rs.Simulator(world, sensor.with_(**changes), realism=rs.load_realism(ray)).sweep(POSE)
    fine = sensor.with_(**{"pattern.azimuth_resolution_deg": 1.0})
    assert len(rs.Simulator(world, fine, realism=rs.load_realism(ray)).sweep(POSE))
    with pytest.raises(ResweepError, match="352 columns"):
        rs.Simulator(world, fine, realism=rs.load_realism(image)).sweep(POSE)
    with pytest.raises(ResweepError, match="need the grid of a spinning sensor"):
        rs.Simulator(world, "livox-avia", realism=rs.load_realism(ray)).sweep(POSE)


def test_worlds_without_metadata_or_labels_are_refused(world: rs.World, sensor: rs.Sensor, tmp_path: Path) -> None:
    model = rs.load_realism(write_model(tmp_path / "m", 0.1, 0.0))
    with pytest.raises(ResweepError, match="does not know how its primitives were seen"):
        rs.Simulator(rs.scenes.street(seed=1), sensor, realism=model)
    nameless = rs.World(world.layers, observed=world.observed)
    with pytest.raises(ResweepError, match="what labels of this world mean is unknown"):
        rs.Simulator(nameless, sensor, realism=model).sweep(POSE)
    without = rs.load_realism(write_model(tmp_path / "n", 0.1, 0.0, classes=()))
    assert len(rs.Simulator(nameless, sensor, realism=without).sweep(POSE))


def test_another_unit_of_intensity_is_refused(world: rs.World, sensor: rs.Sensor, tmp_path: Path) -> None:
    model = rs.load_realism(write_model(tmp_path / "m", 0.1, 0.0, intensity_max=0.001))
    with pytest.raises(ResweepError, match="bring both to one unit"):
        rs.Simulator(world, sensor, realism=model).sweep(POSE)


def test_damaged_models_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ResweepError, match="there is no such folder"):
        load_realism(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ResweepError, match=r"holds no learned model \(card.json\)"):
        load_realism(tmp_path / "empty")
    folder = write_model(tmp_path / "m", 0.1, 0.0)
    card, data = (folder / "card.json").read_text(), (folder / "drop.onnx").read_bytes()
    (folder / "drop.onnx").write_bytes(data[:-5])
    with pytest.raises(ResweepError, match="is damaged"):
        load_realism(folder)
    for text, problem in (
        ("{", "cannot be read"),
        ("[1]", "is no card"),
        (card.replace("resweep-realism", "other"), "format"),
        (card.replace("occupancy", "height"), "channels"),
    ):
        (folder / "card.json").write_text(text)
        with pytest.raises(ResweepError, match=problem):
            load_realism(folder)
    (folder / "drop.onnx").write_bytes(b"no onnx at all")
    wrong = json.loads(card)
    wrong["drop"]["sha256"] = hashlib.sha256(b"no onnx at all").hexdigest()
    (folder / "card.json").write_text(json.dumps(wrong))
    with pytest.raises(ResweepError, match="is no network that is accepted"):
        load_realism(folder)


def test_networks_of_other_channels_are_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", 0.1, 0.0)
    ops = OnnxOps()
    data = ops.finish(ops.sigmoid(ops.select(INPUT, 0, 1)), ["n", 3])
    (folder / "drop.onnx").write_bytes(data)
    card = json.loads((folder / "card.json").read_text())
    card["drop"]["sha256"] = hashlib.sha256(data).hexdigest()
    (folder / "card.json").write_text(json.dumps(card))
    with pytest.raises(ResweepError, match=r"takes channels float32\[any, 3\], where there is .*\[any, 9\]"):
        load_realism(folder)


def test_layouts_of_sweeps(world: rs.World, sensor: rs.Sensor) -> None:
    sweep = rs.Simulator(world, sensor).sweep(POSE)
    layout = find_sensor_grid(sweep)
    assert (layout.rings, layout.columns) == (RINGS, COLUMNS)
    np.testing.assert_allclose(layout.elevation_deg, np.linspace(-15, 15, RINGS), atol=0.01)
    with pytest.raises(ResweepError, match="1 rings"):
        find_sensor_grid(replace(sweep, beam_ring=np.zeros(sweep.n_beams)))


def write_light(folder: Path, **changes: object) -> Path:
    """A model that gives half of the returns intensity 0 and half 0.5, in tenths, with range noise of 2 cm."""
    ops = OnnxOps()
    flat = ops.multiply(ops.concat([ops.select(INPUT, 7, 8)] * 2), np.float32([0.5]))  # half of the mark of a return
    data = ops.finish(flat, ["n", len(CHANNELS)], 2)
    folder.mkdir(exist_ok=True)
    (folder / "intensity.onnx").write_bytes(data)
    light = IntensityModel(knots=((0.0, 0.0), (0.46, 0.54)), means=(0.0, 0.5), step=0.1)
    facts = {"file": "intensity.onnx", "sha256": hashlib.sha256(data).hexdigest(), "kind": "ray", "variant": "by hand"}
    layout = {"rings": RINGS, "columns": COLUMNS, "elevation_deg": np.linspace(-15, 15, RINGS).tolist()}
    noise = {"range_edges_m": (5.0,), "incidence_edges_deg": (), "sigma_m": ((0.5,), (0.02,))}
    card = {"layout": layout, "intensity": NetworkCard(**facts, light=light), "noise": noise, **changes}
    write_card(folder, RealismCard.model_validate(card))
    return folder


def test_intensities_and_ranges_are_drawn(world: rs.World, sensor: rs.Sensor, tmp_path: Path) -> None:
    model = load_realism(write_light(tmp_path / "m"))
    plain = rs.Simulator(world, sensor, seed=4).sweep(POSE)
    one, two, later = (
        rs.Simulator(world, sensor, seed=4, threads=threads, realism=model).sweep(POSE, index=index)
        for threads, index in ((1, 0), (2, 0), (1, 1))
    )
    for name in ("range", "intensity", "points"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()
        assert getattr(one, name).tobytes() != getattr(later, name).tobytes()
    assert set(np.round(np.unique(one.intensity), 3)) == {0.0, 0.5}
    bright = int((one.intensity > 0).sum())
    assert abs(bright - len(one) / 2) < 4 * np.sqrt(len(one) / 4)
    added = one.range - plain.range
    assert np.std(added) == pytest.approx(0.02, rel=5 / np.sqrt(2 * len(one)))
    assert abs(np.mean(added)) < 4 * 0.02 / np.sqrt(len(one))
    np.testing.assert_allclose(one.points, one.range[:, None] * one.beam_direction[one.beam], atol=1e-4)


def test_noise_that_the_sensor_has_is_not_added_twice(world: rs.World, sensor: rs.Sensor, tmp_path: Path) -> None:
    noisy = sensor.with_(**{"receiver.range_noise_sigma_m": 0.02})
    model = load_realism(write_light(tmp_path / "m"))
    plain = rs.Simulator(world, noisy, seed=4).sweep(POSE)
    learned = rs.Simulator(world, noisy, seed=4, realism=model).sweep(POSE)
    np.testing.assert_array_equal(learned.range, plain.range)


def test_networks_of_other_outputs_are_refused(tmp_path: Path) -> None:
    folder = write_light(tmp_path / "m")
    card = json.loads((folder / "card.json").read_text())
    del card["intensity"]["light"]
    (folder / "card.json").write_text(json.dumps(card))
    with pytest.raises(ResweepError, match=r"intensity.light: missing"):
        load_realism(folder)
    card["intensity"]["light"] = {"knots": [[0, 1]] * 3, "means": [0, 1, 2]}
    (folder / "card.json").write_text(json.dumps(card))
    with pytest.raises(ResweepError, match=r"gives float32 of shape \[1, 2\] in place of \[1, 3\]"):
        load_realism(folder)
