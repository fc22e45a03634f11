"""Only regular files of bounded size are read, and only JSON that is JSON."""

from __future__ import annotations

import json
import math
import os
import pickle
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import resweep as rs
from resweep.errors import InputError, ResweepError, UnreadableFileError
from resweep.files.strict_json import MAX_DEPTH, format_json, parse_json, replace_not_finite
from resweep.files.untrusted import open_regular, read_bytes, read_json, read_plain_text, total_memory


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


OTHERS: dict[str, Callable[[Path], Any]] = {
    "FIFO": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": Path.mkdir,
    "socket": make_socket,
}


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("read", [read_bytes, read_plain_text, open_regular, lambda path: read_json(path, "go on")])
def test_what_is_no_regular_file_is_refused_at_once(
    kind: str, read: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    place = Path("it")
    OTHERS[kind](place)
    with pytest.raises(UnreadableFileError, match=f"it: is a {kind}; give a regular file") as caught:
        read(place)
    assert isinstance(caught.value, InputError)
    assert isinstance(caught.value, OSError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as file:
        file.truncate(total_memory() + (1 << 31))
    for read in (read_bytes, read_plain_text, open_regular):
        with pytest.raises(UnreadableFileError, match=r"big: has [\d,]+ bytes, at most [\d,]+ are read"):
            read(tmp_path / "big")
    (tmp_path / "small").write_bytes(b"12345")
    assert read_bytes(tmp_path / "small", 5) == b"12345"
    with pytest.raises(UnreadableFileError, match="at most 4"):
        read_bytes(tmp_path / "small", 4)


def test_text_has_one_kind_of_line_end(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("ä\r\nb\rc\n".encode())
    assert read_plain_text(tmp_path / "a.txt") == "ä\nb\nc\n"


@pytest.mark.parametrize("suffix", [".pcd", ".ply", ".las", ".laz", ".bin", ".sweep", ".e57", ".copc.laz", ".bag"])
@pytest.mark.parametrize("kind", ["FIFO", "device"])
def test_no_log_waits_for_a_fifo(suffix: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"scan{suffix}"
    OTHERS[kind](path)
    with pytest.raises(ResweepError) as caught:
        rs.open_log(path)[0]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["FIFO", "device"])
@pytest.mark.parametrize("load", [rs.load_poses, rs.load_scenario, rs.load_sensor, rs.load_world, rs.World.from_mesh])
def test_nothing_else_does(load: Callable[[Path], Any], kind: str, tmp_path: Path) -> None:
    path = tmp_path / ("mesh.obj" if load == rs.World.from_mesh else "it.yaml")
    OTHERS[kind](path)
    with pytest.raises(ResweepError, match=path.name):
        load(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[NaN]", "NaN is no number"),
        ("[-Infinity]", "-Infinity is no number"),
        ("[1e400]", "1e400 is too large"),
        ("[" + "9" * 20 + "]", "too large"),
        ("9" * 5000, "too large"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "key 'c' is given twice"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "within each other"),
        ("{" * 100_000, "within each other"),
        (b"\xff\xfe", "utf-8"),
    ],
)
def test_json_is_strict(text: str | bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_json(text)


def test_good_json_is_read_as_python_reads_it() -> None:
    data = {"a": [1, -2.5, None, True, '[[[{{{\\"]'], "b": {"c": 2**64 - 1, "d": -(2**63)}, "e": "ä" * 300}
    assert parse_json(json.dumps(data)) == data
    assert parse_json(b"\xef\xbb\xbf[1]") == [1]
    assert parse_json("[" * MAX_DEPTH + "]" * MAX_DEPTH) is not None


def test_no_nan_is_written() -> None:
    for value in (math.nan, math.inf, float(np.float64("nan"))):
        with pytest.raises(ValueError, match="not JSON compliant"):
            format_json({"a": [value]})
        assert replace_not_finite({"a": (value, 1.5), "b": "x"}) == {"a": [None, 1.5], "b": "x"}
