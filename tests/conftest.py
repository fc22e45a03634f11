"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("RESWEEP_TEST_DATA", Path(__file__).resolve().parents[1].parent / "shared" / "data"))


@pytest.fixture(scope="session")
def sample_data() -> Path:
    """The folder of real sample recordings, which are not part of the project."""
    if not DATA.is_dir():
        pytest.skip("needs the sample recordings in ../shared/data")
    return DATA


@pytest.fixture(autouse=True)
def quiet_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """No progress on stderr, which many tests read: how long work takes depends on the machine."""
    monkeypatch.setattr("resweep.progress.PATIENCE_S", 3600.0)
