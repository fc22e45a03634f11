"""Files that were made to hang a reader, to fill the memory, or to break it: one error each, at once."""

from __future__ import annotations

import bz2
import importlib
import json
import struct
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import load_sweep, open_log, write_sweep
from resweep.sweep import Sweep
from tests.fuzz.mutate import page_e57, unpage_e57


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """No test here may take long, or more than 300 MB."""
    tracemalloc.start()
    began = time.process_time()
    yield
    took, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert took < 10
    assert peak < 300 << 20


def patch(path: Path, at: int, code: str, value: int) -> None:
    data = bytearray(path.read_bytes())
    struct.pack_into(code, data, at, value)
    path.write_bytes(data)


# Number of records, where points begin, bytes of a point, records after the points and where, points (LAS 1.4 header).
LAS_FIELDS = [
    *((100, "<I", 0xFFFFFFFF), (96, "<I", 0xFFFFFFFF), (105, "<H", 1), (94, "<H", 60_000), (24, "<H", 0x0901)),
    *((243, "<I", 0xFFFFFFFF), (235, "<Q", 1 << 62), (247, "<Q", 1 << 40), (104, "<B", 200)),
]


@pytest.mark.parametrize(("at", "code", "value"), LAS_FIELDS)
@pytest.mark.parametrize("suffix", [".las", ".laz"])
def test_las_headers(at: int, code: str, value: int, suffix: str, sweep: Sweep, tmp_path: Path) -> None:
    file = tmp_path / f"tile{suffix}"
    write_sweep(sweep, file)
    if at == 235:
        patch(file, 243, "<I", 1)  # one record after the points, so that its place matters
    patch(file, at, code, value)
    with pytest.raises(ResweepError, match=r"tile\.la[sz]: (truncated|\d+ bytes expand)"):
        open_log(file)


def test_laz_layers(sweep: Sweep, tmp_path: Path) -> None:
    """Four bytes in a chunk ask the decoder for four gigabytes."""
    file = tmp_path / "tile.laz"
    write_sweep(sweep, file)
    data = file.read_bytes()
    start, record = struct.unpack_from("<I", data, 96)[0], struct.unpack_from("<H", data, 105)[0]
    patch(file, start + 8 + record + 4, "<I", 0xFFFFFFFF)
    with pytest.raises(ResweepError, match="a chunk that reaches beyond its end"):
        load_sweep(file)


def test_a_ring_that_no_lidar_has(tmp_path: Path) -> None:
    """One point of ring 65535 among others: the grid is not inferred, the points are read."""
    count = 2000
    turn = np.linspace(0, 2 * np.pi, count)
    rows = np.zeros(count, [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("ring", "<u2"), ("column", "<i4")])
    rows["x"], rows["y"], rows["ring"], rows["column"] = (
        np.cos(turn) * 9,
        np.sin(turn) * 9,
        np.arange(count) % 8,
        np.arange(count),
    )
    head = "VERSION 0.7\nFIELDS x y z ring column\nSIZE 4 4 4 2 4\nTYPE F F F U I\nCOUNT 1 1 1 1 1\n"
    head += f"WIDTH {count}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {count}\nDATA binary\n"
    for ring, column in ((65535, 5), (3, 2**31 - 1), (65535, 2**31 - 1)):
        rows["ring"][7], rows["column"][7] = ring, column
        (tmp_path / "a.pcd").write_bytes(head.encode() + rows.tobytes())
        log = open_log(tmp_path / "a.pcd")
        assert len(log[0]) == count
        assert ring < 1024 or "a point of ring 65535" in log.empty_beams.detail


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("POINTS 1000000000000\nDATA ascii\n1 2 3\n", "truncated"),
        ("POINTS 1000000000000\nDATA binary\n1 2 3\n", "truncated"),
        ("POINTS 1000000000000\nDATA binary_compressed\n" + "\0" * 8, "do not fit"),
        ("POINTS 4\nDATA binary_compressed\n" + "\1\0\0\0\xff\xff\xff\xff\0", "expand"),
    ],
)
def test_pcd_counts(lines: str, message: str, tmp_path: Path) -> None:
    head = "FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 1\nHEIGHT 1\n"
    (tmp_path / "a.pcd").write_bytes((head + lines).encode("latin1"))
    with pytest.raises(ResweepError, match=message):
        load_sweep(tmp_path / "a.pcd")


