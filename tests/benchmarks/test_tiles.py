"""The benchmarks of whole drives: the drive itself, how processes are measured, and what is reported of builds."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import open_log
from resweep.sweep import Sweep

linux = pytest.mark.skipif(sys.platform != "linux", reason="the memory of processes is read from /proc")


def assert_same(one: Sweep, other: Sweep) -> None:
    for name in ("beam_direction", "beam_status", "beam", "range", "intensity", "label", "instance"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_a_sweep_of_the_drive_is_the_same_whatever_was_computed_before(load: Any) -> None:
    drive = load("long_street")
    alone = drive.open_drive(71, fast=True)[70]
    log = drive.open_drive(400, fast=True)
    assert len(log[0]) > 10_000
    assert_same(log[70], alone)
    assert log.poses[70][0, 3] == pytest.approx(70.0)
    assert len(np.unique(alone.label)) > 5
    assert (alone.range > 60).any(), "the street ends too early"
    with pytest.raises(ResweepError, match="one at least"):
        drive.open_drive(0)


def test_few_blocks_are_kept_of_a_long_drive(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    drive = load("long_street")
    monkeypatch.setattr(drive, "_BLOCKS", 2)
    street = drive.Street(3)
    for number in range(-1, 3):
        assert street.block(number).origin[0] == (number + 0.5) * drive.BLOCK_M
    assert list(street._blocks) == [1, 2]


def test_a_drive_on_disk_is_written_once(load: Any, tmp_path: Path) -> None:
    drive = load("long_street")
    folder = drive.write_drive(tmp_path / "street", 2, fast=True)
    written = {file: file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()}
    assert_same(open_log(folder)[1], drive.open_drive(2, fast=True)[1])
    assert drive.write_drive(folder, 2, fast=True) == folder
    assert {file: file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()} == written
    with pytest.raises(ResweepError, match="another log"):
        drive.write_drive(folder, 3, fast=True)


@linux
def test_children_count_in_the_memory_of_a_command(load: Any, tmp_path: Path) -> None:
    processes = load("processes")
    hold = "b = bytearray(%d); b[::4096] = b'x' * len(b[::4096]); import time; time.sleep(0.6)"
    child = hold % 120_000_000
    start = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {child!r}])"
    both = f"{start}; {hold % 80_000_000}; p.wait()"
    used = processes.run_measured([sys.executable, "-c", both], "two processes")
    assert 200e6 < used.peak_bytes < 300e6
    assert 0 < used.own_s < used.processor_s
    assert used.seconds > 0.5
    with pytest.raises(ResweepError, match="two processes: failed with status 3: no luck"):
        processes.run_measured(
            [sys.executable, "-c", "import sys; print('no luck', file=sys.stderr); sys.exit(3)"], "two processes"
        )


def test_folders_that_vanish_while_they_are_counted_do_not_stop_it(
    load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(b"x" * 10)
    real = os.scandir

    def scan(path: Any) -> Any:
        if Path(os.fspath(path)) == tmp_path / "b":
            raise FileNotFoundError(path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scan)
    assert load("processes").folder_bytes(tmp_path) == 20
    assert load("processes").folder_bytes(tmp_path / "none") == 0


def test_finished_parts_of_a_run_are_kept_for_the_same_package(load: Any, tmp_path: Path) -> None:
    tiles = load("tiles")
    measured: list[str] = []

    def measure(name: str) -> dict[str, float]:
        measured.append(name)
        return {f"{name}_s": 1.0 + len(measured)}

    file = tmp_path / "finished.json"
    first = tiles.Parts(file, "one").run("a", lambda: measure("a"))
    again = tiles.Parts(file, "one")
    assert again.run("a", lambda: measure("a")) == first
    again.run("b", lambda: measure("b"))
    assert list(again.loads) == ["a", "b"]
    assert all(len(load) == 2 for load in again.loads.values())
    assert tiles.Parts(file, "another").run("a", lambda: measure("a")) != first
    only = tiles.Parts(file, "another", finished_only=True)
    assert ("a" in only, "b" in only) == (True, False)
    assert only.run("b", lambda: measure("b")) == {}
    assert measured == ["a", "b", "a"]
    assert tiles.hash_package() == tiles.hash_package()


@linux
@pytest.mark.slow
def test_a_fast_run_gives_positive_figures_and_tables(load: Any, tmp_path: Path) -> None:
    tiles = load("tiles")
    result = tiles.run(True, 0, tmp_path, "4GB", (2, 3))
    for key in ("peak_gb_2", "peak_gb_3", "sweeps_per_s_build", "ratio_to_untiled", "world_bytes_3", "store_bytes_3"):
        assert result[key] > 0
    assert json.loads(json.dumps(result)) == result
    assert all(table.row_count > 0 for table in tiles.tables(result))
