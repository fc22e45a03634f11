"""Without labels, beams decide what lets them through: how many pass, and which world predicts held-out ones better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import resweep as rs
from resweep.build import HybridConfig, Map, MapConfig, accumulate
from resweep.build.hybrid import evidence
from resweep.build.hybrid.evidence import gather_evidence
from resweep.build.hybrid.hybrid import find_permeable
from resweep.labels import UNKNOWN_LABELS
from resweep.pose import Array, from_xyz_rpy
from resweep.scenes import Label, box, ground_plane
from resweep.worlds import Splats, Volumes
from tests.places import LABELS

CONFIG = HybridConfig(calibrate=None, map=MapConfig(ego_radius_m=0.0, moving="none"), refine="none")
Seen = tuple[Map, Array]


def loose_leaves(at: tuple[float, float, float], seed: int, count: int = 700) -> rs.Mesh:
    """Leaves of 6 cm that hang in a ball of 1 m radius."""
    rng = np.random.default_rng(seed)
    centre = np.array(at) + rng.standard_normal((count, 3)) * 0.45
    corners = centre[:, None] + 0.04 * rng.standard_normal((count, 3, 3))
    return rs.Mesh(corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3), int(Label.VEGETATION), 0.4)


@pytest.fixture(scope="module")
def seen() -> Seen:
    """The map of a garden without labels, two shrubs before a wall, from nine places; the true label of each point."""
    shrubs = [loose_leaves((6.0, y, 1.3), seed) for seed, y in ((1, -2.5), (2, 2.5))]
    wall = box((0.3, 14.0, 3.0), (10.0, 0.0, 1.5), label=int(Label.BUILDING))
    world = rs.World([ground_plane((24, 24), label=int(Label.ROAD)), wall, *shrubs])
    poses = np.stack([from_xyz_rpy(0.1 * step, 0.15 * (step - 4), 1.4) for step in range(9)])
    drive = rs.Simulator(world, "velodyne-vlp-16", seed=3).run(poses)
    labelled = list(drive)
    log = drive.with_sweeps([replace(sweep, label=np.zeros_like(sweep.label)) for sweep in labelled], labels=LABELS)
    return Map.from_log(log, CONFIG.map), accumulate(rs.Log.from_sweeps(labelled), CONFIG.map).label


def test_beams_pass_shrubs_and_no_walls(seen: Seen) -> None:
    map, label = seen
    passed = gather_evidence(map, CONFIG.model_copy(update={"evidence": ("permeability",)})).passed
    assert passed is not None
    assert np.median(passed[label == Label.VEGETATION]) > 0.3
    assert np.median(passed[label == Label.BUILDING]) < 0.05


def test_volumes_predict_shrubs_better_and_walls_worse(seen: Seen) -> None:
    map, label = seen
    found = gather_evidence(map, CONFIG)
    gain, known = found.gain, found.gain_known
    assert gain is not None
    assert known is not None
    assert known.mean() > 0.9
    assert gain[known & (label == Label.VEGETATION)].mean() > CONFIG.gain_min
    assert gain[known & (label == Label.BUILDING)].mean() < 0.5 * CONFIG.gain_min  # it is also seen behind leaves
    assert gain[known & (label == Label.ROAD)].mean() < 0.0


def test_both_kinds_of_evidence_in_one_pass_are_those_of_two(seen: Seen) -> None:
    map, _ = seen
    alone = gather_evidence(map, CONFIG.model_copy(update={"evidence": ("permeability",)})).passed
    np.testing.assert_array_equal(gather_evidence(map, CONFIG).passed, alone)


def test_an_unlabelled_hybrid_takes_shrubs_for_volumes_and_walls_for_splats(seen: Seen) -> None:
    map, label = seen
    permeable = find_permeable(map, CONFIG)
    assert permeable[label == Label.VEGETATION].mean() > 0.7
    assert permeable[label == Label.BUILDING].mean() < 0.25
    assert permeable[label == Label.ROAD].mean() < 0.02
    splats, volumes = rs.build(map.beam_log, CONFIG, progress=False).layers
    assert isinstance(splats, Splats)
    assert isinstance(volumes, Volumes)
    assert volumes.extra["count"].sum() == pytest.approx(permeable.sum(), rel=0.02)  # each point makes one or the other


def test_labels_are_believed_and_two_sweeps_hold_none_out(seen: Seen) -> None:
    map, label = seen
    labelled = map.with_cloud(replace(map.cloud, label=label))
    assert np.array_equal(find_permeable(labelled, CONFIG), label == Label.VEGETATION)
    gaps = map.with_cloud(replace(map.cloud, label=np.where(np.arange(len(label)) % 20 == 0, 0, label)))
    plain = CONFIG.model_copy(update={"evidence": ()})
    assert np.array_equal(*(find_permeable(gaps, config) for config in (CONFIG, plain)))
    few = map.select_sweeps([0, 1])
    alone = CONFIG.model_copy(update={"evidence": ("permeability",)})
    assert np.array_equal(*(find_permeable(few, config) for config in (CONFIG, alone)))


def test_a_full_refinement_overrules_labels_where_held_out_beams_say_so(seen: Seen) -> None:
    """One of the two shrubs is labelled a building, and half of the road vegetation."""
    map, label = seen
    left = map.cloud.points[:, 1] > 0
    shrub, road = (left & (label == kind) for kind in (Label.VEGETATION, Label.ROAD))
    wrong = np.where(shrub, int(Label.BUILDING), np.where(road, int(Label.VEGETATION), label))
    mislabelled = map.with_cloud(replace(map.cloud, label=wrong.astype(label.dtype)))
    ways = [CONFIG.model_copy(update={"refine": how}) for how in ("fast", "full")]
    believed, judged = (find_permeable(mislabelled, config) for config in ways)
    np.testing.assert_array_equal(believed, wrong == Label.VEGETATION)
    assert judged[shrub].mean() > 0.6
    assert judged[road].mean() < 0.5
    assert judged[~left & (label == Label.VEGETATION)].mean() > 0.9
    assert judged[~left & (label == Label.ROAD)].mean() < 0.02


def test_labels_of_unknown_meaning_are_not_believed(seen: Seen) -> None:
    map, label = seen
    unknown = replace(map.with_cloud(replace(map.cloud, label=label)), labels=UNKNOWN_LABELS)
    plain = CONFIG.model_copy(update={"evidence": ()})
    assert np.array_equal(find_permeable(unknown, plain), find_permeable(map, plain))


def test_beams_are_predicted_as_wide_as_they_were_learned(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sensor of the log need not be in the catalog, and its sweeps need not name one."""
    map, _ = seen
    wide = rs.load_sensor("velodyne-vlp-16").with_(name="mine", **{"beam.rays": "single"})
    slopes: list[float] = []
    find_gains = evidence._beam_gains
    monkeypatch.setattr(
        evidence, "_beam_gains", lambda beams, scenes, slope: slopes.append(slope) or find_gains(beams, scenes, slope)
    )
    gather_evidence(replace(map, log=replace(map.beam_log, sensor=wide)), CONFIG)
    assert set(slopes) == {wide.beam_slope}
    assert wide.beam_slope > 0.001
