"""What ``resweep render`` does: a camera from options, and a picture or a film of what it sees."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from resweep.cli.shared.inputs import parse_numbers, read_motion
from resweep.cli.shared.targets import check_absent, check_writable
from resweep.errors import ResweepError, nearest_names

if TYPE_CHECKING:
    from resweep.pose import Array, Trajectory
    from resweep.viewer.camera import Camera
    from resweep.viewer.camera.drawing import Drawing

_PROJECTIONS = ("pinhole", "panoramic", "above")


def check_options(output: Path, kind: str, projection: str, overwrite: bool) -> None:
    """Raise if nothing can be drawn to ``output``, or no such view or camera is known."""
    from resweep.optional import require
    from resweep.viewer.camera import VIEWS
    from resweep.viewer.camera.flight import FILMS

    suffix = output.suffix.lower()
    if suffix not in (".png", *FILMS):
        raise ResweepError(f"{output}: pictures are .png, films {' or '.join(FILMS)}; choose one of them")
    check_absent(output, overwrite, "-o")
    for option, text, known in (("--view", kind, VIEWS), ("--camera", projection, _PROJECTIONS)):
        if text not in known:
            raise ResweepError(f"{option} '{text}': unknown; {nearest_names(text, known)}")
    if suffix == ".mp4":
        require("imageio_ffmpeg", "an MP4")
    check_writable(output)


def make_camera(projection: str, size: str, fov: float | None, span: float | None) -> Camera:
    """The camera that the options describe."""
    from resweep.config import validate
    from resweep.viewer.camera import Camera

    sides = size.lower().split("x")
    if len(sides) != 2 or not all(text.strip().isdigit() for text in sides):
        raise ResweepError(f"--size '{size}': expected pixels as WxH, such as 1280x720")
    data: dict[str, object] = {"projection": projection, "width": int(sides[0]), "height": int(sides[1])}
    if fov is not None or projection == "panoramic":
        data["fov_deg"] = 360.0 if fov is None else fov
    if span is not None:
        data["span_m"] = span
    camera = validate(data, Camera, "camera")
    camera.check()
    return camera


def parse_point(option: str, text: str | None) -> Array | None:
    """The place (3,) that an option gives, metres; None for None."""
    import numpy as np

    if text is None:
        return None
    values = parse_numbers(text)
    if values is None or len(values) != 3 or not np.isfinite(values).all():
        raise ResweepError(f"{option} '{text}': expected x,y,z in metres, such as 10,-4,2.5")
    return np.array(values)


def draw_place(
    opened: tuple[Drawing, Trajectory | None],
    camera: Camera,
    fit: bool,
    points: tuple[Array | None, Array | None],
    second: float,
    flight: tuple[str | None, float, float, int, float],
    output: Path,
) -> tuple[str, Camera]:
    """Draw a picture, or the film of a ``flight``; returns which of them, and the camera.

    A camera from above sees the whole place with ``fit``. The flight has poses, metres behind and above, frames and
    pictures a second.
    """
    from resweep.viewer.camera.picture_files import draw_picture, film

    (drawing, own), (along, behind, above, frames, fps) = opened, flight
    if camera.projection == "above" and fit:
        camera = drawing.fit_span(camera)
    if output.suffix.lower() == ".png":
        draw_picture(drawing, camera, points, second, output)
        return "picture", camera
    film(drawing, camera, _read_path(along, own), (behind, above), frames, fps, output)
    return "film", camera


def _read_path(text: str | None, own: Trajectory | None) -> Trajectory | None:
    from resweep.pose import Trajectory

    if text is None:
        return own
    motion = read_motion(text, None, False)
    if not isinstance(motion, Trajectory):
        raise ResweepError(f"--along '{text}': is one place; a flight follows a poses file or a log")
    return motion
