"""What the viewer is given: a path by what it holds, and the pages that several of them make."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from resweep.errors import InputError, ResweepError
from resweep.log import Log
from resweep.memory import parse_memory
from resweep.remote import find_path, is_remote, recover_output
from resweep.scenario import Bank, Scenario, load_bank, load_scenario
from resweep.scenario.scenario import SCENARIOS
from resweep.scenes.opening import SCENE, open_world
from resweep.sensors import Sensor, load_sensor, sensor_names
from resweep.worlds import World

Kind = Literal["log", "world", "scenario", "bank", "sensor"]
_MESHES = (".obj", ".stl", ".glb", ".gltf", ".off", ".dae")
_YAML = (".yaml", ".yml")


@dataclass
class ViewerContents:
    """What the paths given to the viewer hold, by kind, in their order."""

    logs: list[tuple[str, Log]] = field(default_factory=list)
    worlds: list[tuple[str, World]] = field(default_factory=list)
    scenarios: list[tuple[str, Scenario]] = field(default_factory=list)
    banks: list[tuple[str, Bank]] = field(default_factory=list)
    sensors: list[tuple[str, Sensor]] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The names of all of it."""
        every = (*self.logs, *self.worlds, *self.scenarios, *self.banks, *self.sensors)
        return ", ".join(shorten(name) for name, _ in every)


def shorten(name: str) -> str:
    """The last part of a path; with the one before it where it alone is no name, such as a number."""
    path = Path(name)
    long = len(path.parts) > 1 and (path.name.isdigit() or len(path.name) < 3)
    return f"{path.parts[-2]}/{path.name}" if long else path.name or name


def find_kind(name: str) -> Kind:
    """The kind of what a path or name of the command line leads to."""
    if name.startswith(SCENE):
        return "world"
    path = find_path(name)
    if not is_remote(path) and not path.exists():
        if name in SCENARIOS:
            return "scenario"
        if name in sensor_names():
            return "sensor"
    recover_output(path)
    if path.is_dir():
        if (path / "bank.json").is_file():
            return "bank"
        return "world" if (path / "world.json").is_file() else "log"
    suffix = path.suffix.lower()
    if suffix in _MESHES:
        return "world"
    if suffix == ".ply" and path.is_file():
        from resweep.io.files.ply import is_mesh

        return "world" if is_mesh(path) else "log"
    if suffix in _YAML:
        return "scenario" if _has_ego(path) else "sensor"
    return "log"


def open_contents(names: list[str], *, seed: int = 0, memory: str | None = None, **log_options: Any) -> ViewerContents:
    """Open all paths; ``memory`` bounds worlds, ``log_options`` are those of `open_log`."""
    from resweep.io import open_log

    opened = ViewerContents()
    for name in names:
        kind = find_kind(name)
        if kind == "world":
            opened.worlds.append((name, open_world(name, seed, memory_bytes=parse_memory(memory))))
        elif kind == "scenario":
            opened.scenarios.append((name, load_scenario(name)))
        elif kind == "bank":
            opened.banks.append((name, load_bank(name)))
        elif kind == "sensor":
            opened.sensors.append((name, load_sensor(name)))
        else:
            log = open_log(name, **log_options)
            if len(log) == 0:
                raise InputError(f"{name}: holds no sweep, so there is nothing to show")
            opened.logs.append((name, log))
    _check(opened)
    return opened


def _check(opened: ViewerContents) -> None:
    """Raise for what no page shows together."""
    if len(opened.logs) > 2:
        raise ResweepError(f"view: {len(opened.logs)} logs; give one, or two to compare")
    for what, given in (("worlds", opened.worlds), ("scenarios", opened.scenarios), ("banks", opened.banks)):
        if len(given) > 1:
            raise ResweepError(f"view: {len(given)} {what}; give one")
    if opened.scenarios and not opened.worlds:
        name = opened.scenarios[0][0]
        raise ResweepError(f"{name}: a scenario is shown in a world; give that too, as in: resweep view {name} W.world")


def _has_ego(path: Path) -> bool:
    """Whether a YAML file is a scenario: only these say where the ego goes."""
    from resweep.config import parse_yaml, read_text

    data = parse_yaml(read_text(path, "a scenario or a sensor in YAML"), str(path), "keys such as ego or channels")
    return isinstance(data, dict) and "ego" in data
