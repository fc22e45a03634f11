"""KITTI tracking sequences: boxes with tracks, poses from packets, and files that are not as they should be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import open_log

CALIB = """P0: 1 0 0 0 0 1 0 0 0 0 1 0
P1: 1 0 0 0 0 1 0 0 0 0 1 0
P2: 700 0 600 0 0 700 170 0 0 0 1 0
P3: 1 0 0 0 0 1 0 0 0 0 1 0
R_rect 1 0 0 0 1 0 0 0 1
Tr_velo_cam 0 -1 0 0 0 0 -1 -0.1 1 0 0 -0.3
Tr_imu_velo 1 0 0 -0.8 0 1 0 0.3 0 0 1 -0.8
"""
LABEL = """0 -1 DontCare -1 -1 -10 5.00 229.89 214.12 367.61 -1 -1 -1 -1000 -1000 -1000 -10
0 4 Car 0 0 1.55 614.24 181.78 727.31 284.77 1.5 1.6 4.0 2.0 1.6 20.0 -1.5707963
2 4 Car 0 0 1.55 614.24 181.78 727.31 284.77 1.5 1.6 4.0 2.0 1.6 18.0 -1.5707963
2 9 Pedestrian 1 2 -0.2 712.40 143.00 810.73 307.92 1.8 0.5 0.6 -3.0 1.7 10.0 0.0
"""
# Lat lon alt roll pitch yaw; a metre is 1.369e-5 degrees of longitude here.
PACKETS = "".join(f"49.0 {8.4 + at * 1e-4} 110.0 0 0 0 " + "0 " * 17 + "0.05 0.05 4 10 5 5 6\n" for at in range(3))


def make_training(root: Path) -> Path:
    training = root / "training"
    for folder in ("velodyne/0002", "velodyne/0005", "calib", "label_02", "oxts"):
        (training / folder).mkdir(parents=True)
    for at in range(3):
        np.full((5, 4), at + 1, "<f4").tofile(training / "velodyne" / "0002" / f"{at:06d}.bin")
    for name, text in (("calib", CALIB), ("label_02", LABEL), ("oxts", PACKETS)):
        (training / name / "0002.txt").write_text(text)
    return training


def test_a_sequence_has_tracks_and_poses(tmp_path: Path) -> None:
    log = open_log(make_training(tmp_path), sequence="0002", empty_beams=False)
    assert (log.meta["format"], log.name, len(log), log.poses_known) == ("kitti-tracking", "0002", 3, True)
    first, second, third = (sweep.boxes for sweep in log)
    assert first is not None
    assert second is not None
    assert third is not None
    assert (first.name, first.track.tolist(), len(second)) == (("Car",), [4], 0)
    assert (third.name, third.track.tolist()) == (("Car", "Pedestrian"), [4, 9])
    np.testing.assert_allclose(first.centre[0], [20.3, -2.0, -0.95], atol=1e-6)
    np.testing.assert_allclose(third.yaw, [0.0, -np.pi / 2], atol=1e-6)
    assert log.poses[0][:3, 3] == pytest.approx([0.8, -0.3, 0.8])  # of the LiDAR, in the frame of the first IMU pose
    metres = np.cos(np.radians(49.0)) * 6378137.0 * np.radians(1e-4)
    assert log.poses[2][0, 3] - log.poses[0][0, 3] == pytest.approx(2 * metres)


def test_one_of_several_sequences_must_be_named(tmp_path: Path) -> None:
    training = make_training(tmp_path)
    with pytest.raises(ResweepError, match="holds 2 sequences; choose one with sequence="):
        open_log(training)
    with pytest.raises(ResweepError, match=r"0005: no \*\.bin in it"):
        open_log(training, sequence="0005")
    for folder in ("label_02", "oxts"):
        (training / folder / "0002.txt").unlink()
    log = open_log(training, sequence="0002", empty_beams=False)
    assert not log.poses_known
    assert log[0].boxes is None


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("label_02", LABEL.replace("2 9", "2 x"), r"line 4: invalid literal.*begins with frame and track"),
        ("label_02", "0 4 Car 0 0 1.55\n", r"line 1: 4 values, a label has 15"),
        ("label_02", LABEL.replace("18.0", "inf"), r"line 3: holds NaN or infinity"),
        ("oxts", PACKETS.replace("110.0", "high"), r"line 1: no numbers"),
        ("oxts", PACKETS + "49.0 8.4\n", r"line 4: is no GPS/IMU packet"),
        ("oxts", PACKETS.splitlines()[0] + "\n", r"1 lines, but there is a scan 000002"),
        ("calib", CALIB.replace("Tr_imu_velo", "Tr"), r"no Tr_imu_velo"),
        ("calib", CALIB.replace("R_rect", "R"), r"no R0_rect of 9 numbers"),
        ("calib", CALIB.replace("Tr_velo_cam 0 -1", "Tr_velo_cam 0 0"), r"no rigid pose"),
    ],
)
def test_mistakes_are_named(file: str, text: str, message: str, tmp_path: Path) -> None:
    training = make_training(tmp_path)
    (training / file / "0002.txt").write_text(text)
    with pytest.raises(ResweepError, match=message):
        list(open_log(training, sequence="0002", empty_beams=False))
