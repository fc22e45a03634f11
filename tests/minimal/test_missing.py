"""What needs an extra says in one line which command installs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]  # the fixtures of conftest.py


def e57(folder: Path) -> Path:
    (folder / "scan.e57").write_bytes(b"ASTM-E57")
    return folder / "scan.e57"


def ros1(folder: Path) -> Path:
    (folder / "drive.bag").write_bytes(b"#ROSBAG V2.0\n")
    return folder / "drive.bag"


def ros2(folder: Path) -> Path:
    (folder / "bag").mkdir()
    (folder / "bag" / "metadata.yaml").write_text("rosbag2_bagfile_information: {version: 9}\n")
    return folder / "bag"


def argoverse2(folder: Path) -> Path:
    for name in ("sensors/lidar/315966265259836000", "city_SE3_egovehicle", "calibration/egovehicle_SE3_sensor"):
        (folder / "log" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "log" / f"{name}.feather").write_bytes(b"ARROW1")
    return folder / "log"


RECORDINGS: list[tuple[Callable[[Path], Path], str]] = [
    (e57, "pye57"),
    (ros1, "rosbags"),
    (ros2, "rosbags"),
    (argoverse2, "pyarrow"),
]


def check(done: Any, package: str, extra: str) -> None:
    """The command failed with one line, which ends with the command that installs the extra."""
    message = done.err.splitlines()
    assert done.status == 1, message
    assert len(message) == 1, message
    assert message[0].startswith("resweep: error: ")
    assert f" needs the package '{package}' (" in message[0]
    assert message[0].endswith(f"; install it with: pip install 'resweep[{extra}]'")


@pytest.mark.parametrize(("make", "package"), RECORDINGS, ids=[make.__name__ for make, _ in RECORDINGS])
def test_recordings(resweep: Command, tmp_path: Path, make: Callable[[Path], Path], package: str) -> None:
    path = make(tmp_path)
    for args in (("info", path), ("convert", path, "out", "--format", "sweep"), ("build", path, "-o", "out.world")):
        check(resweep(*args), package, "logs")
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "out.world").exists()


def test_the_installed_command_shows_no_traceback(installed: Command, tmp_path: Path) -> None:
    check(installed("info", e57(tmp_path)), "pye57", "logs")


def test_writing_a_bag(resweep: Command, drive: Path, tmp_path: Path) -> None:
    check(resweep("convert", drive, "out", "--format", "ros2"), "rosbags", "logs")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "args",
    [("build", "-o", "a.world", "--odometry"), ("evaluate", "--holdout", "1", "--odometry")],
    ids=lambda args: args[0],
)
def test_odometry(resweep: Command, drive: Path, args: tuple[str, ...]) -> None:
    check(resweep(args[0], drive, *args[1:]), "kiss-icp", "logs")


@pytest.mark.parametrize(
    ("method", "package"),
    [("imls", "scikit-image"), ("rimls", "scikit-image"), ("rimls-meshlab", "pymeshlab"), ("poisson", "pymeshlab")],
)
def test_meshes_over_a_map(resweep: Command, drive: Path, tmp_path: Path, method: str, package: str) -> None:
    check(resweep("build", drive, "-o", "a.world", "--sweeps", "0:2", "--method", method), package, "surfaces")
    assert not (tmp_path / "a.world").exists()


def test_an_autonomy_over_a_socket(resweep: Command, tmp_path: Path) -> None:
    args = ("drive", "hidden-car", "--variants", "1", "--autonomy", "tcp:0", "-o", "runs")
    check(resweep(*args), "msgpack", "drive")
    assert not (tmp_path / "runs").exists()
