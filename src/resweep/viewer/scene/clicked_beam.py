"""One beam: which one was clicked, what its rays hit, or why it did not return."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resweep.labels import LabelSet
from resweep.pose import Array, Trajectory, transform
from resweep.sensors import fire, stencil
from resweep.simulate import Simulator
from resweep.simulate.pulses import Pulses
from resweep.simulate.sources import open_scene
from resweep.sweep import BeamStatus, Sweep
from resweep.viewer.scene.return_colours import KINDS
from resweep.worlds import World

REASONS = {
    BeamStatus.RETURN: "returned",
    BeamStatus.NOTHING_HIT: "hit nothing within its range",
    BeamStatus.BELOW_THRESHOLD: "hit something that sends back too little light",
    BeamStatus.OUT_OF_RANGE: "hit something beyond its maximum range",
    BeamStatus.DROPPED: "was dropped: by the vehicle, a blind sector or a filter",
    BeamStatus.NO_RETURN: "was recorded without return; why is unknown",
    BeamStatus.EMPTY_AS_RECORDED: "hit nothing, and recorded beams hit nothing there either",
    BeamStatus.UNKNOWN: "left the space that was recorded: what is there is unknown",
}
_CLICK_RAD = np.radians(0.6)  # of a click about a point: a finger on a screen


def find_clicked(points: Array, origin: Array, direction: Array) -> int | None:
    """The point (n, 3) that a click's ray passes nearest to, by angle; None if none is near it.

    Of points at nearly the same angle the one in front is taken.
    """
    if len(points) == 0:
        return None
    offset = np.asarray(points, np.float64) - origin
    along = offset @ (np.asarray(direction) / np.linalg.norm(direction))
    across = np.sqrt(np.maximum((offset**2).sum(axis=1) - along**2, 0.0))
    angle = np.where(along > 0.05, across / np.maximum(along, 1e-6), np.inf)
    close = np.flatnonzero(angle < min(_CLICK_RAD, angle.min() + 0.3 * _CLICK_RAD))
    return int(close[np.argmin(along[close])]) if len(close) else None


def find_firings(sweep: Sweep) -> Array:
    """Numbers (b,) that grow from firing to firing: the beams' times, or their columns where no times are known."""
    if sweep.n_beams and np.ptp(sweep.beam_time) == 0:
        return np.asarray(sweep.beam_column)
    return np.asarray(sweep.beam_time)


def draw_beam(sweep: Sweep, beam: int) -> tuple[Array, Array]:
    """The line (2, 3) of a beam in the world, to its farthest return or 20 m, and its returns (k, 3)."""
    origin, direction = sweep.deskewed_beams()
    start, along = origin[beam].astype(np.float64), direction[beam].astype(np.float64)
    ranges = sweep.range[sweep.beam == beam].astype(np.float64)
    ends = start + along * ranges[:, None]
    far = float(ranges.max()) if len(ranges) else 20.0
    line = np.stack([start, start + along * far])
    return transform(sweep.pose, line), transform(sweep.pose, ends.reshape(-1, 3))


def describe_beam(sweep: Sweep, beam: int, labels: LabelSet, hits: list[HitShare] | None = None) -> str:
    """What is known of a beam, as Markdown: where it went, its returns or why it has none, and what its light hit."""
    status = BeamStatus(int(sweep.beam_status[beam]))
    lines = [
        f"**beam {beam}**, ring {int(sweep.beam_ring[beam])}, column {int(sweep.beam_column[beam])}, "
        f"{1e3 * (float(sweep.beam_time[beam]) - float(sweep.beam_time.min())):.2f} ms into the sweep"
    ]
    rows = np.flatnonzero(sweep.beam == beam)
    if not len(rows):
        lines.append(f"no return: it {REASONS[status]}")
    for row in rows[np.argsort(sweep.return_index[rows], kind="stable")]:
        lines.append(f"- {_describe_return(sweep, int(row), labels)}")
    if hits is not None:
        lines.append("\nits light:\n" if hits else "\nits light hit nothing")
        lines += [f"- {item.share:.0%} on {item.what} at {item.range_m:.2f} m" for item in hits]
        left = 1.0 - sum(item.share for item in hits)
        if hits and left > 0.005:
            lines.append(f"- {left:.0%} on nothing")
    return "\n\n".join(lines[:1]) + "\n\n" + "\n".join(lines[1:])


