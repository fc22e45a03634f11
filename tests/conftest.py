"""What all tests share."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from resweep import _core
from resweep.progress import Verbosity

# Files that take longest, and folders of such: they begin first, so that none is left for one worker at the end.
LONGEST = (
    "build/tiles/",
    "build/",
    "calibrate/",
    "map/",
    "cluster/",
    "docs/",
    "reproducible/",
    "fuzz/",
    "experiments/",
    "benchmarks/",
    "test_examples.py",
    "crash/",
    "dataset/",
    "test_files.py",
    "test_typing.py",
)
HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("RESWEEP_TEST_DATA", Path(__file__).resolve().parents[1].parent / "shared" / "data"))


def pytest_configure() -> None:
    """Heed Ctrl-C, also where tests run in the background of a shell: commands that they interrupt inherit this.

    Workers beside each other take one thread each (``RESWEEP_TEST_THREADS``), where a test asks for no number.
    """
    _core.set_thread_limit(int(os.environ.get("RESWEEP_TEST_THREADS", "0")))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the longest files first; all others keep their order."""

    def rank(item: pytest.Item) -> int:
        name = item.path.relative_to(HERE).as_posix()
        return next((at for at, long in enumerate(LONGEST) if name.startswith(long)), len(LONGEST))

    items.sort(key=rank)


@pytest.fixture(scope="session")
def sample_data() -> Path:
    """The folder of real sample recordings, which are not part of the project."""
    if not DATA.is_dir():
        pytest.skip("needs the sample recordings in ../shared/data")
    return DATA


@pytest.fixture(scope="session")
def external_python() -> str:
    """The python that has the field's own programs (tests/external/requirements.txt) and no resweep."""
    python = os.environ.get("RESWEEP_EXTERNAL", "")
    if not Path(python).is_file():
        pytest.skip("needs the environment of the field's programs, which make test installs (RESWEEP_EXTERNAL)")
    return python


@pytest.fixture(autouse=True)
def quiet_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """No progress on stderr, which many tests read: how long work takes depends on the machine.

    What a command of another test asked for, such as ``--quiet``, is forgotten: tests run in any order.
    """
    monkeypatch.setattr("resweep.progress.display.DisplayState.verbosity", Verbosity.NORMAL)
    monkeypatch.setattr("resweep.progress.display.PATIENCE_S", 3600.0)
    monkeypatch.setattr("resweep.progress.SILENCE_S", 3600.0)


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No fsync: thousands of small outputs would wait for the disk, and none has to outlive a power failure."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
