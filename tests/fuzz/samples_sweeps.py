"""Samples of single sweep files and of folders of them, by our own writers or by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from resweep.boxes import Boxes
from resweep.io import write_cloud, write_log, write_sweep
from resweep.labels import load_labels
from resweep.log import Log
from resweep.pose import Array, Trajectory, from_xyz_rpy, transform
from resweep.sweep import BeamStatus, Sweep
from tests.fuzz.reader import Reader, read_log

RINGS, COLUMNS = 8, 120
START = 1_700_000_000.0


def make_sweep(at: int = 0) -> Sweep:
    """A turn of a small LiDAR in a room of 20 m, moving, with empty beams, labels, boxes and an extra column."""
    elevation, azimuth = np.meshgrid(
        np.radians(np.linspace(-20, 12, RINGS)), np.linspace(0, -2 * np.pi, COLUMNS, False)
    )
    rise, turn = elevation.ravel(), azimuth.ravel()
    direction = np.stack([np.cos(rise) * np.cos(turn), np.cos(rise) * np.sin(turn), np.sin(rise)], axis=1)
    beams = len(direction)
    distance = np.minimum(10.0 / np.maximum(np.abs(direction[:, :2]).max(axis=1), 1e-6), 30.0) + 0.01 * at
    status = np.where(np.arange(beams) % 7 == 3, BeamStatus.NOTHING_HIT, BeamStatus.RETURN).astype(np.uint8)
    beam = np.flatnonzero(status == BeamStatus.RETURN)
    count, start = len(beam), START + 0.1 * at
    poses = np.stack([from_xyz_rpy(100 + at + step, 50, 1.5, yaw=0.1 * step) for step in (0.0, 1.0)])
    return Sweep(
        pose=poses[0],
        beam_origin=np.broadcast_to(np.zeros(3, np.float32), (beams, 3)),
        beam_direction=direction,
        beam_time=start + np.repeat(np.arange(COLUMNS), RINGS) / COLUMNS * 0.1,
        beam_ring=np.tile(np.arange(RINGS), COLUMNS),
        beam_column=np.repeat(np.arange(COLUMNS), RINGS),
        beam_status=status,
        beam=beam,
        range=distance[beam],
        intensity=(beam % 100) / 100,
        return_index=np.zeros(count, np.uint8),
        label=beam % 5,
        instance=beam % 3,
        timestamp=start,
        trajectory=Trajectory(np.array([start, start + 0.1]), poses),
        sensor="velodyne-vlp-16",
        extra={"width_m": np.ones(count, np.float32)},
        boxes=Boxes(np.array([[1.0, 2, 3]]), np.array([[4.0, 2, 1.5]]), np.array([0.3]), ("car",), np.array([7])),
    )


def make_log(sweeps: int = 2) -> Log:
    """A log of such sweeps."""
    return Log.from_sweeps([make_sweep(at) for at in range(sweeps)], "drive")


def _file(name: str, **options: Any) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        write_sweep(make_sweep(), folder / name, **options)
        return folder / name

    return make


def _folder(format: str, **options: Any) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        write_log(make_log(), folder / "log", format=format, progress=False, **options)
        return folder / "log"

    return make


def _make_organised(folder: Path) -> Path:
    """A PCD that is an image, with padding, fields of several values, and NaN where nothing came back."""
    sweep = make_sweep()
    rows = np.zeros(RINGS * COLUMNS, [(name, "<f4") for name in "xyz"] + [("_", "<u4"), ("i", "<f4"), ("n", "<f4", 3)])
    for axis, name in enumerate("xyz"):
        rows[name] = np.nan
        rows[name][sweep.beam] = sweep.points[:, axis]
    head = (
        "# .PCD v0.7\nVERSION 0.7\nFIELDS x y z _ i n\nSIZE 4 4 4 4 4 4\nTYPE F F F U F F\nCOUNT 1 1 1 1 1 3\n"
        f"WIDTH {RINGS}\nHEIGHT {COLUMNS}\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {RINGS * COLUMNS}\nDATA binary\n"
    )
    (folder / "image.pcd").write_bytes(head.encode() + rows.tobytes())
    return folder / "image.pcd"


def _make_ply_of_lists(folder: Path, order: str) -> Path:
    """A mesh of other programs: faces before the vertices, and a list in each vertex."""
    name = {"<": "binary_little_endian", ">": "binary_big_endian", "": "ascii"}[order]
    head = (
        f"ply\nformat {name} 1.0\nelement face 2\nproperty list uchar int vertex_indices\nelement vertex 4\n"
        "property float x\nproperty float y\nproperty float z\nproperty list uchar short more\nend_header\n"
    )
    corners: list[list[float]] = [[1.0, 1, 1], [9, 1, 1], [1, 9, 1], [9, 9, 1]]
    if order:
        faces = b"".join(b"\3" + np.array(face, order + "i4").tobytes() for face in ([0, 1, 2], [1, 2, 3]))
        body = faces + b"".join(np.array(p, order + "f4").tobytes() + b"\1" + np.int16(5).tobytes() for p in corners)
    else:
        body = b"3 0 1 2\n3 1 2 3\n" + b"".join(" ".join(map(str, p)).encode() + b" 1 5\n" for p in corners)
    (folder / "cloud.ply").write_bytes(head.encode() + body)
    return folder / "cloud.ply"


def _make_foreign_las(folder: Path, version: str, suffix: str) -> Path:
    """A LAS file of another program, with records before the points, and after them where the version has such."""
    import laspy

    header = laspy.LasHeader(point_format=3 if version == "1.2" else 7, version=version)
    header.offsets, header.scales = np.array([500_000.0, 5_400_000.0, 0.0]), np.full(3, 0.001)
    header.vlrs.append(laspy.VLR("someone", 7, "a record", b"x" * 50))
    header.add_extra_dim(laspy.ExtraBytesParams(name="height", type="f4"))
    las = laspy.LasData(header)
    points = transform(from_xyz_rpy(500_000, 5_400_000, 0), make_sweep().points.astype(float)[::4])
    las.x, las.y, las.z = points.T
    las.classification = np.arange(len(points)) % 8
    las.gps_time = np.linspace(0, 1, len(points))
    if version == "1.4":
        las.evlrs = laspy.vlrs.vlrlist.VLRList([laspy.VLR("someone", 8, "after", b"y" * 80)])
    las.write(str(folder / f"tile{suffix}"))
    return folder / f"tile{suffix}"


def _make_copc(folder: Path) -> Path:
    """A cloud of several levels, with a coordinate system and what Resweep adds of its own."""
    points = np.random.default_rng(0).uniform(0, [40, 40, 2], (4000, 3)) + np.array([500_000, 5_400_000, 0])
    sweep = Sweep.from_points(points - points.mean(axis=0).round(), pose=from_xyz_rpy(*points.mean(axis=0).round()))
    write_cloud(
        Log.from_sweeps([sweep], labels=load_labels("asprs")),
        folder / "cloud.copc.laz",
        crs='PROJCS["x",GEOGCS["y",UNIT["degree",0.017]],UNIT["metre",1],AUTHORITY["EPSG","32632"]]',
        progress=False,
    )
    return folder / "cloud.copc.laz"


def _make_tiles(folder: Path) -> Path:
    """A folder of plain and octree tiles, far from the origin."""
    (folder / "survey").mkdir()
    for version, suffix in (("1.2", ".las"), ("1.4", ".laz")):
        _make_foreign_las(folder, version, suffix).rename(folder / "survey" / f"tile{suffix}")
    _make_copc(folder / "survey")
    return folder / "survey"


def _read_cloud(path: Path) -> None:
    """Read all of a cloud, and a box of it that cuts every file."""
    read_log(path)
    read_log(path, bounds=(500_001, 5_399_990, 500_015, 5_400_015), chunk_points=500)


def _make_e57(folder: Path, spherical: bool = False) -> Path:
    import pye57

    points = make_sweep().points[::10].astype(float)
    file = pye57.E57(str(folder / "site.e57"), mode="w")
    for at in range(2):
        data: dict[str, Array] = dict(zip(("cartesianX", "cartesianY", "cartesianZ"), points.T + 0.0, strict=True))
        data["intensity"] = np.linspace(0, 1, len(points)).astype(np.float32)
        data["rowIndex"], data["columnIndex"] = np.arange(len(points)) % 8, np.arange(len(points)) // 8
        data["cartesianInvalidState"] = (np.arange(len(points)) % 9 == 0).astype(np.int8)
        file.write_scan_raw(data, rotation=np.array([1.0, 0, 0, 0]), translation=np.array([at, 5.0, 1.0]))
    file.close()
    return folder / "site.e57"


def _make_nuscenes_scan(folder: Path) -> Path:
    rows = np.zeros((64, 5), "<f4")
    rows[:, :3] = make_sweep().points[:64]
    rows[:, 4] = np.arange(64) % 32
    rows.tofile(folder / "scan.pcd.bin")
    return folder / "scan.pcd.bin"


def _make_stamped_folder(folder: Path, poses: str) -> Path:
    """A folder of another program: scans named by their time, and a file of poses."""
    out = folder / "scans"
    out.mkdir()
    log = make_log(3)
    for at, sweep in enumerate(log):
        write_sweep(sweep, out / f"17000000{at:02d}.500000.pcd")
    from resweep.io.poses import write_poses

    write_poses(Trajectory(np.arange(-1, 6) + START, np.tile(np.eye(4), (7, 1, 1))), out / poses)
    return out


READERS = [
    Reader("sweep", _file("a.sweep"), read_log),
    Reader("sweep-compressed", _file("a.sweep", compress=True), read_log),
    Reader("sweep-log", _folder("sweep"), read_log),
    *(
        Reader(f"pcd-{kind}", _file("a.pcd", encoding=kind), read_log)
        for kind in ("ascii", "binary", "binary_compressed")
    ),
    Reader("pcd-organised", _make_organised, read_log),
    *(Reader(f"ply-{kind}", _file("a.ply", encoding=kind), read_log) for kind in ("ascii", "binary_little_endian")),
    Reader("ply-big", _file("a.ply", encoding="binary_big_endian"), read_log),
    *(
        Reader(f"ply-lists-{name}", lambda folder, order=order: _make_ply_of_lists(folder, order), read_log)  # type: ignore[misc]
        for name, order in (("ascii", ""), ("little", "<"), ("big", ">"))
    ),
    Reader("las", _file("a.las"), read_log),
    Reader("laz", _file("a.laz"), read_log),
    Reader("las-1.2", lambda folder: _make_foreign_las(folder, "1.2", ".las"), read_log),
    Reader("las-1.4", lambda folder: _make_foreign_las(folder, "1.4", ".las"), read_log),
    Reader("laz-1.4", lambda folder: _make_foreign_las(folder, "1.4", ".laz"), read_log),
    Reader("copc", _make_copc, _read_cloud),
    Reader("tiles", _make_tiles, _read_cloud),
    Reader("e57", _make_e57, read_log),
    Reader("kitti", _file("a.bin", labels=True), read_log),
    Reader("nuscenes-scan", _make_nuscenes_scan, read_log),
    Reader("pcd-log", _folder("pcd"), read_log),
    Reader("folder-tum", lambda folder: _make_stamped_folder(folder, "poses.txt"), read_log),
    Reader("folder-csv", lambda folder: _make_stamped_folder(folder, "trajectory.csv"), read_log),
    Reader("semantickitti", _folder("semantickitti"), read_log),
]
