"""The object bank of a drive: the returns in annotated boxes, aligned, mirrored and covered with surfels (D, 3.2).

Returns in an object's box are taken in its own frame over all sweeps, the sweeps are aligned by coloured ICP, the
far side is mirrored from the near one where the object is symmetric, outliers go, and surfels cover the rest. They are
moved into the box where they reach beyond it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from resweep import portable
from resweep.categories import CATEGORIES, OBJECT_LABELS
from resweep.errors import ResweepError, nearest_names
from resweep.labels import LabelSet
from resweep.log import Log
from resweep.map.cloud import Cloud
from resweep.neighbours import Neighbours
from resweep.objects.config import ObjectConfig
from resweep.objects.joint_icp import align_sweeps
from resweep.objects.mirror import FLIP, Symmetry, find_symmetry
from resweep.objects.object_surfels import cover_object
from resweep.objects.tracks import ObjectTrack, ObjectView, collect_views, find_objects
from resweep.pose import Array, transform
from resweep.progress import track as track_progress
from resweep.scenario.assets import Asset
from resweep.scenario.bank import Bank
from resweep.scenario.box_fit import fit_splats
from resweep.sensors.infer.inferred_drive import prepare_drive
from resweep.worlds import Splats

_FEW, _SCATTERED, _HIDDEN = "too few points", "no surface", "mostly hidden"
# Chosen by hand where a line names no source.
_GROUND_M = 0.5  # how far from a box's floor its ground may lie
_MAX_SMOOTHED = 100  # neighbours whose mean a point is moved onto, at most
_MIN_RING = 6  # neighbours that surround a point on a surface
_MIN_GROUND_POINTS = 30  # that give the ground a plane; also the weight, in points, of its being level
_GROUND_QUANTILE = 0.25  # of the heights, at which the ground is first looked for
_GROUND_NEAR_M = 0.15  # how far from its plane a point of the ground may lie
_GROUND_ROUNDS = 5  # of fitting the plane to the points near it
_DARK_SHARE, _BRIGHT_SHARE = 0.05, 0.95  # of an object's intensities, below the dark and below the bright one
_COLOUR_MIN, _COLOUR_MAX = -0.5, 1.5  # where dark is 0 and bright is 1: a reflector counts no more


def build_bank(log: Log, config: ObjectConfig | None = None, *, progress: bool = False) -> Bank:
    """The objects of a log with annotated boxes, as a bank; ``meta["summary"]`` counts what was skipped and why.

    The log is prepared (`prepare_drive`).

    Example: ``rs.build_bank(rs.open_log("2011_09_26_drive_0051_sync")).save("bank")``
    """
    config = config or ObjectConfig()
    _check_categories(config)
    log = prepare_drive(log)
    tracks = find_objects(log, config, progress)
    if not tracks:
        what = f"boxes of {', '.join(config.categories)}" if config.categories else "annotated boxes"
        raise ResweepError(f"log '{log.name}': no sweep has {what}; give a log whose format has boxes (tracklets)")
    views = collect_views(log, tracks, config, progress)
    assets: list[Asset] = []
    skipped: Counter[str] = Counter()
    fullest = 0
    pairs = list(zip(tracks, views, strict=True))
    for at, (track, seen) in enumerate(track_progress(pairs, "building objects", show=progress)):
        seen = _cut_ground(seen, track, config)
        count = sum(len(view.points) for view in seen)
        fullest = max(fullest, count)
        built = None if count < config.min_points else _build_object(seen, track, config, log.labels)
        asset = None if built is None else _make_asset(built, track, at, log)
        if asset is None:
            skipped[_FEW if count < config.min_points else _SCATTERED] += 1
        elif max(asset.coverage) < config.min_known:
            skipped[_HIDDEN] += 1
        else:
            assets.append(asset)
    if not assets:
        _raise_empty(log, len(tracks), fullest, skipped, config)
    summary = {"objects": len(tracks), "built": len(assets), "skipped": dict(skipped)}
    meta = {"log": str(log.meta.get("path", log.name)), "sweeps": len(log), "summary": summary}
    return Bank(assets, {**meta, "config": config.model_dump(mode="json")})


def _raise_empty(log: Log, count: int, fullest: int, skipped: Counter[str], config: ObjectConfig) -> NoReturn:
    """Raise with the reason why no object is left, and what to do about it."""
    if fullest < config.min_points:
        raise ResweepError(
            f"log '{log.name}': none of its {count} objects has {config.min_points} returns "
            f"(the fullest has {fullest}); lower min_points or give more sweeps"
        )
    why = ", ".join(f"{number} {reason}" for reason, number in skipped.items())
    raise ResweepError(f"log '{log.name}': none of its {count} objects is left ({why}); lower min_known")


def _check_categories(config: ObjectConfig) -> None:
    for name in config.categories:
        if name not in CATEGORIES:
            raise ResweepError(f"categories: '{name}' is no category; {nearest_names(name, CATEGORIES)}")


def _cut_ground(views: list[ObjectView], track: ObjectTrack, config: ObjectConfig) -> list[ObjectView]:
    """The views' returns on the object itself, its ground at z = 0: in its box, and not on the ground around it."""
    if not views:
        return []
    points = np.concatenate([view.points for view in views])
    around = ~np.concatenate([view.inside for view in views])
    level, *slope = _fit_ground(points[around & (np.abs(points[:, 2]) < _GROUND_M)])
    lift = np.array([0.0, 0.0, level])
    kept = []
    for view in views:
        above = view.points[:, 2] - level - portable.matmul(view.points[:, :2], np.array(slope)) > config.ground_m
        rows = view.inside & above
        if rows.any():
            columns = {name: getattr(view, name)[rows] for name in ("intensity", "label", "inside")}
            kept.append(replace(view, points=view.points[rows] - lift, sensor=view.sensor[rows] - lift, **columns))
    return kept


