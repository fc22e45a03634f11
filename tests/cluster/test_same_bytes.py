"""Every command gives the same bytes on 1, 2 and 5 workers as in one process, and loses nothing with a worker."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trimesh

import resweep as rs
from resweep.cluster import open_workers
from resweep.scenario import builtin_bank

from .conftest import Cluster, Places, content, list_arguments

VERBS = ("simulate", "replay", "dataset", "build")
OTHERS = ("simulate-kitti", "simulate-nuscenes", "recorded")  # other ways to the same tasks


@pytest.fixture(scope="session")
def bank(places: Places) -> None:
    builtin_bank().save(places.folder / "bank")


@pytest.fixture(scope="session")
def plain(places: Places, bank: None) -> Callable[..., Path]:
    """What a command writes without workers, written once."""
    from resweep.cli import main

    outputs: dict[str, Path] = {}

    def run(verb: str) -> Path:
        if verb not in outputs:
            outputs[verb] = places.folder / f"plain-{verb}"
            with pytest.raises(SystemExit) as ended:
                main([str(word) for word in (*list_arguments(verb, places), "-o", outputs[verb], "-q")])
            assert not ended.value.code
        return outputs[verb]

    return run


@pytest.fixture(scope="module", params=[2, *(pytest.param(count, marks=pytest.mark.slow) for count in (1, 5))])
def address(cluster: Cluster, request: pytest.FixtureRequest) -> str:
    return cluster.scale(request.param)


# The gate simulates on two workers, and loses one; other commands, formats and numbers are for make test-all.
@pytest.mark.parametrize(
    "verb", [pytest.param(verb, marks=pytest.mark.slow if verb != "simulate" else ()) for verb in VERBS]
)
def test_commands_give_the_same_bytes(
    verb: str, address: str, places: Places, plain: Callable[..., Path], resweep: Any, tmp_path: Path
) -> None:
    assert_same(verb, address, places, plain, resweep, tmp_path)


def assert_same(
    verb: str, address: str, places: Places, plain: Callable[..., Path], resweep: Any, folder: Path
) -> None:
    done = resweep(*list_arguments(verb, places), "-o", folder / "out", "--cluster", address)
    assert done.status == 0, done.err
    expected = content(plain(verb))
    assert len(expected) > 5
    assert content(folder / "out") == expected
    assert [item.name for item in folder.iterdir()] == ["out"]


@pytest.fixture(scope="session")
def report(places: Places, plain: Callable[..., Path]) -> bytes:
    """What an evaluation without workers writes."""
    report = rs.evaluate(rs.open_log(plain("recorded"))[:4], rs.open_log(places.recorded), accumulate=True)
    report.save(places.folder / "report.json")
    return (places.folder / "report.json").read_bytes()


@pytest.mark.slow
def test_evaluations_are_the_same(
    address: str, report: bytes, places: Places, plain: Callable[..., Path], tmp_path: Path
) -> None:
    with open_workers(address) as workers:
        sim, real = rs.open_log(plain("recorded"))[:4], rs.open_log(places.recorded)
        rs.evaluate(sim, real, accumulate=True, workers=workers).save(tmp_path / "report.json")
    assert (tmp_path / "report.json").read_bytes() == report


@pytest.mark.slow
@pytest.mark.parametrize("verb", OTHERS)
def test_other_formats_and_drives_give_the_same_bytes(
    verb: str, cluster: Cluster, places: Places, plain: Callable[..., Path], resweep: Any, tmp_path: Path
) -> None:
    assert_same(verb, cluster.scale(2), places, plain, resweep, tmp_path)


@pytest.mark.slow
def test_evaluate_takes_a_cluster(
    cluster: Cluster, places: Places, plain: Callable[..., Path], resweep: Any, tmp_path: Path
) -> None:
    sim, real = plain("recorded") / "000002.sweep", places.recorded / "000002.sweep"
    here = resweep("evaluate", sim, real, "--json")
    there = resweep("evaluate", sim, real, "--json", "--cluster", cluster.scale(2))
    assert (here.status, there.status) == (0, 0), there.err
    assert there.out == here.out
    refused = resweep("evaluate", places.recorded, "--holdout", 2, "--cluster", cluster.address)
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "--cluster: compares two logs" in refused.err


def kill_one(cluster: Cluster, folder: Path, files: str, ended: threading.Event, killed: list[int]) -> None:
    """Kill a worker once one of the ``files`` is there, unless the command has ended."""
    while not any(folder.rglob(files)):
        if ended.wait(0.005):
            return
    pid = cluster.pids()[0]
    os.kill(pid, signal.SIGKILL)
    if not ended.is_set():
        killed.append(pid)


@pytest.mark.parametrize(
    ("verb", "files"), [("simulate", "*.sweep"), pytest.param("build", "world.json", marks=pytest.mark.slow)]
)
def test_a_worker_that_is_killed_costs_time_and_nothing_else(
    verb: str, files: str, cluster: Cluster, places: Places, resweep: Any, tmp_path: Path
) -> None:
    address = cluster.scale(2)
    command = ["simulate", places.room, "-s", "velodyne-hdl-32e", "-p", places.long_drive]
    if verb == "build":
        command = ["build", places.recorded, "--tile", 40]
    assert resweep(*command, "-o", tmp_path / "plain").status == 0
    killed: list[int] = []
    for _ in range(3):  # the command may be quicker than the killer
        ended = threading.Event()
        killer = threading.Thread(target=kill_one, args=(cluster, tmp_path / "out.partial", files, ended, killed))
        killer.start()
        done = resweep(*command, "-o", tmp_path / "out", "--overwrite", "--cluster", address)
        ended.set()
        killer.join()
        assert done.status == 0, done.err
        if killed:
            break
    assert len(killed) == 1
    assert content(tmp_path / "out") == content(tmp_path / "plain")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["out", "plain"]
    assert "Traceback" not in done.err


@pytest.mark.slow
def test_a_world_that_changed_between_two_commands_is_read_again(
    cluster: Cluster, places: Places, resweep: Any, tmp_path: Path
) -> None:
    address = cluster.scale(2)
    command = ["simulate", tmp_path / "room.obj", "-s", "velodyne-vlp-16", "-p", places.drive, "--cluster", address]
    for name, size in (("one", 20), ("two", 30)):
        trimesh.creation.box((size, size, size)).export(str(tmp_path / "room.obj"))
        assert resweep(*command, "-o", tmp_path / name).status == 0
    one, two = (rs.open_log(tmp_path / name)[3].range.max() for name in ("one", "two"))
    assert two > one + 3
