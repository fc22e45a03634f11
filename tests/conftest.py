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
