"""Tests of the core install: the wheel with its dependencies, without any extra.

They are skipped where an extra is installed, as in an ordinary run. ``make test`` runs them in an environment of their
own and sets ``RESWEEP_MINIMAL``, with which an installed extra is a failure.
"""

from __future__ import annotations

import os
import subprocess
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from resweep.cli import main
from resweep.optional import EXTRAS


@dataclass(frozen=True)
class Outcome:
    """How one command ended."""

    status: int
    out: str
    err: str


Command = Callable[..., Outcome]


@pytest.fixture(autouse=True, scope="session")
def core_install() -> None:
    present = [name for name in (*EXTRAS, "open3d") if find_spec(name) is not None]
    if present and os.environ.get("RESWEEP_MINIMAL"):
        pytest.fail(f"this must be the core install, but it has {', '.join(present)}")
    if present:
        pytest.skip(f"tests the core install, and {', '.join(present)} are installed; make test runs it apart")


def run_installed(*args: object, folder: Path) -> Outcome:
    """How the installed command ended, run in ``folder`` as a user types it."""
    command = Path(sysconfig.get_path("scripts")) / "resweep"
    environment = {**os.environ, "MPLBACKEND": "agg"}
    done = subprocess.run(
        [command, *map(str, args)], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def installed(tmp_path: Path) -> Command:
    """``installed("info", path)`` runs the installed command in the test's folder."""
    return lambda *args: run_installed(*args, folder=tmp_path)


@pytest.fixture
def resweep(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The same within this process, which saves a second of imports; a traceback fails the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*args: object) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in args])
        captured = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a log of four sweeps of a VLP-16 along a street."""
    folder = tmp_path_factory.mktemp("street")
    (folder / "path.tum").write_text("0.0 0 0 2 0 0 0 1\n0.15 0.5 0 2 0 0 0 1\n0.45 1.5 0 2 0 0 0 1\n")
    args = ("simulate", "scene:street", "-s", "velodyne-vlp-16", "-p", "path.tum", "--seed", 7, "-o", "drive")
    done = run_installed(*args, folder=folder)
    assert done.status == 0, done.err
    return folder / "drive"