def _fit_ground(points: Array) -> Array:
    """Level and slopes (3,) of z = a + b x + c y through the ground among points (n, 3); zero where there is none.

    It begins level at the lower quartile, since kerbs, cars and hedges are around an object, and nothing below.
    """
    plane = np.zeros(3)
    if len(points) < _MIN_GROUND_POINTS:
        return plane
    plane[0] = np.quantile(points[:, 2], _GROUND_QUANTILE)
    design = np.column_stack([np.ones(len(points)), points[:, :2]])
    for _ in range(_GROUND_ROUNDS):
        close = np.abs(points[:, 2] - portable.matmul(design, plane)) < _GROUND_NEAR_M
        if close.sum() < _MIN_GROUND_POINTS:
            break
        matrix = portable.matmul(design[close].T, design[close]) + np.diag([0.0, 1.0, 1.0]) * _MIN_GROUND_POINTS
        plane = portable.solve(matrix, portable.matmul(design[close].T, points[close, 2]))
    return np.asarray(plane)


def _build_object(
    views: list[ObjectView], track: ObjectTrack, config: ObjectConfig, labels: LabelSet
) -> tuple[Splats, LabelSet, dict[str, Any]] | None:
    """Surfels over an object, their vocabulary and how they came about; None where its returns form no surface."""
    views = _choose_views(views, track, config)
    colours = _scale_colours(views)
    facts: dict[str, Any] = {"class": track.name, "sweeps": len(views), "returns": sum(len(v.points) for v in views)}
    if config.icp is not None and len(views) > 1:
        poses, residual = align_sweeps([view.points for view in views], colours, config.icp)
        facts["aligned"] = bool(residual[1] < residual[0])
        facts["plane_residual_m"] = [round(value, 4) for value in residual]
        if facts["aligned"]:
            views = [_move_view(view, pose) for view, pose in zip(views, poses, strict=True)]
    label, labels = _choose_label(views, track, labels)
    cloud = _join_views(views, label)
    shade, width = np.concatenate(colours), float(track.size[1])
    symmetry = find_symmetry(cloud.points.astype(np.float64), shade, track.category, width, config)
    facts["mirrored"] = symmetry.holds
    if symmetry.share:
        facts["symmetry"] = {"share": round(symmetry.share, 3), "plane_residual_m": round(symmetry.plane_residual_m, 4)}
    cloud = _mirror(_smooth(_drop_outliers(cloud, config), config), symmetry, config)
    splats = cover_object(cloud, config)
    return None if splats is None else (fit_splats(splats, track.size_m), labels, facts)


def _choose_views(views: list[ObjectView], track: ObjectTrack, config: ObjectConfig) -> list[ObjectView]:
    """The sweeps to use, those with most returns first; of what is not rigid, those around the fullest in time."""
    fullest = sorted(views, key=lambda view: (-len(view.points), view.sweep))
    if not track.category.rigid:
        fullest = [view for view in fullest if abs(view.time - fullest[0].time) <= config.pose_window_s / 2]
    return fullest[: config.sweeps]