@pytest.mark.parametrize("count", [-1, 10**12])
@pytest.mark.parametrize("encoding", ["ascii", "binary_little_endian"])
@pytest.mark.parametrize("kind", ["list char int i", "float a"])
def test_ply_counts(count: int, encoding: str, kind: str, tmp_path: Path) -> None:
    head = f"ply\nformat {encoding} 1.0\nelement face {count}\nproperty {kind}\nelement vertex 1\n"
    head += "property float x\nproperty float y\nproperty float z\nend_header\n"
    body = b"-1 -1 -1 1\n" if encoding == "ascii" else b"\xff" * 40
    (tmp_path / "a.ply").write_bytes(head.encode() + body)
    with pytest.raises(ResweepError, match=r"a\.ply: (truncated|element 'face' has)"):
        load_sweep(tmp_path / "a.ply")


def test_ply_lists_that_go_backwards(tmp_path: Path) -> None:
    head = "ply\nformat binary_little_endian 1.0\nelement face 20\nproperty list char int i\nelement vertex 1\n"
    head += "property float x\nproperty float y\nproperty float z\nend_header\n"
    (tmp_path / "a.ply").write_bytes(head.encode() + b"\xff" * 40)
    with pytest.raises(ResweepError, match="a list of -1 items"):
        load_sweep(tmp_path / "a.ply")


def edit_sweep(file: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    with zipfile.ZipFile(file) as archive:
        members = {entry: archive.read(entry) for entry in archive.namelist()}
    members[name] = change(members[name])
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in members.items():
            archive.writestr(entry, content)


def put(**values: Any) -> Callable[[bytes], bytes]:
    return lambda data: json.dumps({**json.loads(data), **values}).encode()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("range.npy", lambda data: data.replace(b"(400,)", b"(4" + b"0" * 4 + b",)") + bytes(70 << 20)),
        ("range.npy", lambda data: data.replace(b"'shape': (", b"'shape': (1000000000000, ")),
        ("range.npy", lambda data: data.replace(b"'<f4'", b"'|O'  ")),
        ("range.npy", lambda data: data.replace(b"{", b"(")),
        ("beam_origin.npy", lambda data: bytes(70 << 20)),
        ("sweep.json", lambda data: b"[" * 100_000),
        ("sweep.json", lambda data: b"[]"),
        ("sweep.json", put(constant={"beam_time": 1 << 40})),
        ("sweep.json", put(constant={"beam_origin": 1 << 40})),
        ("sweep.json", put(constant={"beam_origin": "many"})),
        ("sweep.json", put(constant=[])),
        ("sweep.json", put(extra=[{}])),
        ("sweep.json", put(timestamp="noon")),
        ("sweep.json", put(version=None)),
        ("sweep.json", put(boxes=5)),
        ("sweep.json", put(log=5)),
    ],
)
def test_sweep_files(name: str, change: Callable[[bytes], bytes], sweep: Sweep, tmp_path: Path) -> None:
    file = tmp_path / "a.sweep"
    write_sweep(sweep, file)
    edit_sweep(file, name, change)
    with pytest.raises(ResweepError, match=r"a\.sweep"):
        open_log(file)


def test_bags_of_chunks_that_expand_without_end(tmp_path: Path) -> None:
    pytest.importorskip("rosbags")
    from resweep.io.ros.bounded_files import bound_decompression

    bound_decompression()
    from rosbags.rosbag1 import reader
    from rosbags.rosbag2 import reader as reader2
    from rosbags.rosbag2 import storage_mcap

    zstd: Any = storage_mcap.zstd
    lz4 = pytest.importorskip("lz4.frame")
    zeros = bytes(80 << 20)
    with pytest.raises(ResweepError, match="expand"):
        reader.decompressors["bz2"](bz2.compress(zeros))
    with pytest.raises(ResweepError, match="expand"):
        reader.decompressors["lz4"](lz4.compress(zeros))
    for expand in (lambda data: storage_mcap.DECOMPRESSORS["zstd"](data, 0), reader2.zstd.decompress):
        with pytest.raises(ResweepError, match="expand"):
            expand(zstd.compress(zeros))
        assert expand(zstd.compress(b"as it was")) == b"as it was"


