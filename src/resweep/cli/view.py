"""``resweep view``: pictures of one sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from resweep.cli.options import Bounds, IntensityScale, Labels, Resolution, parse_local, parse_place
from resweep.errors import ResweepError


def view(
    path: Annotated[
        Path, typer.Argument(parser=parse_place, help="A sweep file, or the folder of a log.", show_default=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            parser=parse_local,
            metavar="OUT.png",
            help="The picture from above; PATH.png if left out.",
        ),
    ] = None,
    sweep: Annotated[int, typer.Option(metavar="N", help="Which sweep of a log, from 0; -1 is the last.")] = 0,
    reach: Annotated[
        float | None, typer.Option(min=0.1, metavar="M", help="How far to show around the sensor, metres.")
    ] = None,
    labels: Labels = None,
    bounds: Bounds = None,
    resolution: Resolution = None,
    intensity_scale: IntensityScale = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace pictures that exist.")] = False,
) -> None:
    """Draw a sweep from above and as the sensor sees it.

    OUT.png shows it from above, OUT-range.png by azimuth and elevation.

    Example: resweep view out --sweep 3 -o third.png
    """
    from resweep.cli.inputs import check_writable, parse_cloud, report_unknown_sensor
    from resweep.io import open_log
    from resweep.viewer import birds_eye, range_image

    above = output or Path(f"{path.absolute().name}.png")
    if above.suffix.lower() != ".png":
        raise ResweepError(f"{above}: pictures are PNG files; give a name that ends in .png")
    seen = above.with_name(f"{above.stem}-range.png")
    for target in (above, seen):
        if target.exists() and not overwrite:
            raise ResweepError(f"{target}: exists; choose another -o or give --overwrite")
    check_writable(above)
    log = open_log(path, labels=labels, **parse_cloud(bounds, resolution, intensity_scale))
    if not -len(log) <= sweep < len(log):
        raise ResweepError(f"{path}: holds {len(log)} sweeps, no sweep {sweep}; they count from 0")
    report_unknown_sensor(path, log)
    chosen = log[sweep]
    drawn = birds_eye(chosen, above, labels=log.labels, reach_m=reach), range_image(chosen, seen, labels=log.labels)
    for made in drawn:
        typer.echo(str(made))
