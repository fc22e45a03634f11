"""docs/drive.md has the fields of the models and messages."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import yaml

from resweep.drive import Loop, LoopConfig, Rig, Run
from resweep.drive.autonomy.messages import describe_mission, describe_observation

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "drive.md").read_text(encoding="utf-8")


def test_tables_are_those_of_the_models() -> None:
    spec = importlib.util.spec_from_file_location("write_tables", ROOT / "docs" / "write_tables.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.render(TEXT) == TEXT, "run python docs/write_tables.py"


def test_the_example_of_a_rig_loads() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    rig = Rig(**yaml.safe_load(text))
    assert [lidar.name for lidar in rig.lidars] == ["roof", "nose"]
    assert rig.odometry is None


def test_the_messages_have_the_fields_of_the_page(yard: Any, rig: Rig) -> None:
    (text,) = re.findall(r"```c\n(.*?)```", TEXT, re.DOTALL)
    structs = {
        name: set(re.findall(r"(\w+)(?:\[\w+\])*\s*[,;]", re.sub(r"//.*", "", body)))
        for name, body in re.findall(r"^struct (\w+) \{[^\n;]*\n(.*?)^\};", text, re.DOTALL | re.MULTILINE)
    }
    loop = Loop(yard, "passenger-car", rig, start=(0, 0, 0), config=LoopConfig(duration_s=1.0))
    assert set(describe_mission(loop.mission)) == structs["mission"]
    episode = loop.episode()
    episode.begin()
    message = describe_observation(episode.step((0.0, 0.0)))
    assert set(message) == structs["observation"]
    assert set(message["scans"]["lidar"][0]) == structs["scan"]


def test_the_outcomes_of_the_page_are_those_of_runs() -> None:
    listed = re.findall(r"^\| `([\w-]+)` \| ", TEXT.split("| outcome |")[1].split("\n\n")[0], re.MULTILINE)
    assert Run.__doc__ is not None
    assert set(listed) == set(re.findall(r"``([\w-]+)``", Run.__doc__.split("``events``")[0])) - {"outcome"}
