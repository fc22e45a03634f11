"""Without labels, beams tell what lets them through: how many pass, and which world foretells held-out ones better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import resweep as rs
from resweep.labels import load_labels
from resweep.pose import Array, from_xyz_rpy
from resweep.reconstruction import HybridConfig, MapConfig, accumulate
from resweep.reconstruction.hybrid.evidence import share_passed, volumes_gain
from resweep.reconstruction.hybrid.hybrid import permeable_points
from resweep.reconstruction.map.accumulate import Cloud
from resweep.scenes import Label, box, ground_plane
from resweep.worlds import Splats, Volumes

CONFIG = HybridConfig(calibrate=None, map=MapConfig(ego_radius_m=0.0, moving="none"))


def loose_leaves(at: tuple[float, float, float], seed: int, count: int = 700) -> rs.Mesh:
    """Leaves of 6 cm that hang in a ball of 1 m radius."""
    rng = np.random.default_rng(seed)
    centre = np.array(at) + rng.standard_normal((count, 3)) * 0.45
    corners = centre[:, None] + 0.04 * rng.standard_normal((count, 3, 3))
    return rs.Mesh(corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3), int(Label.VEGETATION), 0.4)


@pytest.fixture(scope="module")
def seen() -> tuple[rs.Log, Cloud, Array]:
    """A garden without labels: two shrubs before a wall, from nine places; its map; the true label of each point."""
    shrubs = [loose_leaves((6.0, y, 1.3), seed) for seed, y in ((1, -2.5), (2, 2.5))]
    wall = box((0.3, 14.0, 3.0), (10.0, 0.0, 1.5), label=int(Label.BUILDING))
    world = rs.World([ground_plane((24, 24), label=int(Label.ROAD)), wall, *shrubs])
    poses = np.stack([from_xyz_rpy(0.1 * step, 0.15 * (step - 4), 1.4) for step in range(9)])
    told = list(rs.Simulator(world, "velodyne-vlp-16", seed=3).run(poses))
    log = rs.Log.from_sweeps([replace(sweep, label=np.zeros_like(sweep.label)) for sweep in told], "garden")
    return log, accumulate(log, CONFIG.map), accumulate(rs.Log.from_sweeps(told, "told"), CONFIG.map).label


def test_beams_pass_shrubs_and_no_walls(seen: tuple[rs.Log, Cloud, Array]) -> None:
    log, cloud, label = seen
    passed = share_passed(cloud, log, CONFIG, load_labels("semantickitti"))
    assert np.median(passed[label == Label.VEGETATION]) > 0.3
    assert np.median(passed[label == Label.BUILDING]) < 0.05


def test_volumes_foretell_shrubs_better_and_walls_worse(seen: tuple[rs.Log, Cloud, Array]) -> None:
    log, cloud, label = seen
    gain, known = volumes_gain(cloud, log, CONFIG, load_labels("semantickitti"))
    assert known.mean() > 0.9
    assert gain[known & (label == Label.VEGETATION)].mean() > CONFIG.gain_min
    assert gain[known & (label == Label.BUILDING)].mean() < 0.5 * CONFIG.gain_min  # it is also seen behind leaves
    assert gain[known & (label == Label.ROAD)].mean() < 0.0


def test_an_unlabelled_hybrid_takes_shrubs_for_volumes_and_walls_for_splats(
    seen: tuple[rs.Log, Cloud, Array],
) -> None:
    log, cloud, label = seen
    told = permeable_points(cloud, log, CONFIG, load_labels("semantickitti"))
    assert told[label == Label.VEGETATION].mean() > 0.7
    assert told[label == Label.BUILDING].mean() < 0.25
    assert told[label == Label.ROAD].mean() < 0.02
    splats, volumes = rs.build(log, CONFIG, progress=False).layers
    assert isinstance(splats, Splats)
    assert isinstance(volumes, Volumes)
    assert volumes.extra["count"].sum() == pytest.approx(told.sum(), rel=0.02)  # each point makes one or the other


def test_labels_are_believed_and_two_sweeps_hold_none_out(seen: tuple[rs.Log, Cloud, Array]) -> None:
    log, cloud, label = seen
    labelled = replace(cloud, label=label)
    told = permeable_points(labelled, log, CONFIG, load_labels("semantickitti"))
    assert np.array_equal(told, label == Label.VEGETATION)
    gaps = replace(cloud, label=np.where(np.arange(len(label)) % 20 == 0, 0, label))
    plain = CONFIG.model_copy(update={"evidence": ()})
    assert np.array_equal(
        *(permeable_points(gaps, log, config, load_labels("semantickitti")) for config in (CONFIG, plain))
    )
    few = accumulate(log[:2], CONFIG.map)
    alone = CONFIG.model_copy(update={"evidence": ("permeability",)})
    assert np.array_equal(
        *(permeable_points(few, log[:2], config, load_labels("semantickitti")) for config in (CONFIG, alone))
    )
