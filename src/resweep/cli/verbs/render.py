"""``resweep render``: pictures and films of worlds, logs and scenarios by a camera."""

from __future__ import annotations

from resweep.cli.options import outputs, pictures, recordings, running
from resweep.cli.shared.outputs import print_outputs
from resweep.cli.shared.writing import locks


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
    from resweep.cli.shared.rendering import check_options, draw_place, make_camera, parse_point
    from resweep.viewer.camera.open_drawing import open_drawing

    check_options(output, kind, projection, overwrite)
    camera = make_camera(projection, size, fov, span)
    points = (parse_point("--from", eye), parse_point("--at", target))
    opened = open_drawing(place, kind, sweep, world, bank, seed, labels, samples)
    flight = (along, behind, above, frames, fps)
    what, camera = draw_place(opened, camera, span is None, points, second, flight, output)
    print_outputs([(what, output)], as_json, view=kind, camera=projection, width=camera.width, height=camera.height)
