"""Killed while an output was published: finished work is neither lost, nor left behind, nor done twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from resweep.errors import ResweepError
from resweep.files import lock_local
from resweep.files.partial import resumable_folder

KEY = {"version": "1", "config": "a", "inputs": "b"}


def write(path: Path, made: list[str], text: str = "new") -> None:
    """A log of one sweep, which is made unless it is there."""
    with resumable_folder(path, KEY, "finished sweeps") as partial:
        sweep = partial / "new" / "sweep"
        if not sweep.exists():
            sweep.write_text(text)
            made.append(text)


def kill_at(monkeypatch: pytest.MonkeyPatch, name: str, path: Path, before: bool) -> None:
    """Run `write` in a forked process that ends before or after its first call of ``name``."""
    pid = os.fork()
    if pid == 0:
        module, function = name.rsplit(".", 1)
        import importlib

        owner = importlib.import_module(module)
        real = getattr(owner, function)

        def die(*args: object) -> object:
            if not before:
                real(*args)
            os._exit(9)

        setattr(owner, function, die)
        write(path, [])
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9


@pytest.mark.parametrize("old", [True, False], ids=["over an old one", "where there was none"])
@pytest.mark.parametrize(
    ("function", "before", "finished"),
    [
        ("resweep.files.atomic._put_in_place", True, False),
        ("resweep.files.atomic._put_in_place", False, True),
        ("resweep.files.partial.discard_partial", True, True),
    ],
)
def test_a_kill_during_publication_loses_nothing_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, before: bool, finished: bool, old: bool
) -> None:
    out = tmp_path / "out"
    if old:
        out.mkdir()
        (out / "sweep").write_text("old")
    kill_at(monkeypatch, function, out, before)
    assert (out / "sweep").exists() == (old or finished)
    if finished:
        with lock_local(out):  # as any command does that looks at the output, and may then refuse to replace it
            pass
        assert os.listdir(tmp_path) == ["out"]
    else:
        made: list[str] = []
        write(out, made)
        assert made == []  # the sweep was finished before
    assert (out / "sweep").read_text() == "new"
    assert os.listdir(tmp_path) == ["out"]


def test_a_publication_that_is_refused_keeps_the_finished_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(folder: Path, target: Path) -> None:
        raise OSError(13, "Permission denied")

    made: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr("resweep.files.atomic._put_in_place", refuse)
        with pytest.raises(ResweepError, match=r"out: cannot be written \(Permission denied\)"):
            write(tmp_path / "out", made)
    assert os.listdir(tmp_path) == ["out.partial"]
    write(tmp_path / "out", made)
    assert made == ["new"]
    assert os.listdir(tmp_path) == ["out"]


def test_a_cut_off_note_counts_as_none(tmp_path: Path) -> None:
    made: list[str] = []

    def stop() -> None:
        with resumable_folder(tmp_path / "out", KEY, "finished sweeps") as partial:
            (partial / "new" / "sweep").write_text("new")
            (partial / "publication.json").write_text('{"ino')
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    write(tmp_path / "out", made)
    assert made == []
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("left", [["checkpoints.json", "calibrate.npz"], ["checkpoints.json"], []])
def test_a_partial_folder_that_was_being_removed_goes(tmp_path: Path, left: list[str]) -> None:
    partial = tmp_path / "out.partial"
    partial.mkdir()
    for name in left:
        (partial / name).write_bytes(b"{}\n")
    with lock_local(tmp_path / "out"):
        assert os.listdir(tmp_path) == [".out.lock"]


def test_a_partial_folder_of_something_else_stays(tmp_path: Path) -> None:
    (tmp_path / "out.partial").mkdir()
    (tmp_path / "out.partial" / "mine").write_text("keep")
    with lock_local(tmp_path / "out"):
        pass
    assert (tmp_path / "out.partial" / "mine").read_text() == "keep"
