"""The experiments are scripts beside the package, not part of it: put them within reach, and run their commands."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

CheckCommand = Callable[..., None]


@pytest.fixture
def check_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CheckCommand:
    """``check_command("b_figure3", result)`` shows, draws and prints an experiment from its command line.

    Without a result the experiment is run; files whose tests need its result run it once and give it.
    """

    def check(name: str, result: dict[str, Any] | None = None) -> None:
        from experiments.presenting import main

        module = importlib.import_module(f"experiments.{name}")
        run = module.run if result is None else lambda fast: result
        main(name, "", run, module.show, module.draw, ["--fast", "--json", "-o", str(tmp_path)])
        written = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert written["experiment"] == name
        assert written["fast"] is True
        assert not any(key.startswith("_") for key in written)
        assert (tmp_path / f"{name}.png").read_bytes()[:4] == b"\x89PNG"

    return check
