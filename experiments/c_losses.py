"""Where held-out beams are lost: true returns that a world does not give back to 10 cm, by the first cause that fits.

Sweeps are held out one by one, worlds built from the others, and the real beams traced again; each beam is given
its most likely return. Causes, in the order in which they are asked: ``unseen``, no return of the other sweeps within
30 cm of the true one; ``vegetation`` and ``thin``, the label of the true return or of what the beam hit instead;
``edge``, a jump of half a metre to a neighbour in the ring; ``grazing``, ground hit at less than 6 degrees; ``rest``,
with the poses' and the lasers' errors in it. Without labels only the first and the edges can be separated.

A second table shows how far the ranges of splats scatter by the cosine of the incidence: errors of a surface along its
normal are spread by grazing beams, which is what `PredictionConfig.height_m` stands for.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import resweep as rs
from experiments.c_places import Place, places
from experiments.c_shared import select_mappable
from experiments.presenting import BLUE, ORANGE, console, figure, main, progress, table
from resweep.build import accumulate
from resweep.labels import Group, LabelSet
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.simulate import Retracer

RIGHT_M = 0.1
SPLATS = 2  # the kind of a primitive that was hit
UNSEEN_M, JUMP_M, GRAZING_RAD = 0.3, 0.5, np.radians(6.0)
HELD = (2, 5, 7)
COSINES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)  # limits of the rows of the second table
CAUSES = ("unseen", "vegetation", "thin", "edge", "grazing", "rest")
WORLDS: dict[str, Any] = {"splats": rs.SplatConfig(), "hybrid": rs.HybridConfig()}


def lost_beams(place: Place, held: int, config: Any) -> dict[str, Any]:
    """Shares of one held-out sweep's true returns that are lost, by cause and by how."""
    log = place.log
    labels = config.map.choose_labels(log)
    rest = log[[at for at in range(len(log)) if at != held]]
    world = rs.build(rest, config, progress=False)
    sweep = select_mappable(log[held], config.map, labels)
    tracer = Retracer(world)
    placed = tracer.register(sweep, motion=True)
    found = tracer.predict(sweep, placed)
    hit, what = np.full(sweep.n_beams, np.inf), np.zeros(sweep.n_beams, np.int32)
    hit[found.beam], what[found.beam] = found.range, found.label
    real, beam = sweep.range.astype(np.float64), sweep.beam
    error = hit[beam] - real
    lost = ~(np.abs(error) <= RIGHT_M)
    near = Neighbours(accumulate(rest, config.map).points)
    true = (sweep.world_points() - np.round(rest.poses[0][:3, 3])).astype(np.float32)
    unseen = near.knn(true, 1, UNSEEN_M).index[:, 0] < 0
    causes = _causes(sweep, labels, what[beam], unseen)
    share = {name: float((lost & (causes == at)).mean()) for at, name in enumerate(CAUSES)}
    how = {
        "early": float((error < -0.5).mean()),
        "late": float((np.isfinite(error) & (error > 0.5)).mean()),
        "missing": float(np.isinf(error).mean()),
        "up_to_half_a_metre": float((lost & (np.abs(error) <= 0.5)).mean()),
    }
    spread = _scatter(world, sweep, placed, found)
    return {
        "lost": float(lost.mean()), "recovered": float(1 - lost.mean()), "causes": share, "how": how, "spread_m": spread
    }  # fmt: skip


def _scatter(world: rs.World, real: rs.Sweep, placed: rs.Sweep, found: rs.Sweep) -> list[float | None]:
    """Spread of the ranges on splats by incidence, between `COSINES`: 1.48 times the median error; None without any."""
    splats = next(layer for layer in world.layers if isinstance(layer, rs.Splats))
    measured = np.full(real.n_beams, np.inf)
    measured[real.beam] = real.range
    on_splats = np.isfinite(measured[found.beam]) & (found.extra["primitive"] == SPLATS)
    error = np.abs(found.range - measured[found.beam])[on_splats]
    beam = found.beam[on_splats]
    origin, direction = (values[beam].astype(np.float64) for values in placed.deskewed_beams())
    direction = direction @ placed.pose[:3, :3].T
    hit = origin @ placed.pose[:3, :3].T + placed.pose[:3, 3] - world.origin
    hit += direction * found.range[on_splats, None]
    near = Neighbours(splats.centre).knn(hit.astype(np.float32), 1).index[:, 0]
    cosine = np.abs((splats.normal[near] * direction).sum(axis=1))
    rows = [(cosine >= low) & (cosine < high) for low, high in pairwise(COSINES)]
    return [float(1.4826 * np.median(error[row])) if row.any() else None for row in rows]


