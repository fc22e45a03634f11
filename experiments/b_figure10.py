"""B, 3.5.3 and Figure 10: a robot finds its way through the courtyard by each of four LiDARs.

Scans are registered by GPS and compass into a cost map of 400 x 400 cells of 0.5 m (eq. 8, with h_max = 1.5 m; the
printed max must be a min), A* plans over it and a follower drives the plan at up to 2 m/s, from the southwest corner to
a goal 130 m northeast. B shows cost maps after ten seconds and judges by eye; here the whole drive is scored.

Fifty trees are few for nine hectares: in most courtyards none stands between start and goal. The seed of this one is
the one of the first 400 with most trunks within 1 m of the straight line: two, after 14 m and after 71 m.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.presenting import GREEN, INK, ORANGE, console, figure, main, progress, table
from resweep import Instances, World
from resweep.drive import LidarMount, Loop, LoopConfig, Observation, Rig
from resweep.drive.planners import Navigator
from resweep.drive.planners.astar import inflate
from resweep.drive.planners.costmap import LETHAL, CostMap, compute_point_costs
from resweep.pose import Array
from resweep.scenes import CourtyardConfig, courtyard
from resweep.scenes.scene_labels import Label
from resweep.sensors import load_sensor

SENSORS = {
    "sick-lms-291-s05": "SICK LMS-291 S05",
    "velodyne-vlp-16": "Velodyne VLP-16",
    "velodyne-hdl-32e": "Velodyne HDL-32E",
    "velodyne-hdl-64e": "Velodyne HDL-64E",
}
HEIGHT_M = 2.0  # B, 3.5.3
DISTANCE_M = 130.0  # B, 3.5.3
SHOWN_S = 10.0  # B, Figure 10
START = (-118.0, -118.0)
SEED = 354
IN_THE_WAY_M = 1.2  # half of the robot's width and the navigator's margin, about
REGISTERED_M = 2.0  # returns of an obstacle may land this far beside it
CLAIM = (
    "the LMS-291 shows trees only; the VLP-16 sees tall obstacles at intermediate ranges better than the HDL-64E, "
    "which sees smaller nearby ones better"
)


class Watched(Navigator):
    """The navigator, which keeps its cost map and path as they are after ten seconds."""

    def step(self, observation: Observation) -> tuple[float, float]:
        """As the navigator does."""
        command = super().step(observation)
        if observation.time_s <= SHOWN_S + 1e-9:
            self.early = (self.map.cost.copy(), None if self.path is None else self.path.copy())
        return command


def true_costs(world: World, grid: CostMap) -> tuple[Array, Array]:
    """The cost of each cell by the geometry in it, and whether there is anything but grass and ground in it."""
    other = CostMap(grid.config, (0.0, 0.0))
    other.low = grid.low
    solid = np.zeros_like(other.cost, bool)
    for layer in world.layers:
        if layer.name == "ground":
            continue
        grass = layer.name == "grass"
        for part in _list_vertices(layer):
            cells, rows = other.find_cells(part[:, :2])
            if not len(rows):
                continue
            flat = cells[:, 0] * grid.config.cells + cells[:, 1]
            np.maximum.at(other.cost.reshape(-1), flat, compute_point_costs(part[rows, 2], grid.config.height_max_m))
            if not grass:
                solid.reshape(-1)[flat] = True
    return other.cost, solid


def cache_truth(world: World) -> Callable[[CostMap], tuple[Array, Array]]:
    """`true_costs` of a world, computed once for each grid: all drives share theirs."""
    known: dict[bytes, tuple[Array, Array]] = {}

    def find(grid: CostMap) -> tuple[Array, Array]:
        key = grid.low.tobytes()
        if key not in known:
            known[key] = true_costs(world, grid)
        return known[key]

    return find


def _list_vertices(layer: Any) -> list[Array]:
    if isinstance(layer, Instances):
        points = layer.mesh.vertices.astype(np.float32)
        if len(points) > 400_000:  # leaves are far smaller than a cell
            points = points[:: len(points) // 400_000]
        return [points @ pose[:, :3].T + pose[:, 3] for pose in layer.transforms]
    # A wall's corners lie far apart: points along its triangles stand for it.
    corners = layer.vertices[layer.faces]
    steps = np.linspace(0.0, 1.0, 1200)[:, None, None]
    return [(corners[:, a] * (1 - steps) + corners[:, b] * steps).reshape(-1, 3) for a, b in ((0, 1), (1, 2), (2, 0))]


def drive(
    world: World,
    truth: Callable[[CostMap], tuple[Array, Array]],
    sensor: str,
    goal: tuple[float, float],
    start: tuple[float, float],
    longest_s: float,
    rays: str = "nine",
) -> dict[str, Any]:
    """One drive, and what its cost map is worth beside the ``truth`` of its cells."""
    spec = load_sensor(sensor).with_(**{"beam.rays": rays})
    rig = Rig(lidars=(LidarMount(sensor=spec, position_m=(0.0, 0.0, HEIGHT_M)),))
    config = LoopConfig(duration_s=longest_s, goal=goal, control_hz=10.0)
    heading = math.atan2(goal[1] - start[1], goal[0] - start[0])
    navigator = Watched()
    loop = Loop(world, "skid-robot", rig, navigator, start=(*start, heading), config=config, seed=10)
    began = time.perf_counter()
    run = loop.run(keep_sweeps=False, progress=True)
    took = time.perf_counter() - began
    costs, solid = truth(navigator.map)
    seen = navigator.map.seen > 0
    error = np.abs(navigator.map.cost - costs)[seen]
    # Returns of trees and walls land beside them by errors of GPS and compass; what is blocked farther away is wrong.
    grass = (costs > 0) & ~inflate(solid, REGISTERED_M / navigator.map.config.cell_m)
    blocked = navigator.map.cost >= LETHAL
    trees = solid & (costs >= LETHAL)
    return {
        "sensor": sensor,
        "reached": run.outcome == "goal",
        "outcome": run.outcome,
        "path_m": run.path_m,
        "driven_s": run.duration_s,
        "cost_error_mean": float(error.mean()),
        "cost_error_max": float(error.max()),
        "collisions": run.collisions,
        "grass_blocked_share": float((blocked & grass).sum() / max(1, grass.sum())),
        "tree_cells_found": float((blocked & trees).sum() / max(1, trees.sum())),
        "cells_seen": int(seen.sum()),
        "seconds": took,
        "_early": [np.rint(navigator.early[0]).astype(int).tolist(), _plain(navigator.early[1])],
        "_low": navigator.map.low.tolist(),
        "_path": run.states[:, 1:3].tolist(),
        "_goal": goal,
    }


def _plain(path: Array | None) -> list[Any] | None:
    return None if path is None else path.tolist()


def run(fast: bool = False, only: str = "", cache: Path | None = None) -> dict[str, Any]:
    """Drive with each sensor; the fast version has a small courtyard, two sensors and one ray a pulse.

    Drives in the file ``cache`` are kept.
    """
    if fast:
        config = CourtyardConfig(size_m=80.0, trees=12, triangles=800_000, blades_per_m2=5.0, blade_segments=2)
        world, start, goal, longest = courtyard(3, config), (-25.0, -25.0), (-9.0, -9.0), 30.0
        names = ["sick-lms-291-s05", "velodyne-vlp-16"]
    else:
        world, start, longest = courtyard(SEED), START, 200.0
        goal = (START[0] + DISTANCE_M / math.sqrt(2), START[1] + DISTANCE_M / math.sqrt(2))
        names = list(SENSORS)
    chosen = [name for name in names if only in name]
    kept: dict[str, Any] = json.loads(cache.read_text()) if cache is not None and cache.is_file() else {}
    truth = cache_truth(world)
    for name in progress([name for name in chosen if name not in kept], "drives"):
        kept[name] = drive(world, truth, name, goal, start, longest, "single" if fast else "nine")
        if cache is not None:
            cache.write_text(json.dumps(kept))
    rows, trunks = [kept[name] for name in chosen], _find_trunks(world)
    return {
        "straight_m": math.dist(start, goal),
        "trunks_in_the_way": _count_in_the_way(trunks, start, goal),
        "rows": [{key: value for key, value in row.items() if not key.startswith("_")} for row in rows],
        "paper": CLAIM,
        "_rows": rows,
        "_trees": trunks,
    }


def _count_in_the_way(trunks: Array, start: tuple[float, float], goal: tuple[float, float]) -> int:
    """How many trunks a robot would strike on the straight line."""
    along = np.subtract(goal, start) / math.dist(start, goal)
    arm = trunks - np.array(start)
    ahead, aside = arm @ along, np.abs(arm @ np.array([-along[1], along[0]]))
    return int(((ahead > 0) & (ahead < math.dist(start, goal)) & (aside < IN_THE_WAY_M)).sum())


def _find_trunks(world: World) -> Array:
    trees = next(layer for layer in world.layers if layer.name == "trees")
    assert isinstance(trees, Instances)
    assert Label.TRUNK in trees.mesh.label
    return np.asarray(trees.transforms[:, :2, 3])


def show(result: dict[str, Any]) -> None:
    """Print the drives."""
    made = table(
        "Start to goal through grass, by sensor",
        "sensor", "reached", "path", "driven", "cost error\nmean", "\nmax", "collisions", "grass\nblocked",
        "tree cells\nfound", "cells seen", "computed in",
    )  # fmt: skip
    for row in result["rows"]:
        made.add_row(
            SENSORS[row["sensor"]],
            "yes" if row["reached"] else f"NO ({row['outcome']})",
            f"{row['path_m']:.1f} m",
            f"{row['driven_s']:.1f} s",
            f"{row['cost_error_mean']:.1f}",
            f"{row['cost_error_max']:.0f}",
            str(row["collisions"]),
            f"{row['grass_blocked_share']:.2%}",
            f"{row['tree_cells_found']:.0%}",
            f"{row['cells_seen']:,}",
            f"{row['seconds']:.0f} s",
        )
    console.print(made)
    straight, trunks = result["straight_m"], result["trunks_in_the_way"]
    console.print(f"The straight line is {straight:.0f} m long; {trunks} trunks stand in the way on it.")
    console.print(f"Paper: {CLAIM}.")


def draw(result: dict[str, Any]) -> Figure:
    """Cost maps after ten seconds with the plan of that moment, and the driven paths, as Figure 10."""
    rows = result["_rows"]
    wide = min(2, len(rows))
    made, axes = figure(4.6 * wide, 4.7 * math.ceil(len(rows) / wide), math.ceil(len(rows) / wide), wide)
    for axis, row in zip(np.asarray(axes).ravel(), rows, strict=False):
        cost, path = np.array(row["_early"][0]), row["_early"][1]
        low, size = row["_low"], 0.5 * len(cost)
        extent = (low[0], low[0] + size, low[1], low[1] + size)
        image = axis.imshow(cost.T, origin="lower", extent=extent, cmap="gray", vmin=0, vmax=LETHAL)
        axis.plot(*result["_trees"].T, "o", color=GREEN, markersize=3, alpha=0.8, label="trunks")
        if path is not None:
            axis.plot(*np.array(path).T, color="#5aa9ff", linewidth=1.2, label="plan after 10 s")
        axis.plot(*np.array(row["_path"]).T, color=ORANGE, linewidth=1.4, label="driven")
        axis.plot(*row["_goal"], "*", color="#ff5ea8", markersize=10, label="goal")
        axis.set_xlim(*extent[:2])
        axis.set_ylim(*extent[2:])
        axis.set_title(SENSORS[row["sensor"]], fontsize=10, color=INK)
        axis.tick_params(labelsize=7)
        axis.grid(False)
    np.asarray(axes).ravel()[0].legend(fontsize=7, loc="upper right")
    made.colorbar(image, ax=np.asarray(axes).ravel().tolist(), shrink=0.6, label="cost after 10 s")
    return made


if __name__ == "__main__":
    main("b_figure10", "Cost maps and paths by sensor (B, Figure 10).", run, show, draw)
