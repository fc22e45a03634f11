"""A room, a drive through it, and the command line as a user types it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import trimesh

from resweep.cli import main
from resweep.io import write_poses
from resweep.pose import Trajectory, from_xyz_rpy


@dataclass(frozen=True)
class Outcome:
    """Exit status and output of one command."""

    status: int
    out: str
    err: str


Command = Callable[..., Outcome]


@pytest.fixture
def resweep(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """``resweep("info", path)`` runs a command in the test's folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*args: object) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as result:
            main([str(word) for word in args])
        captured = capsys.readouterr()
        return Outcome(int(result.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """A mesh of a room whose walls, floor and ceiling are all 10 m from the origin."""
    path = tmp_path / "room.obj"
    trimesh.creation.box((20, 20, 20)).export(str(path))
    return path


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    """A TUM file of 0.35 s along x at 2 m/s: three sweeps at 10 Hz."""
    times = np.linspace(5.0, 5.35, 8)
    path = tmp_path / "drive.tum"
    write_poses(Trajectory(times, np.stack([from_xyz_rpy(2 * (time - 5), 0, 0) for time in times])), path)
    return path
