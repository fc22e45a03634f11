"""Files and folders that hold no log: the error says what they are, what reads them and what is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import open_log, write_sweep
from resweep.io.ros.packets import explain_packets
from resweep.sweep import Sweep


def refuse(path: Path) -> str:
    with pytest.raises(ResweepError) as error:
        open_log(path)
    return str(error.value)


def touch(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


def write_scan(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_sweep(Sweep.from_points(np.array([[1.0, 2, 3]])), file)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("drive.osf", "ouster-cli source drive.osf save drive.pcd"),
        ("drive.pcapng", "ouster-cli source drive.pcapng save drive.pcd"),
        ("drive.pcap", "pip install velodyne-decoder"),
        ("drive.rrd", "pip install rerun-sdk"),
        ("flight.pls", "PulseWaves"),
        ("flight.wdp", "open the .las of that name"),
        ("car.glb", "resweep simulate car.glb"),
        ("scans.npz", "rs.Sweep.from_points"),
        ("000000.label", "open the .bin"),
        ("scan", "has no suffix"),
        ("scan.pdc", "did you mean '.pcd'"),
    ],
)
def test_a_file_that_is_not_read_names_what_reads_it(name: str, advice: str, tmp_path: Path) -> None:
    touch(tmp_path / name)
    assert advice in refuse(tmp_path / name)


def test_the_metadata_of_an_ouster_is_known_by_its_keys(tmp_path: Path) -> None:
    (tmp_path / "os1.json").write_text('{"beam_altitude_angles": [1.0]}')
    (tmp_path / "other.json").write_text("{}")
    assert "Ouster" in refuse(tmp_path / "os1.json")
    assert "Ouster" not in refuse(tmp_path / "other.json")


def test_a_part_of_a_log_names_the_log(tmp_path: Path) -> None:
    drive = tmp_path / "drive"
    touch(drive / "sensors" / "lidar" / "1.feather", drive / "elsewhere" / "2.feather")
    assert f"the log {drive} (Argoverse 2 sensor log)" in refuse(drive / "sensors")
    assert f"the log {drive} (Argoverse 2 sensor log)" in refuse(drive / "sensors" / "lidar" / "1.feather")
    assert "the log" not in refuse(drive / "elsewhere").split("no log in it")[1].split("open the folder")[0]


def test_a_folder_above_logs_names_them(tmp_path: Path) -> None:
    for name in ("00", "01"):
        write_scan(tmp_path / "set" / "sequences" / name / "velodyne" / "000000.bin")
    write_scan(tmp_path / "set" / "scans" / "a.pcd")
    message = refuse(tmp_path)
    assert f"{tmp_path / 'set' / 'sequences' / '00'} (semantickitti)" in message
    assert f"{tmp_path / 'set' / 'sequences' / '01'} (semantickitti)" in message
    assert f"{tmp_path / 'set' / 'scans'} (pcd)" in message


def test_many_logs_are_counted(tmp_path: Path) -> None:
    for at in range(8):
        write_scan(tmp_path / f"{at}" / "a.ply")
    assert "and 3 more" in refuse(tmp_path)


def test_the_nearest_format_says_what_is_missing(tmp_path: Path) -> None:
    touch(tmp_path / "calib" / "000000.txt", tmp_path / "label_2" / "000000.txt")
    message = refuse(tmp_path)
    assert "kitti-object" in message
    assert "calib/*.txt and label_2/*.txt are there, velodyne/*.bin are not" in message


def test_a_folder_of_files_that_are_not_read_names_what_reads_them(tmp_path: Path) -> None:
    touch(tmp_path / "README.txt", *(tmp_path / "osf" / f"{at}.osf" for at in range(3)))
    message = refuse(tmp_path)
    assert "3 .osf below it: Ouster's OSF is not read" in message
    assert "text does not say" not in message
    touch(*(tmp_path / "models" / f"{at}.{suffix}" for at in range(4) for suffix in ("glb", "obj")))
    assert "8 .glb below it: is a mesh" in refuse(tmp_path)


def test_an_empty_folder_says_what_a_log_is(tmp_path: Path) -> None:
    assert "a log is the folder of a dataset's sequence" in refuse(tmp_path)


@pytest.mark.parametrize(("columns", "advice"), [(3, "x y z alone"), (5, "nuscenes-scan")])
def test_rows_of_other_lengths_say_what_they_may_be(columns: int, advice: str, tmp_path: Path) -> None:
    np.ones((7, columns), "<f4").tofile(tmp_path / "scan.bin")
    assert advice in refuse(tmp_path / "scan.bin")


def test_packets_in_a_bag_say_what_decodes_them() -> None:
    assert "maker's ROS driver" in explain_packets(["sensor_msgs/msg/Imu", "pandar_msgs/msg/PandarScan"])
    assert "velodyne-decoder" in explain_packets(["velodyne_msgs/msg/VelodyneScan"])
    assert explain_packets(["sensor_msgs/msg/LaserScan", "sensor_msgs/msg/Imu"]) == ""


def test_a_mesh_read_as_points_warns(tmp_path: Path) -> None:
    import trimesh

    trimesh.creation.box((1, 1, 1)).export(tmp_path / "box.ply")
    with pytest.warns(UserWarning, match="mesh of 12 faces"):
        open_log(tmp_path / "box.ply")[0]


def test_poses_of_another_clock_say_so(tmp_path: Path) -> None:
    write_scan(tmp_path / "log" / "1566246592500000000.bin")
    (tmp_path / "drive.tum").write_text("0 0 0 0 0 0 0 1\n1 0 0 0 0 0 0 1\n")
    with pytest.raises(ResweepError, match=r"drive.tum: its times, 0.000000 to 1.000000 s, are not those"):
        open_log(tmp_path / "log", poses=tmp_path / "drive.tum")


def test_names_of_columns_are_made_fit_for_ply_and_pcd(tmp_path: Path) -> None:
    sweep = Sweep.from_points(np.array([[1.0, 2, 3]]), extra={"Pulse width": np.array([7.0], np.float32)})
    for name in ("scan.ply", "scan.pcd"):
        write_sweep(sweep, tmp_path / name)
        assert open_log(tmp_path / name)[0].extra["Pulse_width"].tolist() == [7.0]
