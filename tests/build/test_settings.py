"""Every setting does something: none is accepted and ignored."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

import resweep as rs
from resweep import objects
from resweep.boxes import Boxes
from resweep.build import (
    METHODS,
    CalibrateConfig,
    CloudConfig,
    DynamicConfig,
    HybridConfig,
    HybridVolumes,
    MapConfig,
    MeshConfig,
    SplatConfig,
    SplatSettings,
    SurfelConfig,
    VolumeConfig,
    VolumeSettings,
    dynamic_splats,
)
from resweep.build.plan import resolve
from resweep.calibrate.calibrate import calibrate
from resweep.calibrate.keyframes import choose_keyframes
from resweep.config import Spec
from resweep.log import Log
from resweep.objects import ObjectConfig
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.register import AlignConfig, OdometryConfig
from resweep.scenes import SCENES
from resweep.sweep import Sweep
from tests.places import LABELS, MOVING_CAR, at, plane, shrub_sweeps

Read = set[tuple[type[Spec], str]]
NEAR = MapConfig(ego_radius_m=0.5, ego_box_m=(-1, -1, -1, 1, 1, 1), range_max_m=40.0)
QUICK: dict[str, Any] = {"iterations": 1, "samples": 1000, "points_per_sweep": 2000}


def every_config() -> list[type[Spec]]:
    """Every class of settings of a build."""
    room = sys.modules["resweep.build"]  # the attribute of that name is the function
    named = (getattr(room, name) for name in room.__all__)
    found = {
        item
        for item in (*named, ObjectConfig, AlignConfig, OdometryConfig)
        if isinstance(item, type) and issubclass(item, Spec)
    }
    for item in list(found):
        found |= {part for field in item.model_fields.values() for part in nested(field.annotation)}
    return sorted(found, key=lambda item: item.__name__)


def nested(annotation: Any) -> Iterator[type[Spec]]:
    for part in (annotation, *getattr(annotation, "__args__", ())):
        if isinstance(part, type) and issubclass(part, Spec):
            yield part


@pytest.fixture(scope="module")
def read() -> Iterator[Read]:
    """The fields that code reads while small worlds of every kind are built.

    What a validator reads does not count: a setting that is only checked is ignored.
    """
    seen: Read = set()
    plain = BaseModel.__getattribute__

    def noting(self: Spec, name: str) -> Any:
        caller = sys._getframe(1).f_code
        if name in type(self).model_fields and not (caller.co_name[0] == "_" and "config" in caller.co_filename):
            seen.add((type(self), name))
        return plain(self, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Spec, "__getattribute__", noting)
        build_worlds()
        build_objects()
        find_poses()
        yield seen


def build_worlds() -> None:
    labelled = Log.from_sweeps(shrub_sweeps(4), labels=LABELS)
    unlabelled = Log.from_sweeps(shrub_sweeps(4, labelled=False))
    configs: list[Any] = [
        SplatConfig(map=NEAR, calibrate=QUICK, resample=True, thin_m=0.02),
        SplatConfig(map=NEAR, calibrate=None, method="descriptors"),
        SurfelConfig(map=NEAR, calibrate=None, voxel_m=0.2, normal_radius_m=0.5),
        MeshConfig(map=NEAR, calibrate=None, voxel_m=0.3, kernel_m=0.9),
        MeshConfig(map=NEAR, calibrate=None, method="rimls", voxel_m=0.3, kernel_m=0.9),
        MeshConfig(map=NEAR, calibrate=None, method="poisson", cell_m=0.3),
        *(
            VolumeConfig(map=NEAR, calibrate=None, method=method, permeability="extinction", rounds=1)
            for method in ("voxels", "top-down", "bottom-up", "neighbours")
        ),
    ]
    for config in configs:
        rs.build(labelled, config, progress=False)
    rs.build(unlabelled, HybridConfig(map=NEAR, calibrate=None), progress=False)
    lawn = Log.from_sweeps([Sweep.from_points(plane(4.0, 0.1, 0.003))], cloud="raw", sensor_position_known=False)
    rs.build(lawn, SplatConfig(cloud=CloudConfig(standpoints_max=2)), progress=False)
    assert len(choose_keyframes(np.tile(np.eye(4), (200, 1, 1)), CalibrateConfig())) < 200  # of a vehicle that waits
    moving = [replace(sweep, label=np.full(len(sweep), MOVING_CAR)) for sweep in shrub_sweeps(2)]
    assert dynamic_splats(Log.from_sweeps(moving, labels=LABELS), DynamicConfig())


def build_objects() -> None:
    """A car, and a person of its size, before a stationary sensor."""
    rng = np.random.default_rng(2)
    sweeps = []
    for step in range(3):
        points = rng.uniform(-1, 1, (1200, 3)) * [2.0, 0.9, 0.75]
        side = np.arange(1200) % 3
        points[side == 0, 1] = 0.9
        points[side == 1, 0] = -2.0
        points[side == 2, 2] = 0.75
        centre = np.array([[12.0, 0.0, -1.0], [12.0, 6.0, -1.0]])
        boxes = Boxes(centre, [[4.0, 1.8, 1.5]] * 2, [0.0] * 2, ["Car", "Pedestrian"], [1, 2])
        points = points + centre[np.arange(1200) % 2]
        made = Sweep.from_points(points, pose=at(0.0), timestamp=0.1 * step, intensity=rng.random(1200), boxes=boxes)
        sweeps.append(made)
    objects.build_bank(Log.from_sweeps(sweeps), ObjectConfig(min_known=0.0, min_points=10))


def find_poses() -> None:
    """A street driven by twice."""
    pytest.importorskip("kiss_icp", exc_type=ImportError)
    times = np.linspace(0.0, 0.5, 6)
    motion = Trajectory(times, np.stack([from_xyz_rpy(-4 + 8 * t, 0, 1.9) for t in times]))
    drive = rs.Simulator(SCENES["street"](seed=3), "velodyne-vlp-16", seed=5).run(motion, sweeps=3)
    log = Log.from_sweeps(list(drive))
    rs.odometry(log, OdometryConfig(warm_up=2))
    rs.align([log, log], AlignConfig())
    calibrate(log, CalibrateConfig(sweeps=2, iterations=1, window_iterations=1))


@pytest.mark.parametrize("config", every_config(), ids=lambda config: config.__name__)
def test_every_setting_is_read(config: type[Spec], read: Read) -> None:
    # The parts of a hybrid become settings of their own kind, field by field, and are read as such.
    kinds = {HybridVolumes: VolumeSettings}
    wanted = kinds.get(config, config)
    names = {name for kind, name in read if issubclass(kind, wanted)}
    assert set(config.model_fields) - names == set()


def test_every_room_has_its_settings_checked() -> None:
    names = {config.__name__ for config in every_config()}
    assert {"MapConfig", "VisibilityConfig", "CalibrateConfig", "CarveConfig", "GroupFactors", "IcpConfig"} <= names
    assert len(names) >= 19


@pytest.mark.parametrize("part", ["splats", "volumes"])
@pytest.mark.parametrize("name", ["map", "calibrate", "cloud", "reflectance"])
def test_what_holds_for_the_whole_hybrid_is_refused_of_a_part(part: str, name: str) -> None:
    with pytest.raises(rs.ResweepError, match=rf"{part}\.{name}: holds for the whole hybrid; set {name} of the hybrid"):
        HybridConfig(**{part: {name: {}}})
    kind = SplatConfig if part == "splats" else VolumeConfig
    value = None if name == "calibrate" else {}
    with pytest.raises(rs.ResweepError, match=rf"{part}\.{name}: holds for the whole hybrid"):
        HybridConfig(**{part: kind(**{name: value})})


def test_parts_of_a_hybrid_take_settings_of_their_own_kind() -> None:
    hybrid = HybridConfig(splats=SplatConfig(k=30), volumes=VolumeConfig(voxel_m=0.2))
    assert type(hybrid.splats) is SplatSettings
    assert hybrid.splats.k == 30
    assert hybrid.volumes.voxel_m == 0.2
    assert hybrid.volumes.method == "voxels"  # as given, whole
    with pytest.raises(rs.ResweepError, match="splats"):
        HybridConfig(splats=VolumeConfig())  # type: ignore[arg-type]
    with pytest.raises(rs.ResweepError, match=r"splats\.alhpa: unknown key; did you mean 'alpha'"):
        HybridConfig(splats={"alhpa": 0.3})  # type: ignore[arg-type]


def test_one_field_of_a_part_leaves_the_hybrids_other_defaults() -> None:
    """`--set volumes.tau=2` once turned the volumes on neighbours into voxels of 30 cm."""
    volumes = HybridConfig(volumes={"tau": 2.0}).volumes  # type: ignore[arg-type]
    default = HybridConfig().volumes
    assert volumes.tau == 2.0
    assert volumes.model_copy(update={"tau": default.tau}) == default


def test_the_whole_holds_for_both_parts() -> None:
    bright = {"range_exponent": 2.0, "incidence_exponent": 0.5}
    hybrid = HybridConfig(map=NEAR, calibrate=None, reflectance=bright)  # type: ignore[arg-type]
    for part in (hybrid.splat_config, hybrid.volume_config):
        assert (part.map, part.calibrate, part.reflectance.range_exponent) == (NEAR, None, 2.0)
    assert hybrid.splat_config.reflectance.incidence_exponent == 0.5


@pytest.mark.parametrize("name", METHODS)
def test_settings_in_a_world_file_make_the_same_settings(name: str) -> None:
    config = METHODS[name]
    assert type(config)(**config.model_dump(mode="json")) == config


def make_hybrid(**splats: float) -> HybridConfig:
    return HybridConfig(splats=SplatSettings(**splats))


@pytest.mark.parametrize("make", [SplatConfig, make_hybrid])
def test_long_drives_are_thinned_unless_the_settings_say_how(make):
    def choose(sweeps: int, **given: float) -> float | None:
        log = Log.from_sweeps(shrub_sweeps(2))
        long = replace(log, times=np.arange(sweeps) * 0.1, poses=np.stack([from_xyz_rpy(at) for at in range(sweeps)]))
        config = resolve(long, make(**given)).config
        return config.thin_m if isinstance(config, SplatConfig) else config.splats.thin_m

    assert (choose(40), choose(41)) == (0.0, 0.03)
    assert (choose(40, thin_m=0.01), choose(41, thin_m=0.0)) == (0.01, 0.0)
