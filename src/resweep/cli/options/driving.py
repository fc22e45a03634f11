"""Closed loops: what is driven, by whom, and how long."""

from __future__ import annotations

from typing import Annotated

import typer

from resweep.cli.options.declarations import flag

Driven = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO|RUN",
        help="hidden-car, a scenario's YAML file, or the folder of a run to drive again by its commands.",
        show_default=False,
    ),
]
Variants = Annotated[int, typer.Option(min=1, metavar="N", help="How many variants to drive.")]
World = Annotated[
    str, typer.Option("--world", "-w", help="The world; hidden-car has streets of its own.", show_default=False)
]
Vehicle = Annotated[str, typer.Option(help="A vehicle of the catalog, or a YAML file.")]
Sensor = Annotated[str, typer.Option("--sensor", "-s", help="The LiDAR on its roof.")]
Nine = Annotated[bool, flag("--nine", "Trace nine rays a pulse in place of one.")]
Autonomy = Annotated[
    str, typer.Option(help="Who drives: reference, navigator, tcp:PORT (a process that connects), or MODULE:NAME.")
]
Goal = Annotated[str, typer.Option(metavar="X,Y", help="Where to drive to, metres in the world.", show_default=False)]
Duration = Annotated[
    float, typer.Option(min=0, metavar="S", help="End after so many seconds; 0: as the scenario says.")
]
Reactive = Annotated[
    list[str] | None,
    typer.Option(metavar="ACTOR", help="An actor that keeps its distance and yields; may be repeated."),
]
Deadline = Annotated[
    float, typer.Option(min=0, metavar="S", help="Real time that an answer may take; 0: the drive waits for it.")
]
Timeout = Annotated[
    float, typer.Option(min=0.001, metavar="S", help="An autonomy that is silent for so long never answers.")
]
KeepSweeps = Annotated[bool, flag("--sweeps", "Keep the sweeps of every run.")]
Search = Annotated[
    str, typer.Option(help="Of hidden-car, look for failures: random, grid or cmaes.", show_default=False)
]
