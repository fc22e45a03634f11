"""Logs as folders: written whole or not at all, opened lazily by what they hold."""

from __future__ import annotations

import importlib.util
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import FORMATS, open_log, write_log, write_poses, write_sweep
from resweep.log import Log
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.sweep import Sweep

# Bags need the package rosbags, which a plain install does without.
WRITABLE = [
    name
    for name, entry in FORMATS.items()
    if (entry.write or entry.write_log) and (name != "ros2" or importlib.util.find_spec("rosbags"))
]
# Nobody knows what the labels here mean, and they are to come back as they are.
OPTIONS: dict[str, dict[str, Any]] = {"nuscenes": {"lidarseg": False}, "semantickitti": {"relabel": False}}
ONE_FILE_EACH = [name for name in WRITABLE if name != "ros2"]  # a bag keeps all sweeps in one file


@pytest.mark.parametrize("format", WRITABLE)
def test_round_trip(format: str, log: Log, tmp_path: Path) -> None:
    write_log(log, tmp_path / "out", format=format, progress=False, **OPTIONS.get(format, {}))
    back = open_log(tmp_path / "out")
    assert len(back) == len(log)
    np.testing.assert_array_equal(back.times, log.times)
    np.testing.assert_allclose(back.poses, log.poses, rtol=0, atol=1e-8)
    for at, sweep in enumerate(back):
        assert sweep.timestamp == log.times[at]
        # At UTM coordinates, through whichever frame the format writes.
        assert np.abs(sweep.world_points() - log[at].world_points()).max() < 1e-4
    assert (back.name, back.sensor_name, back.meta["seed"]) == ("drive", log.sensor_name, 7)
    assert back.meta["config"] == {"rays": 9, "pose": [[1, 0], [0, 1]]}
    record = json.loads((tmp_path / "out" / "log.json").read_text())
    assert {"resweep", "numpy", "python"} == set(record["versions"])
    assert [item.name for item in tmp_path.iterdir()] == ["out"]


def test_world_frame_of_bare_points_is_not_moved_twice(tmp_path: Path, log: Log) -> None:
    near = [replace(s, pose=from_xyz_rpy(1, 2, 3, yaw=1), trajectory=None) for s in log]
    write_log(Log.from_sweeps(near), tmp_path / "out", format="kitti", frame="world", progress=False)
    back = open_log(tmp_path / "out")[1]
    np.testing.assert_allclose(back.world_points(), near[1].world_points(), atol=1e-4)


def test_opening_loads_nothing(log: Log, tmp_path: Path) -> None:
    write_log(log, tmp_path / "out", format="sweep", progress=False)
    for file in (tmp_path / "out").glob("*.sweep"):
        file.write_bytes(b"broken")
    part = open_log(tmp_path / "out")[1:]
    assert len(part) == 2
    with pytest.raises(ResweepError, match=r"000001\.sweep"):
        part[0]


