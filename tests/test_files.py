"""Outputs appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.files import atomic_file, atomic_folder, write_file


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


def fail_in_file(path: Path) -> None:
    with atomic_file(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt


def fail_in_folder(path: Path) -> None:
    with atomic_folder(path) as temporary:
        (temporary / "half").write_text("")
        raise KeyboardInterrupt


def test_a_file_and_what_lies_beside_it_replace_old_ones(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_text("old")
    with atomic_file(tmp_path / "a.bin") as temporary:
        temporary.write_text("new")
        temporary.with_suffix(".label").write_text("its labels")
        assert (tmp_path / "a.bin").read_text() == "old"
    assert (tmp_path / "a.bin").read_text() == "new"
    assert names(tmp_path) == ["a.bin", "a.label"]


@pytest.mark.parametrize("fail", [fail_in_file, fail_in_folder])
def test_a_failure_leaves_nothing_new(fail: object, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        fail(tmp_path / "deep" / "er" / "out")  # type: ignore[operator]
    assert names(tmp_path) == []


def test_a_failure_leaves_the_old_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").write_text("old")
    with pytest.raises(KeyboardInterrupt):
        fail_in_folder(tmp_path / "out")
    assert names(tmp_path / "out") == ["old"]
    rename = os.rename

    def interrupt(source: Path, target: Path) -> None:
        if Path(source).name == "new":
            raise KeyboardInterrupt
        rename(source, target)

    def write() -> None:
        with atomic_folder(tmp_path / "out") as temporary:
            (temporary / "new").write_text("")

    monkeypatch.setattr(os, "rename", interrupt)
    with pytest.raises(KeyboardInterrupt):  # the old folder is aside by then, and comes back
        write()
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == ["old"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with atomic_folder(tmp_path / "link") as temporary:
        (temporary / "new").write_text("")
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "real") == ["new"]


def test_places_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    def write() -> None:
        with atomic_file(tmp_path / "file" / "x"):
            pass

    with pytest.raises(ResweepError, match=r"file/x: cannot be written"):
        write()


@pytest.mark.parametrize("sparse", [False, True])
def test_a_file_reads_as_it_was_written(tmp_path: Path, sparse: bool) -> None:
    for values in (np.zeros((9000, 3), "<f4"), np.arange(5000, dtype="<f8"), np.zeros(0, "<f4")):
        mixed = values.copy()
        mixed[1500:1600] = 7
        for data in (values, mixed):
            write_file(tmp_path / "new" / "a.bin", data, sparse=sparse)
            assert (tmp_path / "new" / "a.bin").read_bytes() == data.tobytes()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.bin"]


def test_a_part_that_a_killed_process_left_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "a.txt.part").write_bytes(b"half of a longer file")
    write_file(tmp_path / "a.txt", b"whole")
    assert (tmp_path / "a.txt").read_bytes() == b"whole"
    assert not (tmp_path / "a.txt.part").exists()


def test_a_write_that_fails_is_one_error_and_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_file(tmp_path / "a.txt", b"old")
    (tmp_path / "file").write_text("a file where a folder goes")
    with pytest.raises(ResweepError, match=r"file/b.txt: cannot be written \(.*\); check the folder"):
        write_file(tmp_path / "file" / "b.txt", b"new")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(ResweepError, match="No space left on device"):
        write_file(tmp_path / "a.txt", b"new")
    assert (tmp_path / "a.txt").read_bytes() == b"old"
