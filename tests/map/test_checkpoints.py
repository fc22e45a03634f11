"""Builds that were stopped go on where they were, and give the same bytes as unbroken ones."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep.build import SplatConfig, SurfelConfig, accumulate
from resweep.files import lock_local
from resweep.files.publication import discard_partial
from resweep.log import Log
from resweep.map.checkpoints import Checkpoints
from resweep.worlds import load_world
from tests.places import ROAD, at, log_of, plane

QUICK = {"iterations": 1, "samples": 1000, "points_per_sweep": 2000}
CONFIG = SplatConfig(map={"ego_radius_m": 0.0}, calibrate=QUICK, carve={"rounds": 1}, thin_m=0.0)


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    points = plane(5.0, 0.15)
    poses = [at(0.5 * number) for number in range(4)]
    folder = tmp_path_factory.mktemp("logs") / "drive"
    log = log_of([points] * 4, poses, label=[np.full(len(points), ROAD)] * 4)
    rs.write_log(log, folder, format="semantickitti", progress=False)
    return folder


def content(world: Path) -> dict[str, bytes]:
    return {str(file.relative_to(world)): file.read_bytes() for file in sorted(world.rglob("*")) if file.is_file()}


def command(drive: Path, world: Path, *args: str) -> list[str]:
    code = "from resweep.cli.app import main; main()"
    quick = [f"calibrate.{name}={value}" for name, value in QUICK.items()]
    settings = [word for item in ("map.ego_radius_m=0", *quick) for word in ("--set", item)]
    return [sys.executable, "-c", code, "build", str(drive), "-o", str(world), *settings, *args]


def killed_after(files: str, args: list[str], partial: Path) -> None:
    """Run a build and kill it as soon as one of ``files`` is in its partial folder."""
    with subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        until = time.monotonic() + 600
        while not any(partial.glob(files)):
            assert running.poll() is None, "the build ended before it could be killed"
            assert time.monotonic() < until
            time.sleep(0.001)
        os.kill(running.pid, signal.SIGKILL)


def test_a_killed_build_resumes_and_gives_the_same_bytes(drive: Path, tmp_path: Path) -> None:
    unbroken, world = tmp_path / "a.world", tmp_path / "b.world"
    whole = subprocess.run(command(drive, unbroken), capture_output=True, text=True, check=True)
    assert "resuming" not in whole.stderr
    partial = tmp_path / "b.world.partial"
    killed_after("accumulate.piece", command(drive, world), partial)
    assert not world.exists()
    assert {file.stem for file in partial.glob("*.piece")} >= {"calibrate", "accumulate"}
    again = subprocess.run(command(drive, world), capture_output=True, text=True, check=True)
    assert "resuming; finished before: calibrate, accumulate" in again.stderr
    assert not partial.exists()
    assert not (tmp_path / "a.world.partial").exists()
    ours, theirs = content(world), content(unbroken)
    assert ours.keys() == theirs.keys()
    assert all(ours[name] == theirs[name] for name in ours)


def test_a_killed_build_leaves_the_old_world(drive: Path, tmp_path: Path) -> None:
    world = tmp_path / "w.world"
    rs.build(rs.open_log(drive)[:2], CONFIG, progress=False).save(world)
    old = content(world)
    killed_after("calibrate.piece", command(drive, world, "--overwrite"), tmp_path / "w.world.partial")
    assert content(world) == old


def counted(log: Log, reads: list[int]) -> Log:
    def load(index: int) -> rs.Sweep:
        reads.append(index)
        return log.load(index)

    return replace(log, load=load)


def stopped(world: Path, log: Log) -> Path:
    """The folder of checkpoints up to the map, as a build of ``world`` leaves them that stops there."""
    run = Checkpoints.run

    class StopError(Exception):
        pass

    def halt(self, name, *rest):  # type: ignore[no-untyped-def]
        if name == "grow":
            raise StopError
        return run(self, name, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoints, "run", halt)
        with pytest.raises(StopError):
            rs.build(log, CONFIG, world, progress=False)
    return world.with_name(world.name + ".partial")


def test_finished_steps_are_not_run_again(drive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = rs.open_log(drive)
    expected = rs.build(log, CONFIG, progress=False)
    folder = stopped(tmp_path / "a.world", log)
    reads: list[int] = []
    world = rs.build(counted(log, reads), CONFIG, tmp_path / "a.world", progress=False)
    assert Counter(reads) <= Counter({0: 3, 1: 1, 2: 1, 3: 1})  # for the plan, and for the limits of the sensor
    assert "resuming; finished before: calibrate, accumulate" in capsys.readouterr().err
    assert not folder.exists()
    one, other = world.layers[0], expected.layers[0]
    for name in ("centre", "normal", "radius", "label", "reflectance"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    assert world.meta == expected.meta


@pytest.mark.parametrize("change", ["config", "kind", "sweeps", "file", "version"])
def test_checkpoints_of_another_build_are_discarded_with_a_word(
    drive: Path, tmp_path: Path, change: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, path = tmp_path / "drive", tmp_path / "a.world"
    shutil.copytree(drive, copy)
    stopped(path, rs.open_log(copy))
    log, config = rs.open_log(copy), CONFIG
    if change == "config":
        config = config.model_copy(update={"alpha": 0.3})
    elif change == "kind":
        config = SurfelConfig(map={"ego_radius_m": 0.0}, voxel_m=0.3, normal_radius_m=1.0)  # type: ignore[assignment]
    elif change == "sweeps":
        log = log[:3]
    elif change == "version":
        monkeypatch.setattr(rs, "__version__", "9.9")
    else:
        file = copy / "velodyne" / "000002.bin"
        file.write_bytes(file.read_bytes())
    expected = {"config": "other settings", "kind": "other settings", "version": "another version of Resweep"}
    reads: list[int] = []
    world = rs.build(counted(log, reads), config, path, progress=False)
    assert set(reads) == set(range(len(log)))
    message = capsys.readouterr().err
    assert f"checkpoints of a build with {expected.get(change, 'other inputs')} are discarded" in message
    assert world.meta["sweeps"] == len(log)


def test_a_damaged_checkpoint_is_made_again(drive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = rs.open_log(drive)
    file = stopped(tmp_path / "a.world", log) / "accumulate.piece"
    file.write_bytes(file.read_bytes()[:1000])
    world = rs.build(log, CONFIG, tmp_path / "a.world", progress=False)
    assert "damaged" in capsys.readouterr().err
    assert world.meta["points"] == rs.build(log, CONFIG, progress=False).meta["points"]


def test_a_folder_of_other_things_is_left_alone(drive: Path, tmp_path: Path) -> None:
    mine = tmp_path / "a.world.partial"
    mine.mkdir()
    (mine / "notes.txt").write_text("keep")
    with pytest.raises(rs.ResweepError, match="left alone"):
        rs.build(rs.open_log(drive), CONFIG, tmp_path / "a.world", progress=False)
    assert (mine / "notes.txt").read_text() == "keep"


def test_a_log_in_memory_is_known_by_its_sweeps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    points = plane(5.0, 0.1)
    log = log_of([points] * 2, [at(0.0), at(0.5)])
    other = log_of([points, points + 0.01], [at(0.0), at(0.5)])
    Checkpoints.open(tmp_path / "s", log, CONFIG, CONFIG.map.choose_labels(log)).run(
        "accumulate", lambda: accumulate(log, CONFIG.map), lambda cloud: {"points": cloud.points}, lambda columns: None
    )
    Checkpoints.open(tmp_path / "s", log, CONFIG, CONFIG.map.choose_labels(log))
    assert "resuming" in capsys.readouterr().err
    Checkpoints.open(tmp_path / "s", other, CONFIG, CONFIG.map.choose_labels(other))
    assert "other inputs" in capsys.readouterr().err


def test_a_checkpoint_of_another_build_is_never_mixed_in(
    drive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = rs.open_log(drive)
    kept, other = stopped(tmp_path / "a.world", log), stopped(tmp_path / "b.world", log[:3])
    shutil.copy(other / "accumulate.piece", kept)
    world = rs.build(log, CONFIG, tmp_path / "a.world", progress=False)
    assert "accumulate.piece is of other work: computed again" in capsys.readouterr().err
    assert world.meta["points"] == rs.build(log, CONFIG, progress=False).meta["points"]


def test_checkpoints_have_one_build_at_a_time(drive: Path, tmp_path: Path) -> None:
    log = rs.open_log(drive)
    with ThreadPoolExecutor(1) as pool, lock_local(tmp_path / "a.world"):
        building = pool.submit(rs.build, log, CONFIG, tmp_path / "a.world", progress=False)
        with pytest.raises(rs.ResweepError, match=r"a\.world: another thread"):
            building.result()


def test_checkpoints_that_were_being_discarded_are_not_used(drive: Path, tmp_path: Path) -> None:
    log = rs.open_log(drive)
    folder = stopped(tmp_path / "a.world", log)

    def interrupt(path: Path) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "unlink", interrupt)
        with pytest.raises(KeyboardInterrupt):
            discard_partial(folder)
    assert (folder / "accumulate.piece").exists()
    reads: list[int] = []
    rs.build(counted(log, reads), CONFIG, tmp_path / "a.world", progress=False)
    assert set(reads) == set(range(len(log)))
    assert not folder.exists()


@pytest.mark.slow
def test_two_builds_at_once_do_not_mix(drive: Path, tmp_path: Path) -> None:
    slow = """
import sys
from resweep.map.checkpoints import Checkpoints
run = Checkpoints.run
def wait(self, name, *more):
    if name == "calibrate":
        print("waiting", flush=True)
        sys.stdin.readline()
    return run(self, name, *more)
Checkpoints.run = wait
"""
    world, quick = tmp_path / "w.world", command(drive, tmp_path / "w.world")
    args = [*quick[:2], slow + quick[2], *quick[3:]]
    with subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "waiting\n"
        second = subprocess.run([*quick, "--sweeps", "0:2"], capture_output=True, text=True, check=False)
        assert second.returncode == 1
        assert second.stderr.startswith(f"resweep: error: {world}: another process is writing it (pid {first.pid}, ")
        assert second.stderr.count("\n") == 1
        first.communicate("\n")
    assert first.returncode == 0
    assert load_world(world).meta["sweeps"] == 4
    assert [item.name for item in tmp_path.iterdir()] == ["w.world"]