def test_existing_folder(log: Log, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    write_log(log, out, format="pcd", progress=False)  # an empty folder is no obstacle
    with pytest.raises(ResweepError, match="exists and is not empty"):
        write_log(log, out, format="ply", progress=False)
    write_log(log, out, format="ply", overwrite=True, progress=False)
    assert {file.suffix for file in out.iterdir()} == {".ply", ".txt", ".json"}


def test_only_logs_are_overwritten(log: Log, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years of work")
    with pytest.raises(ResweepError, match="is no log, so it is not overwritten"):
        write_log(log, tmp_path / "thesis", overwrite=True, progress=False)
    assert (tmp_path / "thesis" / "chapter.tex").exists()


@pytest.mark.parametrize("format", WRITABLE)
def test_failure_leaves_the_old_log(format: str, log: Log, tmp_path: Path) -> None:
    write_log(log[:1], tmp_path / "out", format="sweep", progress=False)

    def fails(at: int) -> Sweep:
        if at == 2:
            raise KeyboardInterrupt
        return log[at]

    for target in ("out", "deep/er/new"):
        with pytest.raises(KeyboardInterrupt):
            write_log(
                replace(log, load=fails),
                tmp_path / target,
                format=format,
                overwrite=True,
                progress=False,
                **OPTIONS.get(format, {}),
            )
    assert [item.name for item in tmp_path.iterdir()] == ["out"]
    assert len(open_log(tmp_path / "out")) == 1


def test_converting_onto_itself(log: Log, tmp_path: Path) -> None:
    write_log(log, tmp_path / "out", format="pcd", progress=False)
    write_log(open_log(tmp_path / "out"), tmp_path / "out", format="sweep", overwrite=True, progress=False)
    assert np.abs(open_log(tmp_path / "out")[2].points - log[2].points).max() < 1e-5


def test_missing_sweeps_are_noticed(log: Log, tmp_path: Path) -> None:
    write_log(log, tmp_path / "out", format="pcd", progress=False)
    (tmp_path / "out" / "000001.pcd").unlink()
    with pytest.raises(ResweepError, match=r"counts 3 sweeps, the folder holds 2"):
        open_log(tmp_path / "out")


def test_bare_folders(log: Log, tmp_path: Path) -> None:
    for at, name in enumerate(("scan_2", "scan_10", "scan_1")):
        write_sweep(log[(1, 2, 0)[at]], tmp_path / "bin" / f"{name}.bin")
        write_sweep(log[(1, 2, 0)[at]], tmp_path / "pcd" / f"{name}.pcd")
    bare = open_log(tmp_path / "bin")
    assert not bare.poses_known
    np.testing.assert_allclose(bare.times, [0, 0.1, 0.2])
    np.testing.assert_allclose(bare[2].points, log[2].deskewed(), atol=1e-5)  # 10 after 2
    own = open_log(tmp_path / "pcd")  # these files know where they stood
    np.testing.assert_array_equal(own.poses, log.poses)
    np.testing.assert_array_equal(own.times, log.times)


def test_poses_given(log: Log, tmp_path: Path) -> None:
    for at in range(3):
        write_sweep(log[at], tmp_path / "bin" / f"{at}.bin")
    write_poses(log.trajectory, tmp_path / "p.txt")
    given: list[Any] = [tmp_path / "p.txt", log.trajectory]
    for poses in given:
        placed = open_log(tmp_path / "bin", poses=poses)
        np.testing.assert_array_equal(placed.times, log.times)
        assert np.abs(placed[1].world_points() - log[1].world_points()).max() < 1e-4
    np.testing.assert_array_equal(open_log(tmp_path / "bin", poses=log.poses).poses, log.poses)
    with pytest.raises(ResweepError, match="2 for the 3 sweeps"):
        open_log(tmp_path / "bin", poses=log.poses[:2])


def test_raw_points_take_the_motion_of_the_poses(log: Log, tmp_path: Path) -> None:
    raw = replace(log[0], trajectory=None)
    write_sweep(raw, tmp_path / "raw.pcd")
    motion = log[0].trajectory
    assert motion is not None
    sweep = open_log(tmp_path / "raw.pcd", poses=Trajectory(motion.times, motion.poses), raw=True)[0]
    np.testing.assert_allclose(sweep.deskewed(), log[0].deskewed(), atol=1e-5)
    assert np.abs(sweep.deskewed() - sweep.points).max() > 0.5


def test_motion_follows_other_poses(log: Log, tmp_path: Path) -> None:
    write_log(log, tmp_path / "out", format="pcd", progress=False)
    moved = from_xyz_rpy(5, 6, 7, yaw=0.5) @ log.poses
    back = open_log(tmp_path / "out", poses=moved)
    np.testing.assert_allclose(back[1].deskewed(), log[1].deskewed(), atol=1e-4)
    np.testing.assert_array_equal(back[1].pose, moved[1])


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(ResweepError, match="no log in it"):
        open_log(tmp_path)
    with pytest.raises(ResweepError, match="no such file"):
        open_log(tmp_path / "missing")
    with pytest.raises(ResweepError, match="did you mean 'semantickitti'"):
        open_log(tmp_path, format="semantic-kitti")


def test_single_file(sweep: Sweep, tmp_path: Path) -> None:
    write_sweep(sweep, tmp_path / "one.sweep")
    log = open_log(tmp_path / "one.sweep")
    assert len(log) == 1
    np.testing.assert_array_equal(log[0].range, sweep.range)


def test_refined_poses_in_the_folder_win(log: Log, tmp_path: Path) -> None:
    write_log(log, tmp_path / "out", format="pcd", progress=False)
    refined = from_xyz_rpy(0.5, yaw=0.01) @ log.poses
    write_poses(Trajectory(log.times, refined), tmp_path / "out" / "poses.txt")
    back = open_log(tmp_path / "out")
    for at in range(3):
        np.testing.assert_allclose(back[at].pose, back.poses[at], rtol=0, atol=1e-7)
        np.testing.assert_allclose(back[at].deskewed(), log[at].deskewed(), atol=1e-4)


def test_files_that_know_their_pose_but_not_their_time(log: Log, tmp_path: Path) -> None:
    for at in range(3):
        write_sweep(replace(log[at], timestamp=log.times[0]), tmp_path / f"{at}.ply", frame="deskewed")
    back = open_log(tmp_path, rate_hz=5)
    np.testing.assert_allclose(back.times, [0, 0.2, 0.4])
    np.testing.assert_array_equal(back.poses, log.poses)
    assert back[2].timestamp == back.times[2]
    assert back[2].time[-1] - back[2].timestamp == pytest.approx(log[2].time[-1] - log.times[0], abs=1e-6)


def test_point_times_counted_from_the_sweep(tmp_path: Path) -> None:
    poses = Trajectory(100.0 + np.arange(3.0), np.tile(np.eye(4), (3, 1, 1)))
    for at in range(3):
        rows = "1 2 3 0\n1 2 4 0.05\n"
        lines = [
            "ply",
            "format ascii 1.0",
            "element vertex 2",
            *(f"property double {n}" for n in ("x", "y", "z", "time")),
        ]
        (tmp_path / f"{at}.ply").write_text("\n".join([*lines, "end_header", rows]))
    write_poses(poses, tmp_path / "poses.txt")
    np.testing.assert_allclose(open_log(tmp_path)[1].time, [101, 101.05])


def test_unknown_options_and_times_that_stand_still(log: Log, tmp_path: Path) -> None:
    with pytest.raises(ResweepError, match="did you mean 'encoding'"):
        write_log(log, tmp_path / "out", format="pcd", encodign="ascii", progress=False)
    with pytest.raises(ResweepError, match="takes no option 'encoding'"):
        write_log(log, tmp_path / "out", format="semantickitti", encoding="ascii", progress=False)
    with pytest.raises(ResweepError, match="times must increase"):
        write_log(Log.from_sweeps([log[0], log[0]]), tmp_path / "out", progress=False)
    assert not list(tmp_path.iterdir())
    write_log(log, tmp_path / "out", format="pcd", encoding="binary_compressed", progress=False)
    with pytest.raises(ResweepError, match="takes no option 'drop'"):
        open_log(tmp_path / "out", drop=True)


@pytest.mark.parametrize("format", ONE_FILE_EACH)
def test_a_sweep_that_cannot_be_read_is_the_one_named(format: str, log: Log, tmp_path: Path) -> None:
    write_log(log, tmp_path / "in", format=format, progress=False, **OPTIONS.get(format, {}))
    source = open_log(tmp_path / "in")
    found = (file for name in ("000001.*", "*50000.pcd.bin") for file in (tmp_path / "in").rglob(name))
    file = sorted(file for file in found if file.suffix != ".label")[0]
    file.unlink()
    with pytest.raises(ResweepError, match=rf"{re.escape(file.name)}: no such file"):
        write_log(source, tmp_path / "out", format="sweep", progress=False)
    assert [item.name for item in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("drive.osf", r"ouster-cli source drive\.osf save drive\.pcd"),
        ("drive.pcap", r"ouster-cli source drive\.pcap save drive\.pcd"),
        ("drive.bag.active", r"rosbag reindex drive\.bag\.active.*rename it to drive\.bag"),
        ("drive.lvx2", "Livox"),
        ("scans.tar.gz", "compressed"),
        ("cloud.xyz", "CloudCompare"),
        ("hall.glb", r"World\.from_mesh"),
        ("scan.pdc", r"did you mean '\.pcd'\?$"),
        ("scan.lass", r"did you mean '\.las'\?$"),
        ("scan.oxt", r"unknown suffix '\.oxt'; known: \.bin, \.copc\.laz, \.e57, \.las"),
    ],
)
def test_files_that_are_not_read_say_what_to_do(name: str, advice: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"something")
    with pytest.raises(ResweepError, match=advice) as error:
        open_log(tmp_path / name)
    assert str(error.value).startswith(str(tmp_path / name))
    assert "did you mean '.las' or" not in str(error.value)