def _causes(sweep: rs.Sweep, labels: LabelSet, hit: Array, unseen: Array) -> Array:
    """The index in `CAUSES` (n,) of the first that fits each return."""
    groups = [labels.group(label) for label in (sweep.label, hit)] if sweep.label.any() else []
    of = {kind: np.any([group == kind for group in groups], axis=0) if groups else np.zeros(len(sweep), bool)
          for kind in (Group.NON_SURFACE, Group.LINEAR)}  # fmt: skip
    ground = groups[0] == Group.GROUND if groups else np.zeros(len(sweep), bool)
    steep = np.abs(sweep.deskewed_beams()[1][sweep.beam, 2])
    fits = [unseen, of[Group.NON_SURFACE], of[Group.LINEAR], _edges(sweep), ground & (steep < np.sin(GRAZING_RAD))]
    return np.argmax(np.stack([*fits, np.ones(len(sweep), bool)]), axis=0)


def _edges(sweep: rs.Sweep) -> Array:
    """Returns (n,) with a jump of the range to a neighbour in their ring."""
    azimuth = np.arctan2(sweep.points[:, 1], sweep.points[:, 0])
    order = np.lexsort((azimuth, sweep.ring))
    jump = (np.abs(np.diff(sweep.range[order])) > JUMP_M) & (np.diff(sweep.ring[order]) == 0)
    edge = np.zeros(len(sweep), bool)
    edge[order[:-1][jump]] = edge[order[1:][jump]] = True
    return edge


def run(fast: bool = False, only: str = "") -> dict[str, Any]:
    """The losses of splats and of the hybrid world on every place that is at hand."""
    jobs = [
        (place, held, name)
        for place in places(fast, only)
        for held in ((place.held,) if fast or len(place.log) < 9 else HELD)
        for name in WORLDS
    ]
    rows = [
        {"place": place.name, "held": held, "world": name, **lost_beams(place, held, WORLDS[name])}
        for place, held, name in progress(jobs, "held-out sweeps", len(jobs))
    ]
    return {"rows": rows, "right_m": RIGHT_M, "held": list(HELD)}


def means(result: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each place and world: the mean over its held-out sweeps."""
    keys = dict.fromkeys((row["place"], row["world"]) for row in result["rows"])
    made = []
    for place, world in keys:
        own = [row for row in result["rows"] if (row["place"], row["world"]) == (place, world)]
        made.append(
            {
                "place": place,
                "world": world,
                "recovered": float(np.mean([row["recovered"] for row in own])),
                **{name: float(np.mean([row["causes"][name] for row in own])) for name in CAUSES},
                **{name: float(np.mean([row["how"][name] for row in own])) for name in own[0]["how"]},
                "spread_m": [_mean([row["spread_m"][at] for row in own]) for at in range(len(COSINES) - 1)],
            }
        )
    return made


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def show(result: dict[str, Any]) -> None:
    """Print shares in percent of all true returns."""
    columns = ("recovered", *CAUSES, "early", "late", "missing")
    shown = table(
        "True returns of held-out sweeps, percent: given back to 10 cm; lost by cause; lost by how",
        "place, world",
        *columns,
    )
    for row in means(result):
        values = [f"{100 * row[name]:.1f}" for name in columns]
        shown.add_row(f"{row['place']}, {row['world']}", *values)
    console.print(shown)
    limits = [f"{low:g}–{high:g}" for low, high in pairwise(COSINES)]
    spread = table("Spread of the ranges on splats, cm, by the cosine of the incidence", "place, world", *limits)
    for row in means(result):
        values = ["" if value is None else f"{100 * value:.1f}" for value in row["spread_m"]]
        spread.add_row(f"{row['place']}, {row['world']}", *values)
    console.print(spread)


def draw(result: dict[str, Any]) -> Figure:
    """The lost shares by cause, a panel for each place."""
    rows = means(result)
    names = list(dict.fromkeys(row["place"] for row in rows))
    made, axes = figure(3.4 * len(names), 3.4, 1, len(names), sharey=True)
    for axis, name in zip(axes.reshape(-1), names, strict=True):
        for shift, (world, colour) in zip((-0.2, 0.2), zip(WORLDS, (BLUE, ORANGE), strict=True), strict=True):
            row = next(row for row in rows if (row["place"], row["world"]) == (name, world))
            heights = [100 * row[cause] for cause in CAUSES]
            axis.bar(np.arange(len(CAUSES)) + shift, heights, 0.38, color=colour, label=world)
        axis.set_xticks(range(len(CAUSES)), CAUSES, fontsize=7, rotation=30)
        axis.set_title(name, fontsize=9)
    first = axes.reshape(-1)[0]
    first.set_ylabel("true returns lost (%)", fontsize=8)
    first.legend(fontsize=8, frameon=False)
    return made


if __name__ == "__main__":
    main("c_losses", "Where held-out beams are lost.", run, show, draw)
