"""What moves through a recorded drive, as it was seen in each of its frames (C, 6.3.4).

Points of moving classes make no surface that lasts: each frame keeps its own, one splat a point, and only the splats of
the frame that is simulated are seen. So moving objects come back without the trail that all frames together would show.
"""

from __future__ import annotations

import numpy as np

from resweep.build.settings.splats import DynamicConfig
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.map.accumulate import accumulate
from resweep.map.cloud import Cloud
from resweep.map.config import MapConfig, choose_labels
from resweep.map.reflectance import observe_discs
from resweep.neighbours import Neighbours
from resweep.pose import Array, Trajectory
from resweep.progress import track
from resweep.scenario import Actor
from resweep.worlds import Splats

_ALONE_S = 0.1  # how long the only frame of a log lasts
_APART_S = 1e-6  # by which a frame ends before the next begins
_MIN_COUNT = 4  # points of a neighbourhood that has a normal; chosen by hand
_LINE = 0.02  # variance across, over that along, below which neighbours are a line and have no plane; chosen by hand


def dynamic_splats(log: Log, config: DynamicConfig | None = None, progress: bool = False) -> list[Actor]:
    """The moving points of a labelled log as actors: one a frame, there from its time until that of the next.

    Their splats keep the labels and instance ids of the log. Give them to a `Simulator` of a world built from the log
    (which leaves moving classes out by itself) and sweep at the log's own times: ``sim.sweep(pose, start=time)``; or
    to a `Retracer`. Frames in which nothing moves have no actor.
    """
    config = config or DynamicConfig()
    labels = choose_labels(config.labels, log)
    moving = labels.moving
    if not moving:
        what = f"vocabulary '{labels.name}' has no moving classes" if labels.known else "its labels are unknown"
        raise ResweepError(f"log '{log.name}': {what}; set labels to a vocabulary that has moving classes")
    log.require_poses("its frames have no place in a world")
    frames: list[tuple[int, Cloud]] = []
    begins = np.array(log.times, np.float64)
    labelled = False
    for at, sweep in enumerate(track(log, "reading what moves", show=progress)):
        labelled = labelled or bool(sweep.label.any())
        if sweep.n_beams:
            begins[at] = min(begins[at], float(sweep.beam_time.min()))
        if not np.isin(sweep.label, moving).any():
            continue
        chosen = sweep.select(np.isin(sweep.label, moving) & (sweep.range >= config.ego_radius_m))
        if len(chosen):
            whole = MapConfig(ego_radius_m=0.0, moving="none", drop_outliers=False)
            frames.append((at, accumulate(log.with_sweeps([chosen]), whole)))
    if not labelled:
        raise ResweepError(f"log '{log.name}': no return has a label, so nothing is known to move; label it first")
    return [_make_actor(frame, at, _span(begins, at), config) for at, frame in frames]


def _make_actor(frame: Cloud, at: int, span: tuple[float, float], config: DynamicConfig) -> Actor:
    normal = _estimate_normals(frame, config)
    seen = observe_discs(frame, frame.points, normal, np.arange(len(frame)), config.reflectance)
    reflectance = np.clip(seen.pop("reflectance"), 0.0, 1.0)
    splats = Splats(
        frame.points,
        normal,
        np.full(len(frame), config.radius_m, np.float32),
        frame.label,
        reflectance,
        frame.instance,
        {**seen, "frame": np.full(len(frame), at, np.int32)},
        name=f"frame {at}",
        depth=config.depth,
        gap_m=config.gap_m,
        incidence_exponent=config.reflectance.simulated_exponent,
    )
    pose = np.eye(4)
    pose[:3, 3] = frame.origin
    return Actor((splats,), Trajectory(np.array(span), np.stack([pose, pose])), 0, name=f"frame {at}")


def _estimate_normals(frame: Cloud, config: DynamicConfig) -> Array:
    """Normals (n, 3) of the points' neighbourhoods in their own frame; towards the sensor where these have no plane."""
    shape = Neighbours(frame.points).pca(config.normal_k, config.normal_radius_m)
    view = frame.sensor - frame.points
    view /= np.maximum(np.linalg.norm(view, axis=1, keepdims=True), 1e-6)
    flat = (shape.count >= _MIN_COUNT) & (shape.eigenvalues[:, 1] > _LINE * shape.eigenvalues[:, 0])
    return np.where(flat[:, None], shape.normal, view).astype(np.float32)


def _span(begins: Array, at: int) -> tuple[float, float]:
    """When the frame begins and ends, seconds; the last is as long as frames usually are."""
    if at + 1 < len(begins) and begins[at + 1] > begins[at]:
        return float(begins[at]), float(max(begins[at + 1] - _APART_S, np.nextafter(begins[at], np.inf)))
    usual = float(np.median(np.diff(begins))) if len(begins) > 1 else _ALONE_S
    return float(begins[at]), float(begins[at]) + max(usual, _APART_S)