def _scale_colours(views: list[ObjectView]) -> list[Array]:
    """Intensities from 0 (dark) to 1 (bright) on this object, a column a view."""
    low, high = np.quantile(np.concatenate([view.intensity for view in views]), (_DARK_SHARE, _BRIGHT_SHARE))
    return [np.clip((view.intensity - low) / max(high - low, 1e-6), _COLOUR_MIN, _COLOUR_MAX) for view in views]


def _move_view(view: ObjectView, T: Array) -> ObjectView:
    """The view after a motion ``T`` (4, 4) of its points and sensor."""
    return replace(view, points=transform(T, view.points), sensor=transform(T, view.sensor))


def _choose_label(views: list[ObjectView], track: ObjectTrack, labels: LabelSet) -> tuple[int, LabelSet]:
    """The label of most labelled returns, else the label of the category; and the vocabulary that it is of."""
    label = np.concatenate([view.label for view in views])
    label = label[label > 0]
    if len(label):
        return int(np.bincount(label).argmax()), labels
    labels = labels if labels.known else OBJECT_LABELS
    return track.category.label(labels), labels


def _join_views(views: list[ObjectView], label: int) -> Cloud:
    """The points of all views as one cloud, of one label."""
    counts = [len(view.points) for view in views]
    return Cloud(
        origin=np.zeros(3),
        points=np.concatenate([view.points for view in views]).astype(np.float32),
        sensor=np.concatenate([view.sensor for view in views]).astype(np.float32),
        label=np.full(sum(counts), label, np.int32),
        instance=np.zeros(sum(counts), np.int32),
        intensity=np.concatenate([view.intensity for view in views]).astype(np.float32),
        sweep=np.repeat([view.sweep for view in views], counts).astype(np.int32),
        seen=np.ones(sum(counts), bool),
    )


def _drop_outliers(cloud: Cloud, config: ObjectConfig) -> Cloud:
    """The cloud without points that lie much farther from their nearest than points of it usually do."""
    k = min(config.outlier_neighbours + 1, len(cloud))
    distance = np.sqrt(Neighbours(cloud.points).knn(None, k).distance2[:, 1:]).mean(axis=1)
    return cloud[distance <= distance.mean() + config.outlier_sigmas * distance.std()]


def _smooth(cloud: Cloud, config: ObjectConfig) -> Cloud:
    """The cloud with each point moved along its normal onto the mean of its neighbours.

    What alignment leaves of range noise lies across the surface; discs at its two sides would lie in layers.
    """
    if config.smooth_radius_m == 0.0:
        return cloud
    shape = Neighbours(cloud.points).pca(min(_MAX_SMOOTHED, len(cloud)), config.smooth_radius_m)
    offset = np.einsum("ni,ni->n", shape.mean_offset, shape.normal)
    offset[shape.count < _MIN_RING] = 0.0
    return replace(cloud, points=cloud.points + offset[:, None] * shape.normal)


def _mirror(cloud: Cloud, symmetry: Symmetry, config: ObjectConfig) -> Cloud:
    """The cloud with its mirror image where nothing was measured, about y = 0."""
    if not symmetry.holds:
        return cloud
    T = symmetry.T_new_object
    both = (cloud.points, cloud.sensor)
    points, sensor = (transform(T, column.astype(np.float64)).astype(np.float32) for column in both)
    cloud = replace(cloud, points=points, sensor=sensor)
    flip = FLIP.astype(np.float32)
    image = replace(cloud, points=points * flip, sensor=sensor * flip)
    free = Neighbours(points).knn(image.points, 1, config.mirror_gap_m).index[:, 0] < 0
    return cloud.joined(image[free])


def _make_asset(built: tuple[Splats, LabelSet, dict[str, Any]], track: ObjectTrack, at: int, log: Log) -> Asset:
    splats, labels, facts = built
    number = f"{track.number:04d}" if track.number >= 0 else f"box{at:04d}"
    return Asset(
        name=f"{track.category.name.replace(' ', '-')}-{number}",
        label=int(splats.label[0]),
        category=track.category.name,
        size_m=tuple(track.size.tolist()),
        layers=(splats,),
        source=(log.name, track.number),
        n_points=int(facts["returns"]),
        meta=facts,
        labels=labels,
        mirrored=bool(facts["mirrored"]),
    )
