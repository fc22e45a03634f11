"""Three pictures side by side: a recorded sweep, the world built from its drive, and another sensor's sweep in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from resweep.files import atomic_file
from resweep.labels import LabelSet
from resweep.pose import Array, transform
from resweep.sweep import Sweep
from resweep.viewer import palette
from resweep.viewer.camera.cameras import Camera, look_at
from resweep.viewer.camera.point_cloud import PointCloud
from resweep.viewer.camera.renderer import Renderer
from resweep.viewer.camera.shading import shade, shrink
from resweep.worlds import StreamedWorld, World

_WIDTH, _HEIGHT, _FINER = 800, 560, 2
_DPI = 100
_HIGHLIGHT = np.array([255, 92, 43], np.float64)
_EYE, _TARGET = np.array([-14.0, 3.0, 8.0]), np.array([12.0, -0.5, 0.5])  # in the frame of the sensor


@dataclass(frozen=True)
class Panel:
    """One picture (h, w, 3) uint8 with a title and a line below it."""

    image: Array
    title: str
    below: str


def triptych(panels: tuple[Panel, ...], path: str | Path) -> Path:
    """Draw panels side by side as a PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    height, width = panels[0].image.shape[:2]
    gap, head, foot = 12, 58, 46
    size = (len(panels) * width + (len(panels) - 1) * gap, height + head + foot)
    figure = Figure(figsize=(size[0] / _DPI, size[1] / _DPI), dpi=_DPI, facecolor=palette.PAPER)
    FigureCanvasAgg(figure)
    for at, panel in enumerate(panels):
        left = at * (width + gap)
        axes = figure.add_axes((left / size[0], foot / size[1], width / size[0], height / size[1]))
        axes.imshow(panel.image, interpolation="nearest", aspect="auto")
        axes.set_axis_off()
        place: Any = {"ha": "left", "color": palette.INK}
        figure.text((left + 14) / size[0], 1 - 38 / size[1], panel.title, fontsize=21, weight="bold", **place)
        figure.text((left + 14) / size[0], 14 / size[1], panel.below, fontsize=16, alpha=0.85, **place)
    target = Path(path)
    with atomic_file(target) as temporary:
        figure.savefig(temporary, dpi=_DPI, format="png", facecolor=palette.PAPER, metadata={"Software": None})
    return target


def place_behind(pose: Array) -> Array:
    """``T_world_camera`` of a camera behind and above a sensor at ``pose``, upright whatever its tilt."""
    level = np.eye(4)
    yaw = np.arctan2(pose[1, 0], pose[0, 0])
    level[:2, :2] = [[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]]
    level[:3, 3] = pose[:3, 3]
    eye, target = transform(level, np.stack([_EYE, _TARGET]))
    return look_at(eye, target)


def draw_sweep(sweep: Sweep, labels: LabelSet, pose: Array, highlight: int | None = None) -> Array:
    """The returns of a sweep from ``pose`` (``T_world_camera``); those of the instance ``highlight`` stand out.

    Colours are labels where most returns have one, else intensities.
    """
    cloud = PointCloud.of_sweeps([sweep], labels)
    camera = make_camera()
    view = Renderer(cloud.world(camera, pose, pixels=2.6)).view(camera.scaled(_FINER), pose)
    if _is_labelled(labels, sweep.label):
        colour = 255.0 * palette.label_colours(view.label.ravel(), labels).reshape(*view.label.shape, 3)
        colour = 40.0 + 0.84 * colour  # dark classes must be seen on a dark ground
    else:
        colour = _lift(shade(view, "intensity"))
    if highlight is not None:
        colour[view.instance == highlight] = _HIGHLIGHT
    empty = shade(view, "depth")
    return shrink(np.where(view.hit[..., None], colour, empty).astype(np.uint8), _FINER)


def draw_world(world: World | StreamedWorld, pose: Array) -> Array:
    """The world from ``pose`` (``T_world_camera``), in the colours of its labels, or of its intensities without."""
    camera = make_camera()
    view = Renderer(world).view(camera.scaled(_FINER), pose)
    if _is_labelled(world.labels, view.label[view.hit]):
        return shrink(shade(view, "label", labels=world.labels), _FINER)
    light = shade(view, "shaded").astype(np.float64).mean(axis=2, keepdims=True) / 255.0
    colour = _lift(shade(view, "intensity")) * (0.35 + 0.65 * light)
    return shrink(np.where(view.hit[..., None], colour, shade(view, "depth")).astype(np.uint8), _FINER)


def _lift(colour: Array) -> Array:
    """Colours (..., 3) of which the darkest, such as asphalt, are seen on a dark ground."""
    return np.asarray(85.0 + 0.66 * colour, np.float64)


def _is_labelled(labels: LabelSet, found: Array) -> bool:
    """Whether most of what is shown has a label: one actor that has does not count."""
    return bool(len(found)) and float(np.mean(labels.is_labelled(found))) > 0.5


def make_camera() -> Camera:
    """The camera of the three pictures."""
    return Camera(width=_WIDTH, height=_HEIGHT, fov_deg=70.0)
