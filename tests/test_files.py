"""Outputs appear whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.files import atomic_file, atomic_folder, lock_local, write_file
from resweep.files.partial import discard_leftover, resumable_folder
from tests.killed_writers import write_folder, write_one_file


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
    monkeypatch.setattr("resweep.files.disk.exchange", lambda one, other: False)
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


@pytest.mark.parametrize(
    "exchange", [pytest.param(True, id="exchange"), pytest.param(False, id="two renames", marks=pytest.mark.slow)]
)
def test_a_killed_writer_leaves_the_whole_old_or_the_whole_new(exchange: bool, tmp_path: Path) -> None:
    script = Path(__file__).with_name("killed_writers.py")
    options = [] if exchange else ["no-exchange"]
    done = subprocess.run([sys.executable, script, tmp_path, *options], capture_output=True, text=True, check=True)
    for job, states in json.loads(done.stdout).items():
        right_away = {state for state, _, _ in states}
        between = set() if exchange or job == "file" else {"nothing"}  # only between two renames, and that was hit
        assert right_away == {"old", "new"} | between, job
        assert {opened for _, opened, _ in states} == {"old", "new"}, job
        assert all(left == [] for _, _, left in states), job  # what a killed process left goes with the next writing


def hold(path: Path) -> subprocess.Popen[str]:
    """A process that holds the lock of an output until its input ends."""
    code = (
        "import sys; from pathlib import Path; from resweep.files import lock_local\n"
        f"with lock_local(Path({str(path)!r})): print('held', flush=True); sys.stdin.read()"
    )
    held = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert held.stdout is not None
    assert held.stdout.readline() == "held\n"
    return held


def test_an_output_has_one_writer_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "out")
    (tmp_path / "out").mkdir()
    with hold(tmp_path / "out") as other:
        for path in (tmp_path / "out", tmp_path / "link", tmp_path / "out" / ".." / "out"):
            with pytest.raises(ResweepError, match=rf"{path.name}: another process .*\(pid {other.pid}, since 20"):
                write_folder(path, "mixed")
        with lock_local(tmp_path / "elsewhere"):
            pass
        other.kill()  # the lock of a dead process is no lock
    with lock_local(tmp_path / "out"), lock_local(tmp_path / "link"):
        pass
    assert names(tmp_path) == ["link", "out"]


def test_another_thread_is_another_writer(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with lock_local(out), ThreadPoolExecutor(1) as pool, pytest.raises(ResweepError, match="another thread of this"):
        pool.submit(fail_in_folder, out).result()
    with ThreadPoolExecutor(1) as pool, pytest.raises(KeyboardInterrupt):
        pool.submit(fail_in_folder, tmp_path / "out").result()


def test_parts_of_dead_processes_go_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    stale = tmp_path / ".out.ab_12xyz.part"
    others = [tmp_path / ".out.b.ab_12xyz.part", tmp_path / ".out.short.part"]
    with hold(tmp_path / "out"):
        for part in (stale, *others):
            (part / "new").mkdir(parents=True)
        with pytest.raises(ResweepError, match="another process"):
            write_folder(tmp_path / "out", "mixed")
        assert stale.exists()
    write_folder(tmp_path / "out", "new")
    assert not stale.exists()
    assert all(part.exists() for part in others)  # of other outputs


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is refused to root")
def test_a_folder_whose_parent_cannot_be_written_is_locked_inside(tmp_path: Path) -> None:
    (tmp_path / "place" / "out").mkdir(parents=True)
    (tmp_path / "place").chmod(0o555)
    with lock_local(tmp_path / "place" / "out"):
        assert names(tmp_path / "place" / "out") == [".resweep.lock"]
    assert names(tmp_path / "place" / "out") == []


def test_data_is_on_the_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def sync(descriptor: int) -> None:
        seen.append(f"sync {Path(os.readlink(f'/proc/self/fd/{descriptor}')).name}")

    def note(name: str) -> None:
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *paths: (seen.append(f"move {Path(paths[1]).name}"), real(*paths))[1])

    monkeypatch.setattr("os.fsync", sync)
    note("rename")
    note("replace")
    write_folder(tmp_path / "out", "new")
    assert {"sync a", "sync b", "sync new"} == set(seen[: seen.index("move out")])
    seen.clear()
    write_one_file(tmp_path / "file", "new")
    assert "sync file" in seen[: seen.index("move file")]
    assert seen[-1] == f"sync {tmp_path.name}"  # and so is the new name itself
    seen.clear()
    write_file(tmp_path / "other", b"new")
    assert seen == ["sync other.part", "move other"]


def test_a_full_disk_is_one_error_and_keeps_what_is_finished(tmp_path: Path) -> None:
    key = {"version": "1", "config": "a", "inputs": "b"}

    def write(fail: bool) -> list[str]:
        with resumable_folder(tmp_path / "out", key, "finished parts") as partial:
            before = names(partial / "new")
            (partial / "new" / "first").write_text("")
            if fail:
                raise OSError(28, "No space left on device")
        return before

    with pytest.raises(ResweepError, match=r"out: cannot be written \(No space left on device\)"):
        write(fail=True)
    assert names(tmp_path) == ["out.partial"]
    assert write(fail=False) == ["first"]
    assert names(tmp_path) == ["out"]


def test_a_folder_called_partial_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out.partial").mkdir()
    (tmp_path / "out.partial" / "mine").write_text("keep")
    with pytest.raises(ResweepError, match="left alone"), resumable_folder(tmp_path / "out", {}, "finished parts"):
        pass
    assert (tmp_path / "out.partial" / "mine").read_text() == "keep"


def test_what_a_process_left_beside_a_finished_output_is_removed(tmp_path: Path) -> None:
    """It was killed between placing the output and removing its partial folder."""
    output, left = tmp_path / "run", tmp_path / "run.partial"
    for folder in (output, left / "new"):
        folder.mkdir(parents=True)
        (folder / "run.json").write_text("{}")
    (left / "checkpoints.json").write_text('{"version": "1"}\n')
    discard_leftover(output)
    assert [item.name for item in tmp_path.iterdir() if not item.name.startswith(".")] == ["run"]
    assert (output / "run.json").is_file()
    discard_leftover(output)  # nothing is left to remove
