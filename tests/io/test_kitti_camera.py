"""KITTI's cameras: the files they are in, the pixels of points, and the edges of boxes in the image."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from resweep.boxes import Boxes
from resweep.errors import ResweepError
from resweep.io.datasets.kitti.kitti_camera import DEFAULT_CAMERA, read_camera
from resweep.pose import Trajectory, from_xyz_rpy

P = "7.0e+02 0 6.0e+02 {} 0 7.0e+02 1.7e+02 0 0 0 1 0"
AXES = "0 -1 0 0 0 0 -1 0 1 0 0 -0.27"
TURN = "0.8 0 0.6 0 1 0 -0.6 0 0.8"


def box(x: float, y: float, size: tuple[float, float, float] = (4.0, 2.0, 1.5), yaw: float = 0.0) -> Boxes:
    return Boxes([[x, y, -0.9]], [size], [yaw], ["car"])


def projections(prefix: str) -> str:
    return "".join(f"{prefix}{at}: {P.format(45 * at)}\n" for at in range(4))


FILES = {
    "calib/000007.txt": projections("P") + f"R0_rect: {TURN}\nTr_velo_to_cam: {AXES}\nTr_imu_to_velo: {AXES}\n",
    "calib/0000.txt": projections("P") + f"R_rect {TURN}\nTr_velo_cam {AXES}\nTr_imu_velo {AXES}\n",
    "calib.txt": projections("P") + f"Tr: {AXES}\n",
    "calib_cam_to_cam.txt": "calib_time: 09-Jan-2012 13:57:47\nS_rect_02: 1.4e+03 5.0e+02\n"
    + projections("P_rect_0")
    + f"R_rect_00: {TURN}\n",
}


@pytest.mark.parametrize("name", FILES)
def test_a_camera_is_read_from_every_kind_of_file(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(FILES[name])
    (tmp_path / "calib_velo_to_cam.txt").write_text("R: 0 -1 0 0 0 -1 1 0 0\nT: 0 0 -0.27\ndelta_f: 0 0\n")
    camera = read_camera(file)
    assert camera.projections[2, 0].tolist() == [700.0, 0.0, 600.0, 90.0]
    rectified = name == "calib.txt"
    assert np.allclose(camera.rectification[0], [1, 0, 0] if rectified else [0.8, 0, 0.6])
    assert camera.T_rect_lidar[:3, 3] == pytest.approx([0, 0, -0.27] if rectified else [-0.162, 0, -0.216])
    assert camera.size_px == ((1400, 500) if "cam_to_cam" in name else (1242, 375))
    if file.parent == tmp_path:
        assert read_camera(tmp_path).to_dict() == camera.to_dict()


def test_files_that_are_no_calibration_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ResweepError, match=r"cannot be read .*give a calibration of KITTI"):
        read_camera(tmp_path / "none.txt")
    with pytest.raises(ResweepError, match=r"has neither calib_cam_to_cam\.txt nor calib\.txt"):
        read_camera(tmp_path)
    for text, message in (
        ("hello\n", "no P0 of 12 numbers"),
        (FILES["calib.txt"].replace("P2", "P9"), "no P2 of 12 numbers"),
        (FILES["calib.txt"].replace("Tr: 0", "Tr: nan"), "no Tr of 12 numbers"),
        (FILES["calib.txt"].replace("Tr: 0 -1 0", "Tr: 1 1 1"), "no rigid pose"),
        ("P0: 1 0 0 0 0 1 0 0 0 0 1 0\n", "no P1 of 12 numbers"),
        (
            "".join(f"P{at}: 1 0 0 0 0 1 0 0 0 0 1 0\n" for at in range(4)) + f"Tr: {AXES}\n",
            "focal length of one pixel",
        ),
    ):
        (tmp_path / "calib.txt").write_text(text)
        with pytest.raises(ResweepError, match=message):
            read_camera(tmp_path)


def test_points_are_seen_where_a_pinhole_sees_them() -> None:
    pixels, depth = DEFAULT_CAMERA.project(np.array([[10.0, 0.0, 0.0], [10.0, -2.0, 1.0], [-5.0, 0.0, 0.0]]))
    u = (609.5593 * 10 + 44.85728) / (10 + 0.002745884)
    assert pixels[0] == pytest.approx([u, (172.854 * 10 + 0.2163791) / (10 + 0.002745884)])
    assert pixels[1, 0] - pixels[0, 0] == pytest.approx(721.5377 * 2 / 10.002745884)
    assert pixels[0, 1] - pixels[1, 1] == pytest.approx(721.5377 * 1 / 10.002745884)
    assert np.isnan(pixels[2]).all()
    assert depth.tolist() == pytest.approx([10, 10, -5])
    assert DEFAULT_CAMERA.is_inside(pixels).tolist() == [True, True, False]


def test_boxes_behind_and_beside_the_image_are_not_shown() -> None:
    for x, y in ((-10.0, 0.0), (5.0, 20.0), (3.0, -30.0), (-2.5, 2.0)):
        found = DEFAULT_CAMERA.find_image_boxes(box(x, y))
        assert np.isnan(found.edges).all()
        assert found.truncation.tolist() == [1.0]
    assert DEFAULT_CAMERA.find_image_boxes(box(20.0, 0.0)[:0]).edges.shape == (0, 4)


def test_truncation_grows_as_a_box_leaves_the_image() -> None:
    found = [DEFAULT_CAMERA.find_image_boxes(box(15.0, y, yaw=0.3)) for y in np.linspace(0, 16, 33)]
    shares = np.array([item.truncation[0] for item in found])
    assert shares[0] == 0.0
    assert shares[-1] == 1.0
    assert (np.diff(shares) >= -1e-12).all()
    half = next(item for item in found if 0.3 < item.truncation[0] < 0.7)
    assert half.edges[0, 0] == 0.0
    assert half.edges[0, 2] > 5.0


def test_of_a_box_around_the_camera_only_what_is_before_it_is_shown() -> None:
    """Its corners behind the camera would be seen on the wrong side."""
    found = DEFAULT_CAMERA.find_image_boxes(box(1.0, 2.5, (6.0, 2.0, 1.5)))
    left, top, right, bottom = found.edges[0]
    assert (left, bottom) == (0.0, 374.0)
    assert 0 < right < 609
    assert 100 < top < 300
    assert 0.8 < found.truncation[0] < 1.0


def test_packets_hold_the_motion_to_the_millimetre() -> None:
    from resweep.io.datasets.kitti.oxts import format_packets, project_packets

    poses = np.stack(
        [from_xyz_rpy(900 + 8 * t, 40 + 0.01 * t * t, 2 + 0.1 * t, 0.01, -0.02, 0.2 * t) for t in range(20)]
    )
    rows = [line.split() for line in format_packets(Trajectory(np.arange(20) * 0.1, poses)).splitlines()]
    assert {len(row) for row in rows} == {30}
    again = project_packets(np.array([row[:6] for row in rows], float))
    again[:, :3, 3] += poses[0, :3, 3]
    assert again == pytest.approx(poses, abs=1e-4)
    assert float(rows[5][7]) == pytest.approx(80.0, rel=1e-6)  # to the east, metres a second
    assert float(rows[5][13]) == pytest.approx(9.81, abs=0.5)
    assert len(format_packets(Trajectory(np.zeros(1), poses[:1])).split()) == 30