def _describe_return(sweep: Sweep, row: int, labels: LabelSet) -> str:
    parts = [f"{float(sweep.range[row]):.3f} m", f"intensity {float(sweep.intensity[row]):.3g}"]
    if sweep.label[row]:
        parts.append(labels.class_name(int(sweep.label[row])))
    if sweep.instance[row]:
        parts.append(f"instance {int(sweep.instance[row])}")
    if "primitive" in sweep.extra:
        parts.append(f"on {KINDS.get(int(sweep.extra['primitive'][row]), 'unknown')}")
    if "confidence" in sweep.extra:
        parts.append(f"confidence {float(sweep.extra['confidence'][row]):.2f}")
    return ", ".join(parts)


@dataclass(frozen=True)
class HitShare:
    """What a share of a beam's light hit."""

    what: str
    range_m: float
    share: float


def trace_beam(
    simulator: Simulator, pose: Array, beam: int, labels: LabelSet, index: int = 0, second: float = 0.0
) -> list[HitShare]:
    """What the rays of one beam of a sensor at rest hit first, by class or actor, the largest share first.

    ``beam`` counts the beams of the sensor's sweep ``index``, which begins at ``second``; actors are where they are
    when it is fired.
    """
    firing = fire(simulator.sensor, index)
    motion = Trajectory(np.zeros(1), np.asarray(pose, np.float64)[None])
    origins, directions = simulator.tracer.rays(Pulses.from_beams(firing, np.array([beam])), motion, index=index)
    shares = _find_shares(simulator, len(origins))
    reach = simulator.sensor.range_max_m
    with simulator.tracer.covering(motion.poses[:, :3, 3]) as scene:
        found = scene.intersect(origins, directions, reach)
    ranges = np.asarray(found["range"], np.float64)
    names = [_name(labels, *pair) for pair in zip(found["label"].tolist(), found["instance"].tolist(), strict=True)]
    fired = second + float(firing.time[beam])
    for actor in simulator.actors:
        if not actor.is_present(fired, fired):
            continue
        stands = actor.pose_at(fired).copy()
        stands[:3, 3] -= simulator.world.origin
        there = World([layer.moved(stands) for layer in actor.layers], simulator.world.origin)
        with open_scene(there).covering(origins[:1].astype(np.float64), reach) as alone:
            away = np.asarray(alone.intersect(origins, directions, reach)["range"], np.float64)
        for ray in np.flatnonzero(np.isfinite(away) & ~(away >= ranges)).tolist():
            ranges[ray], names[ray] = away[ray], f"actor '{actor.name or actor.instance}'"
    groups: dict[str, list[int]] = {}
    for ray in np.flatnonzero(np.isfinite(ranges)).tolist():
        groups.setdefault(names[ray], []).append(ray)
    hits = [
        HitShare(what, float(np.average(ranges[rays], weights=shares[rays])), float(shares[rays].sum()))
        for what, rays in groups.items()
    ]
    return sorted(hits, key=lambda item: -item.share)


def _name(labels: LabelSet, label: int, instance: int) -> str:
    """What a ray hit, as text."""
    name = labels.class_name(label) if label else "a surface without label"
    return f"{name} (instance {instance})" if instance else name


def _find_shares(simulator: Simulator, n_rays: int) -> Array:
    """The share of light (n,) of each ray of a pulse; they sum to 1."""
    beam = simulator.sensor.beam
    shares = np.ones(n_rays) if beam.rays == "random" else np.asarray(stencil(beam)[1], np.float64)
    return np.asarray(shares / shares.sum())
