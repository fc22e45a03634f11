"""Commands that write, each small and whole: inputs, arguments, and how to run them in a process of their own.

Every command writes ``out`` in the folder in which it runs, and reads only from the folder of inputs, by absolute
paths: its bytes do not depend on where it runs.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import resweep as rs
from resweep.io import write_poses
from resweep.scenes import SCENE_LABELS, box, ground_plane, wall

SENSOR = "velodyne-vlp-16"
CLI = (sys.executable, "-c", "from resweep.cli import main; main()")
# The package under test, from whatever folder a command runs in.
_ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(rs.__file__).parents[1])}
_QUICK = ("--set", "beam.rays=single")
_FEW_BEAMS = {"beam.rays": "single", "pattern.firing_period_s": None, "pattern.azimuth_resolution_deg": 1.0}
_QUICK_BUILD = ("calibrate.iterations=1", "calibrate.samples=1000", "calibrate.points_per_sweep=2000")
_PLAN = """\
name: small
worlds: [{world}]
sensors: [{{name: velodyne-vlp-16, set: {{beam.rays: single}}}}]
sweeps: {sweeps}
variants: 2
scenarios:
  - name: pass
    ego: {{lane: [[-20, -3], [20, -3]], speed_mps: 8}}
    duration_s: 3
    actors:
      - {{name: car, asset: suv, lane: [[15, 2], [-40, 2]], speed_mps: 10}}
"""
TUM = "drive.tum"


@dataclass(frozen=True)
class Command:
    """A command: its arguments but for the output, and those that make it write something else.

    ``reads`` are the inputs that it reads all along.
    """

    args: tuple[str, ...]
    output: str = "out"
    other: tuple[str, ...] = ("--seed", "9")
    overwrite: tuple[str, ...] = ("--overwrite",)
    reads: tuple[str, ...] = ()

    @property
    def verb(self) -> str:
        """Its name."""
        return self.args[0]

    def arguments(self, *more: str) -> list[str]:
        """All its arguments, with ``more`` at the end."""
        named = [self.output] if self.verb == "convert" else ["-o", self.output]
        return [*self.args, *named, *more]

    def start(self, folder: Path, *more: str, **options: Any) -> subprocess.Popen[str]:
        """The command at work in ``folder``."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([*CLI, *self.arguments(*more)], cwd=folder, env=_ENVIRONMENT, **{**pipes, **options})

    def run(self, folder: Path, *more: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """The finished command."""
        pipes = {"capture_output": True, "text": True}
        return subprocess.run(
            [*CLI, *self.arguments(*more)], cwd=folder, env=_ENVIRONMENT, check=False, **{**pipes, **options}
        )


def make_inputs(folder: Path, sweeps: int = 4) -> dict[str, Command]:
    """Make what the commands read in ``folder``, drives of so many sweeps; gives the commands."""
    parts = [ground_plane((120, 60)), wall((-60, 12), (60, 9), 4.0), box((3, 2, 2), (5, -12, 0))]
    world = rs.World(parts, labels=SCENE_LABELS)
    place = folder / "place.world"
    world.save(place)
    _write_drives(world, folder, sweeps)
    (folder / "plan.yaml").write_text(_PLAN.format(world=place, sweeps=sweeps), encoding="utf-8")
    return list_commands(folder, sweeps)


def list_commands(folder: Path, sweeps: int = 4) -> dict[str, Command]:
    """The commands that read what `make_inputs` has made in ``folder``, by their verbs."""
    place = folder / "place.world"
    log, sensor = str(folder / "log"), ("-s", SENSOR)
    settings = tuple(word for item in _QUICK_BUILD for word in ("--set", item))
    last = f"log/{sweeps - 1:06d}.sweep"
    return {
        "build": Command(("build", log, *settings), "out.world", ("--method", "surfels"), reads=(last,)),
        "dataset": Command(
            ("dataset", str(folder / "plan.yaml")),
            other=("--set", "seed=9"),
            overwrite=(),
            reads=("place.world/world.json",),
        ),
        "simulate": Command(
            ("simulate", str(place), *sensor, *_QUICK, "-p", str(folder / TUM), "--sweeps", str(sweeps))
        ),
        "like": Command(("simulate", str(place), "--like", log), reads=(last,)),
        "convert": Command(("convert", log, "-f", "pcd"), other=("--frame", "world"), reads=(last,)),
        "replay": Command(("replay", log, "-w", str(place), *sensor), reads=(last,)),
        "merge": Command(("merge", str(folder / "day"), str(folder / "night")), other=(), overwrite=()),
    }


def _write_drives(world: rs.World, folder: Path, sweeps: int) -> None:
    """Write a log with a car that passes, the poses of its drive, and two small nuScenes datasets."""
    fields: dict[str, Any] = {
        "ego": {"lane": [[-20, -3], [20, -3]], "speed_mps": 8},
        "duration_s": 0.1 * sweeps + 0.5,
        "actors": [{"name": "car", "asset": "suv", "lane": [[-12, 0.5], [-50, 0.5]], "speed_mps": 10}],
    }
    scenario = rs.Scenario(**fields)
    trajectory, actors = scenario.place(world)
    sensor = rs.load_sensor(SENSOR).with_(**_FEW_BEAMS)
    drive = rs.Simulator(world, sensor, actors=actors).run(trajectory)[:sweeps]
    rs.write_log(drive, folder / "log", format="sweep", progress=False)
    write_poses(trajectory, folder / TUM)
    for name, part in {"day": drive[:1], "night": drive[1:2]}.items():
        rs.write_log(part, folder / name, format="nuscenes", progress=False)


def hash_tree(path: Path) -> str | None:
    """A hash of all names and bytes at ``path``; None if there is nothing."""
    if not path.exists():
        return None
    digest = hashlib.sha256()
    for name, content in sorted(hash_files(path).items()):
        digest.update(f"{name} {content}\n".encode())
    return digest.hexdigest()


def hash_files(path: Path) -> dict[str, str]:
    """The hash of each file at or below ``path``, by its name there; folders are named too."""
    if path.is_file():
        return {"": hashlib.sha256(path.read_bytes()).hexdigest()}
    found = sorted(path.rglob("*"))
    return {
        str(item.relative_to(path)): hashlib.sha256(item.read_bytes()).hexdigest() if item.is_file() else "folder"
        for item in found
    }


def list_names(folder: Path) -> list[str]:
    """The names in ``folder``, hidden ones included."""
    return sorted(os.listdir(folder))


def last_line(text: str) -> str:
    """The last line of what a command printed."""
    return (text.strip().splitlines() or [""])[-1]


def is_one_error(text: str) -> bool:
    """Whether what a command printed on stderr has exactly one line that is an error, and no traceback."""
    return "Traceback" not in text and sum(line.startswith("resweep: error: ") for line in text.splitlines()) == 1
