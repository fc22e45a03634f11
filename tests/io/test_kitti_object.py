"""KITTI object frames: boxes from the camera's frame into the LiDAR's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import open_log

# LiDAR axes to camera axes, with the camera 0.3 m ahead of the LiDAR and 0.1 m below.
CALIB = """P0: 1 0 0 0 0 1 0 0 0 0 1 0
R0_rect: 1 0 0 0 1 0 0 0 1
Tr_velo_to_cam: 0 -1 0 0 0 0 -1 -0.1 1 0 0 -0.3
Tr_imu_to_velo: 1 0 0 0 0 1 0 0 0 0 1 0
"""
LABEL = """Car 0.00 0 1.55 614.24 181.78 727.31 284.77 1.5 1.6 4.0 2.0 1.6 20.0 -1.5707963
DontCare -1 -1 -10 5.00 229.89 214.12 367.61 -1 -1 -1 -1000 -1000 -1000 -10
Pedestrian 0.00 0 -0.2 712.40 143.00 810.73 307.92 1.8 0.5 0.6 -3.0 1.7 10.0 0.0
"""


def make_training(root: Path) -> Path:
    training = root / "training"
    for folder in ("velodyne", "calib", "label_2"):
        (training / folder).mkdir(parents=True)
    for at in (0, 7):
        np.full((5, 4), at + 1, "<f4").tofile(training / "velodyne" / f"{at:06d}.bin")
        (training / "calib" / f"{at:06d}.txt").write_text(CALIB)
        (training / "label_2" / f"{at:06d}.txt").write_text(LABEL)
    return training


def test_boxes(tmp_path: Path) -> None:
    log = open_log(make_training(tmp_path))
    assert (log.meta["format"], len(log), log.poses_known, log.times_known) == ("kitti-object", 2, False, False)
    boxes = log[1].boxes
    assert boxes is not None
    assert boxes.name == ("Car", "Pedestrian")
    # Camera (2, 1.6 - 0.75, 20): 2 m right, 0.85 m below it, 20 m ahead.
    np.testing.assert_allclose(boxes.centre[0], [20.3, -2.0, -0.95], atol=1e-6)
    np.testing.assert_allclose(boxes.size[0], [4.0, 1.6, 1.5])
    # ry = -90 degrees faces along the camera's z, which is forward; ry = 0 along its x, to the right.
    np.testing.assert_allclose(boxes.yaw, [0.0, -np.pi / 2], atol=1e-6)


def test_mistakes(tmp_path: Path) -> None:
    training = make_training(tmp_path)
    (training / "label_2" / "000000.txt").write_text("Car 0.00 0 1.55\n")
    with pytest.raises(ResweepError, match=r"000000\.txt, line 1: 4 values"):
        open_log(training)[0]
    (training / "label_2" / "000000.txt").write_text(LABEL.replace("20.0", "nan"))
    with pytest.raises(ResweepError, match=r"000000\.txt, line 1: holds NaN or infinity"):
        open_log(training)[0]
    (training / "calib" / "000007.txt").write_text("P0: 1\n")
    with pytest.raises(ResweepError, match=r"000007\.txt: no R0_rect of 9 numbers"):
        open_log(training)[1]
    (training / "label_2" / "000007.txt").unlink()
    assert open_log(training)[1].boxes is None
