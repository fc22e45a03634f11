"""The range image of a sweep: in the panel, and as a screen in the scene whose pixels can be clicked."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from resweep.pose import Array
from resweep.sweep import Sweep
from resweep.viewer.pages.stage import Stage
from resweep.viewer.scene.range_images import BeamImage, make_range_image

_WIDTH_M = 24.0
_ABOVE_M = 9.0
_AHEAD_M = 18.0
_NAME = "/range image"


class RangePanel:
    """A range image that is linked with its sweep.

    A panel's picture takes no clicks in viser, so it also stands in the scene, ahead of and above the sensor: the ray
    of a click hits its plane in a pixel.
    """

    def __init__(self, stage: Stage, name: str = "range image") -> None:
        self.stage, self.name = stage, name
        self.image: BeamImage | None = None
        self._plane: tuple[Array, Array, float] | None = None
        self._handle: Any = None
        self._sweep: Sweep | None = None
        self._pick: Callable[[int], None] = lambda beam: None

    def add(self, gui: Any, pick: Callable[[int], None]) -> None:
        """Add the picture and its controls to a panel; ``pick(beam)`` is called when a beam is chosen."""
        self._pick = pick
        with gui.add_folder(self.name):
            # An image of viser's panel that changes while a page loads is an error on the page's console.
            self.picture = gui.add_html("")
            self.in_scene = gui.add_checkbox("in the scene, to click", True)
            self.across = gui.add_slider("across", 0.0, 1.0, 0.001, 0.5, hint="choose a pixel without the mouse")
            self.down = gui.add_slider("down", 0.0, 1.0, 0.002, 0.5)
        self.in_scene.on_update(lambda _: self._show())
        for control in (self.across, self.down):
            control.on_update(lambda _: self.stage.work.ask("pixel", self._choose))

    def draw(self, sweep: Sweep, rgb: Array, marked: int | None) -> None:
        """Draw the image of a sweep with the colours of its returns."""
        if sweep is not self._sweep:
            self._sweep, self.image = sweep, make_range_image(sweep)
        assert self.image is not None
        mark = marked if marked is not None and marked < sweep.n_beams else None
        picture = np.repeat(self.image.draw(rgb, mark), 2, axis=0)
        self.picture.content = f'<img alt="range image" style="width: 100%" src="{encode_picture(picture)}">'
        self._place(sweep, picture)

    def find_clicked(self, origin: Array, direction: Array) -> int | None:
        """The beam whose pixel a click's ray hits on the screen in the scene; None beside it or if it is hidden."""
        if self._plane is None or self.image is None or not self.in_scene.value:
            return None
        place, turn, height = self._plane
        spot = find_spot(origin, direction, place, turn, _WIDTH_M, height)
        return None if spot is None else self.image.find_beam(*spot)

    def _place(self, sweep: Sweep, picture: Array) -> None:
        height = _WIDTH_M * picture.shape[0] / picture.shape[1]
        yaw = float(np.arctan2(sweep.pose[1, 0], sweep.pose[0, 0]))
        ahead = np.array([np.cos(yaw), np.sin(yaw), 0.0])
        place = self.stage.local(sweep.pose[:3, 3] + _AHEAD_M * ahead + [0.0, 0.0, _ABOVE_M + height / 2])
        # The picture's x points right, y down, as viser has it; seen from the sensor it is upright.
        turn = np.stack([np.array([np.sin(yaw), -np.cos(yaw), 0.0]), np.array([0.0, 0.0, -1.0]), ahead], axis=1)
        self._plane = (place.astype(np.float64), turn, height)
        x, y, z, w = Rotation.from_matrix(turn).as_quat()
        self._handle = self.stage.scene.add_image(
            _NAME, picture, _WIDTH_M, height, format="png", wxyz=(w, x, y, z), position=tuple(place.tolist())
        )
        self._handle.visible = bool(self.in_scene.value)

    def _show(self) -> None:
        if self._handle is not None:
            self._handle.visible = bool(self.in_scene.value)

    def _choose(self) -> None:
        if self.image is None:
            return
        beam = self.image.find_beam(float(self.across.value), float(self.down.value))
        if beam is not None:
            self._pick(beam)


def encode_picture(picture: Array) -> str:
    """A picture (h, w, 3) uint8 as the address of a PNG that is in the address itself."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(picture)).save(buffer, format="PNG")
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def find_spot(
    origin: Array, direction: Array, place: Array, turn: Array, width: float, height: float
) -> tuple[float, float] | None:
    """Where a ray hits a picture, 0 to 1 from its left and from its top; None beside it or behind the ray.

    The picture is ``width`` × ``height`` metres around ``place`` (3,); columns of ``turn`` are right, down and ahead.
    """
    towards = float(direction @ turn[:, 2])
    if abs(towards) < 1e-9:
        return None
    along = float((place - origin) @ turn[:, 2]) / towards
    if along <= 0.0:
        return None
    offset = origin + along * np.asarray(direction) - place
    u, v = 0.5 + float(offset @ turn[:, 0]) / width, 0.5 + float(offset @ turn[:, 1]) / height
    return (u, v) if 0.0 <= u <= 1.0 and 0.0 <= v <= 1.0 else None
