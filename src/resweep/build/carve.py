"""Splats cut back by the beams that passed through them.

Neither C nor D does this. A splat grows over the gap between two points as readily as over a true surface, but
every recorded beam also says that nothing stood before its return. Each round traces the map's own beams
through the splats, and cuts back those that stop a beam well before it returned.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from resweep.build.accumulate import Cloud
from resweep.build.config import CarveConfig
from resweep.build.groups import Group
from resweep.pose import Array
from resweep.simulate.scene import native_scene
from resweep.worlds import Splats, World

if TYPE_CHECKING:
    from resweep.build.splats import Grown

_BLOCK = 1 << 20
_INSIDE = 0.98  # of the distance at which the beam crossed, so that it misses the next time


def carve(grown: Grown, cloud: Cloud, config: CarveConfig) -> Grown:
    """The splats cut back where beams passed through them, without those of which nothing is left."""
    for _ in range(config.rounds):
        crossing, passed, stopped = _crossings(grown, cloud, config)
        if not passed.any():
            break
        ratio = np.where(grown.group == Group.LINEAR, config.ratio_linear, config.ratio)
        cut = passed > ratio * stopped
        radius = np.where(cut, np.minimum(grown.radius, _INSIDE * crossing), grown.radius).astype(np.float32)
        keep = radius > config.radius_min_m
        if not keep.any():
            break
        columns = {name: getattr(grown, name)[keep] for name in ("centre", "normal", "seed", "group", "kind")}
        grown = replace(grown, radius=radius[keep], **columns)
    return grown


def _crossings(grown: Grown, cloud: Cloud, config: CarveConfig) -> tuple[Array, Array, Array]:
    """For each splat: how near to its centre a beam passed, metres, and how many passed and were stopped."""
    count = len(grown.radius)
    number = np.arange(1, count + 1)  # as instance ids, by which the tracer says what a ray met
    scene = native_scene(World([Splats(grown.centre, grown.normal, grown.radius, instance=number, depth=1)]))
    crossing = np.full(count, np.inf)
    passed, stopped = np.zeros(count, np.int64), np.zeros(count, np.int64)
    seen = np.flatnonzero(cloud.seen)
    for begin in range(0, len(seen), _BLOCK):
        rows = seen[begin : begin + _BLOCK]
        origin = np.ascontiguousarray(cloud.sensor[rows])
        ray = cloud.points[rows] - origin
        distance = np.linalg.norm(ray, axis=1)
        direction = np.ascontiguousarray(ray / np.maximum(distance, 1e-6)[:, None])
        hits = scene.intersect(origin, direction, float(distance.max()) + 1.0)
        splat, short = hits["instance"] - 1, distance - hits["range"]
        met = np.isfinite(hits["range"]) & (splat >= 0)
        margin = config.margin_m + config.margin_per_m * distance
        through = np.flatnonzero(met & (short > margin))
        at = origin[through] + direction[through] * hits["range"][through, None]
        np.minimum.at(crossing, splat[through], np.linalg.norm(at - grown.centre[splat[through]], axis=1))
        passed += np.bincount(splat[through], minlength=count)
        stopped += np.bincount(splat[met & (np.abs(short) <= margin)], minlength=count)
    return crossing, passed, stopped