@pytest.mark.parametrize(
    "text",
    [
        "rosbag2_bagfile_information: [1, 2]\n",
        "rosbag2_bagfile_information: {version: 9}\n",
        "rosbag2_bagfile_information: {relative_file_paths: 5}\n",
        "rosbag2_bagfile_information: {relative_file_paths: [../../secret.db3]}\n",
        "rosbag2_bagfile_information: {relative_file_paths: [/etc/passwd]}\n",
        "rosbag2_bagfile_information: {a: " + "[" * 5000 + "\n",
        "rosbag2_bagfile_information: &a [*a]\n",
        "# rosbag2_bagfile_information\n",
    ],
)
def test_metadata_of_bags(text: str, tmp_path: Path) -> None:
    pytest.importorskip("rosbags")
    (tmp_path / "metadata.yaml").write_text(text)
    with pytest.raises(ResweepError, match=r"metadata\.yaml"):
        open_log(tmp_path)


def test_arrow_files_that_promise_more(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    feather = pytest.importorskip("pyarrow.feather")
    from resweep.io.datasets.argoverse.arrow_file import check_arrow

    table = arrow.table({"x": np.arange(1000.0), "name": ["a"] * 1000})
    for compression in ("uncompressed", "lz4", "zstd"):
        feather.write_feather(table, tmp_path / "a.feather", compression=compression)
        data = (tmp_path / "a.feather").read_bytes()
        check_arrow(data, "file")
        if compression != "uncompressed":
            wrong = data.replace(struct.pack("<q", 8000), struct.pack("<q", 1 << 40), 1)
            assert wrong != data
            with pytest.raises(ResweepError, match=r"file: .* expand"):
                check_arrow(wrong, "file")
        for cut in (0, 10, 30, len(data) // 2, len(data) - 1):
            with pytest.raises(ValueError, match=r"ARROW1|footer|beyond"):
                check_arrow(data[:cut], "file")


def test_an_e57_of_more_points_than_it_holds(tmp_path: Path) -> None:
    """A field that never varies takes no bytes, so the file's size says nothing of the number of its points."""
    pytest.importorskip("pye57")
    make_file = importlib.import_module("tests.io.test_e57").make_file
    make_file(tmp_path / "site.e57", 1)
    content = unpage_e57((tmp_path / "site.e57").read_bytes())
    more = content.replace(b'recordCount="3"', b'recordCount="9999999999999"', 1)
    for _ in range(len(more) - len(content)):  # the text of the header keeps its length
        more = more.replace(b"\n  ", b"\n ", 1)
    assert len(more) == len(content)
    (tmp_path / "site.e57").write_bytes(page_e57(more))
    with pytest.raises(ResweepError, match=r"site\.e57, scan 0: \d+ bytes expand to"):
        open_log(tmp_path / "site.e57")[0]


def test_scans_of_numbers_without_end(tmp_path: Path) -> None:
    """A scan's number is the line of its pose; a pose for each number up to it would fill the memory."""
    folder = tmp_path / "00"
    (folder / "velodyne").mkdir(parents=True)
    for name in ("000000", "999999999999"):
        np.ones((4, 4), "<f4").tofile(folder / "velodyne" / f"{name}.bin")
    (folder / "times.txt").write_text("0.0\n")
    with pytest.raises(ResweepError, match=r"times\.txt: 1 lines, but there is a scan 999999999999"):
        open_log(folder)
    with pytest.warns(UserWarning, match="no pose"):
        assert len(open_log(folder, keep_going=True)) == 1
    (folder / "velodyne" / f"{'9' * 30}.bin").touch()
    with pytest.raises(ResweepError, match="scans must be named by number"):
        open_log(folder)
