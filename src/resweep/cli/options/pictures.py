"""What is looked at, from where, and how it is drawn or shown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from resweep.cli.options.completion import complete_cameras, complete_views
from resweep.cli.options.declarations import flag, option, parse_local

Place = Annotated[
    str, typer.Argument(help="A world (scene:NAME, mesh file), a log, or a scenario.", show_default=False)
]
Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH...",
        help="Logs, worlds (scene:NAME, mesh files), a bank, a scenario with its world, or a sensor.",
        show_default=False,
    ),
]
DemoPlace = Annotated[
    str, typer.Argument(metavar="[street|meadow]", help="street: the main job; meadow: grass and three sensors.")
]
WorldOfScenario = Annotated[
    str | None, typer.Option(metavar="WORLD", help="The world of a scenario.", show_default=False)
]
BankOfScenario = Annotated[
    Path | None, typer.Option(parser=parse_local, help="The bank of a scenario's objects.", show_default=False)
]

# Pictures and films by a camera.
View = Annotated[
    str,
    typer.Option(
        "--view",
        autocompletion=complete_views,
        metavar="KIND",
        help="shaded, label, depth, normal, intensity or colour.",
    ),
]
Projection = Annotated[
    str,
    typer.Option("--camera", autocompletion=complete_cameras, metavar="KIND", help="pinhole, panoramic or above."),
]
Eye = Annotated[str | None, option("--from", "X,Y,Z", "Where the camera stands.")]
Target = Annotated[str | None, option("--at", "X,Y,Z", "What it looks at.")]
Along = Annotated[str | None, option("--along", "POSES", "Fly along a poses file or log, for a film.")]
Behind = Annotated[float, typer.Option(min=0.0, metavar="M", help="How far behind the path a flight stays.")]
Above = Annotated[float, typer.Option(min=0.0, metavar="M", help="How far above it.")]
Size = Annotated[str, typer.Option(metavar="WxH", help="Pixels.")]
Fov = Annotated[
    float | None, typer.Option(metavar="DEG", help="Horizontal field of view, degrees.", show_default=False)
]
Span = Annotated[
    float | None, typer.Option(min=0.1, metavar="M", help="Width seen from above, metres.", show_default=False)
]
Second = Annotated[float, typer.Option("--time", metavar="S", help="The second at which actors are seen.")]
Frames = Annotated[int, typer.Option(min=1, max=100_000, help="Pictures of a film.")]
Fps = Annotated[float, typer.Option(min=0.1, max=240.0, help="Pictures a second of a film.")]
Samples = Annotated[int, typer.Option(min=1, max=4, help="Rays a pixel along each axis.")]

# Pages in the browser.
Reach = Annotated[
    float | None, typer.Option(min=0.1, metavar="M", help="How far a picture shows around the sensor, metres.")
]
Host = Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 lets other machines in.")]
Port = Annotated[int, typer.Option(min=1, max=65535, help="Port; the next free one if it is in use.")]
Browser = Annotated[bool, flag("--browser/--no-browser", "Open a browser, where there is a display.")]
BrowserOfReport = Annotated[bool, flag("--browser/--no-browser", "Open the report, where there is a display.")]
Budget = Annotated[
    int | None, typer.Option(min=1000, metavar="N", help="Primitives of a world to show at once; more where you look.")
]
