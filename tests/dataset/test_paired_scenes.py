"""Paired scenes: a recorded sweep and its simulation differ in what the variant says, and in nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import resweep as rs
from resweep.dataset import paired_scenes
from resweep.dataset.paired_scenes import PairedConfig, PairedScenes
from resweep.learn.boosting import BoostingConfig
from resweep.learn.fitting import FitConfig
from resweep.learn.realism import RealismConfig, fit_realism
from resweep.log import EmptyBeams
from resweep.pose import from_xyz_rpy
from resweep.scenario import builtin_bank
from resweep.scenario.replay_actors import replay_actors
from resweep.scenes import SCENE_LABELS, box, ground_plane

LOST = 0.2
FAST: dict[str, Any] = {"world": "splats", "intensity": "ideal"}


@pytest.fixture(scope="module")
def recorded() -> rs.Log:
    """A ground with blocks, and two cars beside the way; a fifth of the returns is lost."""
    world = rs.World(
        [
            ground_plane((60, 60), label=40),
            *(box((2.0, 3.0, 4.0), (x, 9.0, 0.0), label=50) for x in range(-12, 13, 6)),
        ],
        labels=SCENE_LABELS,
    )
    saloon, suv = (builtin_bank()[name] for name in ("saloon", "suv"))
    actors = [
        rs.Actor(asset.layers, from_xyz_rpy(x, -4.0), number, label=10, name="Car", size_m=asset.size_m)
        for number, (asset, x) in enumerate(((saloon, -4.0), (suv, 5.0)), start=7)
    ]
    sensor = rs.Sensor.model_validate(
        {
            "name": "spinning-32",
            "range_max_m": 60.0,
            "rotation_rate_hz": 10.0,
            "pattern": {
                "kind": "spinning",
                "azimuth_resolution_deg": 1.0,
                "channels": {"elevation_deg": np.linspace(-24.0, 4.0, 32).tolist()},
            },
            "beam": {"divergence_h_rad": 0.0, "divergence_v_rad": 0.0, "rays": "single"},
            "receiver": {"mode": "strongest", "range_noise_sigma_m": 0.01},
        }
    )
    poses = np.stack([from_xyz_rpy(0.5 * at - 1.0, 0.0, 1.8) for at in range(5)])
    drive = rs.Simulator(world, sensor, actors=actors, seed=2).run(poses)
    sweeps = [sweep.select(np.random.default_rng(at).random(len(sweep)) >= LOST) for at, sweep in enumerate(drive)]
    facts = {"labels": drive.labels, "sensor": sensor, "empty_beams": drive.empty_beams}
    return rs.Log.from_sweeps(sweeps, "drive", **facts)


@pytest.fixture(scope="module")
def scenes(recorded: rs.Log, tmp_path_factory: pytest.TempPathFactory) -> PairedScenes:
    return PairedScenes(recorded, cache=tmp_path_factory.mktemp("pairs"), progress=False, threads=1)


def run(scenes: PairedScenes, **settings: Any) -> list[Any]:
    return scenes.run(PairedConfig(**{**FAST, **settings}))


def test_a_pair_shows_the_scene_of_its_sweep(scenes: PairedScenes, recorded: rs.Log) -> None:
    pairs = run(scenes)
    assert [pair.number for pair in pairs] == list(range(len(recorded)))
    for pair in pairs:
        np.testing.assert_array_equal(pair.simulated.beam_direction, pair.real.beam_direction)
        both, one, other = np.intersect1d(pair.simulated.beam, pair.real.beam, return_indices=True)
        apart = np.abs(pair.simulated.range[one] - pair.real.range[other])
        assert len(both) > 0.6 * len(pair.real)
        assert np.median(apart) < 0.05
        assert pair.simulated.boxes.size.tolist() == pair.real.boxes.size.tolist()
        assert (pair.simulated.boxes.n_points[:2] > 20).all()  # the objects are back


def test_variants_of_drop_differ_in_their_drops_alone(scenes: PairedScenes) -> None:
    whole, true, random = (run(scenes, drop=drop) for drop in ("none", "true", "random"))
    for pair, with_true, with_random in zip(whole, true, random, strict=True):
        ranges = dict(zip(pair.simulated.beam.tolist(), pair.simulated.range.tolist(), strict=True))
        expected = np.intersect1d(pair.simulated.beam, pair.real.beam)
        np.testing.assert_array_equal(np.sort(with_true.simulated.beam), expected)
        for other in (with_true, with_random):
            assert all(
                ranges[beam] == r
                for beam, r in zip(other.simulated.beam.tolist(), other.simulated.range.tolist(), strict=True)
            )
    fired, kept, returned = (sum(len(pair.simulated) for pair in pairs) for pairs in (whole, random, true))
    assert kept / fired == pytest.approx(returned / fired, abs=0.02)  # the share that the recording lacks
    given = run(scenes, drop="random", random_share=0.5)
    assert sum(len(pair.simulated) for pair in given) / fired == pytest.approx(0.5, abs=0.02)


def test_finished_pairs_are_read_and_not_computed_again(
    scenes: PairedScenes, recorded: rs.Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(scenes)

    def fail(*arguments: Any, **options: Any) -> None:
        raise AssertionError("built again")

    monkeypatch.setattr(paired_scenes, "build", fail)
    monkeypatch.setattr(paired_scenes.Retracer, "sweep", fail)
    again = run(PairedScenes(recorded, cache=scenes.cache, progress=False), drop="true")
    assert [len(pair.real) for pair in again] == [len(pair.real) for pair in first]


def test_the_seed_fixes_what_is_drawn_with_and_without_a_cache(scenes: PairedScenes, recorded: rs.Log) -> None:
    alone = PairedScenes(recorded, progress=False, threads=1)
    one, same, other = (
        run(given, drop="random", seed=seed)[2].simulated for given, seed in ((scenes, 1), (alone, 1), (scenes, 2))
    )
    for name in ("beam", "range", "intensity", "label", "beam_status"):
        assert getattr(one, name).tobytes() == getattr(same, name).tobytes()
    assert one.beam.tobytes() != other.beam.tobytes()


def test_a_sweep_that_is_registered_takes_its_motion_along(recorded: rs.Log, tmp_path: Path) -> None:
    """Beams are fired from where the motion says, so a pose alone would move nothing."""
    shift = from_xyz_rpy(0.1, -0.2, 0.0)
    pose = recorded[1].pose
    ends = np.stack([from_xyz_rpy(-0.1), from_xyz_rpy(0.1)]) @ pose
    moving = replace(recorded[1], trajectory=rs.Trajectory(np.array([0.0, 0.2]), ends))

    class Placed:
        def place(self, sweep: rs.Sweep) -> rs.Sweep:
            return replace(sweep, pose=shift @ sweep.pose)

    for _ in range(2):  # computed, and read
        own = PairedScenes(recorded, cache=tmp_path, progress=False)
        found = own._place(1, moving, Placed(), PairedConfig())  # type: ignore[arg-type]
        assert found.trajectory is not None
        np.testing.assert_allclose(found.pose, shift @ pose, atol=1e-12)
        np.testing.assert_allclose(found.trajectory.poses, shift @ ends, atol=1e-12)


def test_an_object_never_stands_for_itself(recorded: rs.Log) -> None:
    bank = rs.build_bank(recorded)
    assert len(bank) == 2
    plane = rs.World([ground_plane((60, 60), label=40)], labels=SCENE_LABELS)
    with_itself, without = (replay_actors(recorded, plane, bank, itself=itself).actors for itself in (True, False))
    sizes = [{actor.instance: actor.size_m for actor in actors} for actors in (with_itself, without)]
    assert sizes[0].keys() == sizes[1].keys()
    assert all(sizes[0][number] != sizes[1][number] for number in sizes[0])
    alone = rs.Bank([bank[next(iter(bank))]])
    assert len(replay_actors(recorded, plane, alone, itself=False).actors) == 1


def test_pairs_teach_models_of_drops(scenes: PairedScenes) -> None:
    pairs = scenes.beam_pairs(PairedConfig(**FAST))
    assert np.mean([pair.dropped.mean() for pair in pairs]) == pytest.approx(LOST, abs=0.06)


def test_a_learned_drop_loses_as_much_as_the_recording(scenes: PairedScenes, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="needs resweep[realism]")
    pytest.importorskip("torch", reason="needs resweep[learn]")
    config = RealismConfig(drop=FitConfig(variant="trees", trees=BoostingConfig(trees=5, most_rays=10_000)))
    fit_realism(scenes.beam_pairs(PairedConfig(**FAST)), tmp_path, config, progress=False)
    model = rs.load_realism(tmp_path)
    whole = run(scenes)
    learned = scenes.run(PairedConfig(**FAST, drop="learned"), model)
    for pair, other in zip(whole, learned, strict=True):
        assert set(other.simulated.beam.tolist()) < set(pair.simulated.beam.tolist())
    fired, kept = (sum(len(pair.simulated) for pair in pairs) for pairs in (whole, learned))
    assert 1 - kept / fired == pytest.approx(LOST, abs=0.06)
    with pytest.raises(rs.ResweepError, match="has no part for intensity"):
        scenes.run(PairedConfig(world="splats", intensity="learned"), model)


def test_scattered_sweeps_lose_nothing_by_themselves(scenes: PairedScenes) -> None:
    """A world's own drops are one more variant of drop, which would count twice."""
    for ideal, scattered in zip(run(scenes), run(scenes, intensity="scattered"), strict=True):
        np.testing.assert_array_equal(scattered.simulated.beam, ideal.simulated.beam)
        assert (scattered.simulated.range != ideal.simulated.range).any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"drop": "learned"}, "drop: learned, and no model"), ({"intensity": "learned"}, "intensity: learned, and no")],
)
def test_learned_parts_need_a_model(scenes: PairedScenes, settings: dict[str, str], message: str) -> None:
    with pytest.raises(rs.ResweepError, match=message):
        run(scenes, **settings)


def test_what_cannot_be_paired_is_an_error(recorded: rs.Log) -> None:
    with pytest.raises(rs.ResweepError, match="3 sweeps are too few"):
        PairedScenes(recorded[:3])
    unknown = PairedScenes(replace(recorded, empty_beams=EmptyBeams("unknown", "no grid")), progress=False)
    for call in (unknown.run, unknown.beam_pairs):
        with pytest.raises(rs.ResweepError, match=r"beams without return are unknown \(no grid\)"):
            call()
    with pytest.raises(rs.SettingsError, match="random_share"):
        PairedConfig(random_share=0.1)
    with pytest.raises(rs.SettingsError, match="drop"):
        PairedConfig(drop="some")  # type: ignore[arg-type]
