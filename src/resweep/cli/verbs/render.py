"""``resweep render``: pictures and films of worlds, logs and scenarios by a camera."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from resweep.cli.options import outputs, pictures, recordings, running
from resweep.cli.shared.outputs import print_outputs
from resweep.cli.shared.writing import locks
from resweep.errors import OutputError, ResweepError

if TYPE_CHECKING:
    from resweep.pose import Array, Trajectory
    from resweep.viewer.camera import Camera

_PROJECTIONS = ("pinhole", "panoramic", "above")


@locks("output")
def render(
    place: pictures.Place,
    output: outputs.PictureOrFilm,
    kind: pictures.View = "shaded",
    projection: pictures.Projection = "pinhole",
    eye: pictures.Eye = None,
    target: pictures.Target = None,
    along: pictures.Along = None,
    behind: pictures.Behind = 8.0,
    above: pictures.Above = 4.0,
    size: pictures.Size = "1280x720",
    fov: pictures.Fov = None,
    span: pictures.Span = None,
    sweep: recordings.OneSweep = None,
    world: pictures.WorldOfScenario = None,
    bank: pictures.BankOfScenario = None,
    second: pictures.Second = 0.0,
    frames: pictures.Frames = 100,
    fps: pictures.Fps = 20.0,
    samples: pictures.Samples = 2,
    seed: running.SeedOfScene = 0,
    labels: recordings.Labels = None,
    overwrite: outputs.OverwritePicture = False,
    as_json: outputs.Json = False,
) -> None:
    """Draw what a camera sees of a world, a log or a scenario, through the tracer that sensors use.

    Examples:
      resweep render seq00.world --view label -o place.png
      resweep render seq00.world --camera above -o map.png
      resweep render kitti/sequences/00 --sweep 5 --view depth -o sweep.png
      resweep render seq00.world --along kitti/sequences/00 -o flight.mp4
    """
    from resweep.cli.shared.inputs import check_writable
    from resweep.viewer.camera import VIEWS
    from resweep.viewer.camera.open_drawing import open_drawing
    from resweep.viewer.camera.picture_files import draw_picture, film

    _check_arguments(output, kind, projection, VIEWS, overwrite)
    check_writable(output)
    camera = _make_camera(projection, size, fov, span)
    points = (_parse_point("--from", eye), _parse_point("--at", target))
    drawing, path = open_drawing(place, kind, sweep, world, bank, seed, labels, samples)
    if camera.projection == "above" and span is None:
        camera = drawing.fit_span(camera)
    if output.suffix.lower() == ".png":
        draw_picture(drawing, camera, points, second, output)
    else:
        film(drawing, camera, _read_path(along, path), (behind, above), frames, fps, output)
    what = "picture" if output.suffix.lower() == ".png" else "film"
    print_outputs([(what, output)], as_json, view=kind, camera=projection, width=camera.width, height=camera.height)


def _check_arguments(output: Path, kind: str, projection: str, kinds: tuple[str, ...], overwrite: bool) -> None:
    from resweep.errors import nearest_names
    from resweep.optional import require
    from resweep.viewer.camera.flight import FILMS

    suffix = output.suffix.lower()
    if suffix not in (".png", *FILMS):
        raise ResweepError(f"{output}: pictures are .png, films {' or '.join(FILMS)}; choose one of them")
    if output.exists() and not overwrite:
        raise OutputError(f"{output}: exists; choose another -o or give --overwrite")
    for option, word, known in (("--view", kind, kinds), ("--camera", projection, _PROJECTIONS)):
        if word not in known:
            raise ResweepError(f"{option} '{word}': unknown; {nearest_names(word, known)}")
    if suffix == ".mp4":
        require("imageio_ffmpeg", "an MP4")


def _make_camera(projection: str, size: str, fov: float | None, span: float | None) -> Camera:
    from resweep.config import validate
    from resweep.viewer.camera import Camera

    words = size.lower().split("x")
    if len(words) != 2 or not all(word.strip().isdigit() for word in words):
        raise ResweepError(f"--size '{size}': expected pixels as WxH, such as 1280x720")
    data: dict[str, object] = {"projection": projection, "width": int(words[0]), "height": int(words[1])}
    if fov is not None or projection == "panoramic":
        data["fov_deg"] = 360.0 if fov is None else fov
    if span is not None:
        data["span_m"] = span
    camera = validate(data, Camera, "camera")
    camera.check()
    return camera


def _parse_point(option: str, word: str | None) -> Array | None:
    import numpy as np

    from resweep.cli.shared.inputs import parse_numbers

    if word is None:
        return None
    values = parse_numbers(word)
    if values is None or len(values) != 3 or not np.isfinite(values).all():
        raise ResweepError(f"{option} '{word}': expected x,y,z in metres, such as 10,-4,2.5")
    return np.array(values)


def _read_path(word: str | None, own: Trajectory | None) -> Trajectory | None:
    from resweep.cli.shared.inputs import read_motion
    from resweep.pose import Trajectory

    if word is None:
        return own
    motion = read_motion(word, None, False)
    if not isinstance(motion, Trajectory):
        raise ResweepError(f"--along '{word}': is one place; a flight goes along a poses file or a log")
    return motion
