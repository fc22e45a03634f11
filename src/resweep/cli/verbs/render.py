"""``resweep render``: pictures and films of worlds, logs and scenarios by a camera."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from resweep.cli.shared.completion import complete_cameras, complete_views
from resweep.cli.shared.options import Json, Labels, parse_local
from resweep.cli.shared.outputs import print_outputs
from resweep.cli.shared.writing import locks
from resweep.errors import OutputError, ResweepError

if TYPE_CHECKING:
    from resweep.pose import Array, Trajectory
    from resweep.viewer.camera import Camera

_PROJECTIONS = ("pinhole", "panoramic", "above")


@locks("output")
def render(
    place: Annotated[
        str, typer.Argument(help="A world (scene:NAME, mesh file), a log, or a scenario.", show_default=False)
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", parser=parse_local, metavar="OUT", help="A .png picture, or an .mp4 or .gif film."
        ),
    ],
    kind: Annotated[
        str,
        typer.Option(
            "--view",
            autocompletion=complete_views,
            metavar="KIND",
            help="shaded, label, depth, normal, intensity or colour.",
        ),
    ] = "shaded",
    projection: Annotated[
        str,
        typer.Option("--camera", autocompletion=complete_cameras, metavar="KIND", help="pinhole, panoramic or above."),
    ] = "pinhole",
    eye: Annotated[
        str | None, typer.Option("--from", metavar="X,Y,Z", help="Where the camera stands.", show_default=False)
    ] = None,
    target: Annotated[
        str | None, typer.Option("--at", metavar="X,Y,Z", help="What it looks at.", show_default=False)
    ] = None,
    along: Annotated[
        str | None,
        typer.Option("--along", metavar="POSES", help="Fly along a poses file or log, for a film.", show_default=False),
    ] = None,
    behind: Annotated[float, typer.Option(min=0.0, metavar="M", help="How far behind the path a flight stays.")] = 8.0,
    above: Annotated[float, typer.Option(min=0.0, metavar="M", help="How far above it.")] = 4.0,
    size: Annotated[str, typer.Option(metavar="WxH", help="Pixels.")] = "1280x720",
    fov: Annotated[float | None, typer.Option(metavar="DEG", help="Angle seen across.", show_default=False)] = None,
    span: Annotated[
        float | None, typer.Option(min=0.1, metavar="M", help="Metres seen across from above.", show_default=False)
    ] = None,
    sweep: Annotated[
        int | None, typer.Option(metavar="N", help="One sweep of a log; all of them by default.", show_default=False)
    ] = None,
    world: Annotated[
        str | None, typer.Option(metavar="WORLD", help="The world of a scenario.", show_default=False)
    ] = None,
    bank: Annotated[
        Path | None, typer.Option(parser=parse_local, help="The bank of a scenario's objects.", show_default=False)
    ] = None,
    second: Annotated[float, typer.Option("--time", metavar="S", help="The second at which actors are seen.")] = 0.0,
    frames: Annotated[int, typer.Option(min=1, max=100_000, help="Pictures of a film.")] = 100,
    fps: Annotated[float, typer.Option(min=0.1, max=240.0, help="Pictures a second of a film.")] = 20.0,
    samples: Annotated[int, typer.Option(min=1, max=4, help="Rays across and down each pixel.")] = 2,
    seed: Annotated[int, typer.Option(min=0, help="Seed of a procedural scene.")] = 0,
    labels: Labels = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an output that exists.")] = False,
    as_json: Json = False,
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
