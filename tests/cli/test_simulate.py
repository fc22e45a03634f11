"""``resweep simulate``: what it writes, and that it refuses bad input before any work."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh

from resweep.io import FORMATS, open_log
from resweep.worlds import Mesh, World

SENSOR = "velodyne-vlp-16"
PERFECT = ("receiver.range_noise_sigma_m", "receiver.range_quantisation_m", "pointing.encoder_step_rad")
EXACT = ["--rays", "single", *(word for field in PERFECT for word in ("--set", f"{field}=0"))]
WRITABLE = [name for name, entry in FORMATS.items() if entry.write or entry.write_log]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if not file.is_dir()}


@pytest.mark.parametrize("format", WRITABLE)
def test_each_format_opens_again(format: str, room: Path, drive: Path, resweep: Any) -> None:
    result = resweep("simulate", room, "-s", SENSOR, "-p", drive, "-o", "out", "--format", format)
    assert (result.status, result.err) == (0, "")
    log = open_log("out")
    returns = sum(len(sweep) for sweep in log)
    assert len(log) == 3
    assert f"out: 3 sweeps of {SENSOR} as {format}" in result.out
    assert f"{returns:,} returns on {3 * 28_928:,} beams" in result.out
    assert "real time" in result.out


def test_a_standing_pose_measures_the_room(room: Path, resweep: Any) -> None:
    args = [
        "simulate",
        room,
        "-s",
        SENSOR,
        "-p",
        "4,0,0,90",
        "--offset",
        "3,0,0",
        "-o",
        "out",
        "--sweeps",
        "2",
        *EXACT,
    ]
    assert resweep(*args).status == 0
    log = open_log("out")
    assert len(log) == 2
    # Turned to the left, 3 m further ahead is y = 3: the walls are 6, 14 (x) and 7, 13 (y) metres away.
    np.testing.assert_allclose(log.poses[1][:3, 3], [4, 3, 0], atol=1e-9)
    points = log[1].points
    np.testing.assert_allclose([points[:, 0].max(), points[:, 0].min()], [7, -13], atol=1e-3)
    np.testing.assert_allclose([points[:, 1].max(), points[:, 1].min()], [14, -6], atol=1e-3)


def test_the_drive_is_followed(room: Path, drive: Path, resweep: Any) -> None:
    assert resweep("simulate", room, "-s", SENSOR, "-p", drive, "-o", "out", "--rate", "20", *EXACT).status == 0
    log = open_log("out")
    np.testing.assert_allclose(log.times, 5 + 0.05 * np.arange(7), atol=1e-9)
    np.testing.assert_allclose(log.poses[:, 0, 3], 0.1 * np.arange(7), atol=1e-9)
    walls = log[6].world_points()
    np.testing.assert_allclose([walls[:, 0].min(), walls[:, 0].max()], [-10, 10], atol=1e-3)


def test_standing_takes_each_pose_and_a_log_is_a_source_of_poses(room: Path, drive: Path, resweep: Any) -> None:
    assert resweep("simulate", room, "-s", SENSOR, "-p", drive, "-o", "one", "--standing").status == 0
    stationary = open_log("one")
    assert len(stationary) == 8
    assert stationary[3].trajectory is None
    assert resweep("simulate", room, "-s", SENSOR, "-p", "one", "-o", "two", "--standing", "--sweeps", "4").status == 0
    np.testing.assert_array_equal(open_log("two").poses, stationary.poses[:4])


def test_the_seed_fixes_every_byte(room: Path, drive: Path, resweep: Any, tmp_path: Path) -> None:
    for name, seed, threads in (("a", 7, 1), ("b", 7, 2), ("c", 8, 2)):
        args = ["-o", name, "--seed", seed, "--threads", threads, "--sweeps", 1]
        assert resweep("simulate", room, "-s", SENSOR, "-p", drive, *args).status == 0
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert contents(tmp_path / "a")["000000.sweep"] != contents(tmp_path / "c")["000000.sweep"]
    assert open_log("a").meta["seed"] == 7


def test_settings_reach_the_sensor(room: Path, resweep: Any) -> None:
    args = ["--mode", "strongest-and-last", "--rays", "random", "--set", "beam.n_rays=4", "--set", "range_max_m=12"]
    assert resweep("simulate", room, "-s", SENSOR, "-p", "0,0,0", "-o", "out", *args).status == 0
    log = open_log("out")
    used = log.sensor
    assert used is not None
    assert (used.receiver.mode, used.receiver.max_returns) == ("strongest-and-last", 2)
    assert (used.beam.rays, used.beam.n_rays, used.range_max_m) == ("random", 4, 12.0)
    assert log[0].range.max() < 12.1


def test_kitti_poses_need_a_rate_only_to_move(room: Path, resweep: Any, tmp_path: Path) -> None:
    (tmp_path / "kitti.txt").write_text("".join(f"1 0 0 {0.1 * i} 0 1 0 0 0 0 1 0\n" for i in range(4)))
    args = ["simulate", room, "-s", SENSOR, "-p", "kitti.txt"]
    assert "no times" in resweep(*args, "-o", "a").err
    assert resweep(*args, "-o", "b", "--pose-rate", "10").status == 0
    assert len(open_log("b")) == 3
    assert resweep(*args, "-o", "c", "--standing").status == 0
    assert len(open_log("c")) == 4


def test_a_scene_and_a_saved_world_are_worlds(room: Path, resweep: Any) -> None:
    World.from_mesh(room).save("room.world")
    args = ["-s", SENSOR, "-p", "0,0,0", "-o"]
    assert resweep("simulate", "room.world", *args, "saved").status == 0
    assert resweep("simulate", room, *args, "direct").status == 0
    np.testing.assert_array_equal(open_log("saved")[0].range, open_log("direct")[0].range)
    assert resweep("simulate", "scene:meadow", "-s", SENSOR, "-p", "0,0,2.5", "-o", "meadow").status == 0
    assert open_log("meadow").meta["world"]["scene"] == "meadow"
    assert 70 in open_log("meadow")[0].label


def test_a_y_up_mesh_can_be_turned(tmp_path: Path, resweep: Any) -> None:
    trimesh.creation.box((20, 4, 20)).export(str(tmp_path / "hall.obj"))
    args = ["simulate", "hall.obj", "-s", SENSOR, "-p", "0,0,0", *EXACT, "-o"]
    assert resweep(*args, "out", "--up", "y").status == 0
    points = open_log("out")[0].points
    np.testing.assert_allclose([points[:, 1].max(), points[:, 2].max()], [10, 2], atol=1e-3)
    assert "up must be 'y' or 'z'" in resweep(*args, "no", "--up", "x").err


def test_overwrite_replaces_a_log_but_nothing_else(room: Path, resweep: Any, tmp_path: Path) -> None:
    args = ["simulate", room, "-s", SENSOR, "-p", "0,0,0", "-o"]
    assert resweep(*args, "out", "--sweeps", "2").status == 0
    assert resweep(*args, "out", "--overwrite").status == 0
    assert len(open_log("out")) == 1
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("years of work")
    assert resweep(*args, "precious", "--overwrite").status == 1
    assert (tmp_path / "precious" / "thesis.txt").read_text() == "years of work"


BAD_FILES = {
    "points.ply": "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n"
    "end_header\n1 2 3\n",
    "nan.obj": "v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    "broken.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n",
    "text.txt": "not a mesh\n",
    "scaled.txt": "2 0 0 0 0 2 0 0 0 0 2 0\n",
    "long.tum": "0 0 0 0 0 0 0 2\n1 0 0 0 0 0 0 1\n",
    "nan.tum": "0 nan 0 0 0 0 0 1\n1 0 0 0 0 0 0 1\n",
    "short.tum": "0 0 0 0 0 0 0 1\n0.05 0 0 0 0 0 0 1\n",
    "back.tum": "1 0 0 0 0 0 0 1\n0 0 0 0 0 0 0 1\n",
    "bad.yaml": "name: mine\nrange_maxm: 3\n",
    "taken/thesis.txt": "years of work",
}
GOOD = {"world": "room.obj", "--sensor": SENSOR, "--poses": "drive.tum", "-o": "out"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--sensor": "velodyne-hdl-64"}, "did you mean 'velodyne-hdl-64e'"),
        ({"--sensor": "absent.yaml"}, "absent.yaml: no such sensor file"),
        ({"--sensor": "bad.yaml"}, "did you mean 'range_max_m'"),
        ({"world": "absent.obj"}, "absent.obj: no such world"),
        ({"world": "scene:medow"}, "did you mean 'meadow'"),
        ({"world": "points.ply"}, "no faces"),
        ({"world": "nan.obj"}, "NaN"),
        ({"world": "broken.obj"}, "broken.obj"),
        ({"world": "text.txt"}, "not a mesh format"),
        ({"world": "taken"}, "taken: is no saved world"),
        ({"--poses": "absent.tum"}, "absent.tum: no such poses file"),
        ({"--poses": "scaled.txt"}, "scaled.txt, line 1"),
        ({"--poses": "long.tum"}, "long.tum, line 1"),
        ({"--poses": "nan.tum"}, "nan.tum, line 1"),
        ({"--poses": "back.tum"}, "back.tum, line 2"),
        ({"--poses": "short.tum"}, "short.tum: the poses last 0.050 s"),
        ({"--sweeps": "4"}, "4 sweeps of 'velodyne-vlp-16'"),
        ({"--poses": "1,2"}, "one pose is x,y,z"),
        ({"--poses": "1,2,inf"}, "finite"),
        ({"--offset": "1,2"}, "--offset '1,2'"),
        ({"-o": "taken"}, "taken: exists and is not empty"),
        ({"-o": "text.txt"}, "text.txt: is a file"),
        ({"-o": "text.txt/out"}, "text.txt/out: cannot be written"),
        ({"--format": "pdc"}, "did you mean 'pcd'"),
        ({"--set": "beam.ray=single"}, "did you mean 'rays'"),
        ({"--set": "bean.rays=single"}, "did you mean 'beam'"),
        ({"--set": "beam.rays"}, "expected FIELD=VALUE"),
        ({"--set": "beam.rays=[1"}, "not valid YAML"),
        ({"--set": "range_max_m=far"}, "range_max_m"),
        ({"--rays": "four"}, "beam.rays"),
        ({"--mode": "best"}, "receiver.mode"),
        ({"--rate": "100"}, "rotation_rate_hz"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    change: dict[str, str], message: str, room: Path, drive: Path, resweep: Any, tmp_path: Path
) -> None:
    for name, text in BAD_FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    before = contents(tmp_path)
    args = {**GOOD, **change}
    world = args.pop("world")
    result = resweep("simulate", world, *(word for pair in args.items() for word in pair))
    assert (result.status, result.out) == (1, "")
    lines = result.err.splitlines()
    assert all(line.startswith("resweep: error: ") for line in lines)
    assert len(lines) == 1 or all(line.startswith("resweep: error: bad.yaml: ") for line in lines)  # one a wrong field
    assert message in result.err
    assert contents(tmp_path) == before


def test_refusals_come_before_the_work(room: Path, resweep: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(*_: Any, **__: Any) -> None:
        raise AssertionError("the world was made before everything was checked")

    monkeypatch.setattr("resweep.cli.shared.inputs.open_world", work)
    for args in (["-s", "absent"], ["-p", "absent"], ["-o", room], ["-f", "absent"], ["--set", "a.b=1"]):
        options = {"-s": SENSOR, "-p": "0,0,0", "-o": "out", args[0]: args[1]}
        assert resweep("simulate", "scene:root", *(word for pair in options.items() for word in pair)).status == 1


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_locked_folder_is_refused(room: Path, resweep: Any, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    result = resweep("simulate", room, "-s", SENSOR, "-p", "0,0,0", "-o", "locked/out")
    assert result.status == 1
    assert "locked/out: cannot be written" in result.err


def test_a_first_sweep_that_fails_leaves_nothing(
    room: Path, drive: Path, resweep: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from resweep.simulate import Simulator

    def fail(self: Simulator, *args: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Simulator, "sweep", fail)
    before = contents(tmp_path)
    result = resweep("simulate", room, "-s", SENSOR, "-p", drive, "-o", "deep/out")
    assert result.status == 130
    message = "the same command goes on where it stopped (its finished sweeps are kept beside the output)"
    assert result.err == f"resweep: error: interrupted; {message}\n"
    assert contents(tmp_path) == before
    assert not (tmp_path / "deep").exists()


def test_points_of_bags_are_laid_out_as_asked(room: Path, drive: Path, resweep: Any) -> None:
    args = ["simulate", room, "-s", SENSOR, "-p", drive, "--sweeps", "1"]
    assert resweep(*args, "-o", "bag", "--format", "ros2", "--points", "ouster").status == 0
    assert {"reflectivity", "ambient", "range"} <= set(open_log("bag")[0].extra)
    assert resweep("convert", "bag", "other", "--format", "ros2", "--points", "livox").status == 0
    assert "tag" in open_log("other")[0].extra
    result = resweep(*args, "-o", "bad", "--format", "ros2", "--points", "oyster")
    assert (result.status, result.err.strip()) == (1, "resweep: error: --points 'oyster': did you mean 'ouster'?")
    result = resweep("convert", "bag", "bad", "--format", "pcd", "--points", "ouster")
    assert result.status == 1
    assert "--points ouster: lays out the points of a bag; give --format ros2 too" in result.err
    assert not Path("bad").exists()


def test_tiles_out_of_reach_are_not_read(tmp_path: Path, resweep: Any) -> None:
    """The sensor stands at one end of a long street, whose other end is damaged."""
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    at = np.repeat(np.arange(0.0, 10_000.0, 0.25), 4)  # more vertices than one chunk has
    faces = np.arange(len(at)).reshape(-1, 4)[:, [0, 1, 2]]
    street = World([Mesh(np.tile(corners, (len(at) // 4, 1)) + np.c_[at, 0 * at, 0 * at], faces)])
    path = street.save(tmp_path / "street.world")
    damaged = path / "layers/0000/vertices/c/1/0"
    damaged.write_bytes(damaged.read_bytes()[:50])
    args = ["simulate", path, "-s", SENSOR, "-o", "out", "--sweeps", "1"]
    result = resweep(*args, "-p", "5,-2,1")
    assert (result.status, result.err) == (0, "")
    result = resweep(*args, "-p", "9000,-2,1", "--overwrite")
    assert result.status != 0
    assert "layers/0000/vertices: is damaged" in result.err
