"""What tests of the benchmarks share."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function: a module of the benchmarks, which are run from the project's folder."""
    monkeypatch.syspath_prepend(str(ROOT))

    def module(name: str) -> ModuleType:
        return importlib.import_module(f"benchmarks.{name}")

    return module
