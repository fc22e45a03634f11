"""What is simulated: a world, a sensor in it, where that drives, and among what traffic."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from resweep.cli.options.completion import complete_sensors
from resweep.cli.options.declarations import flag, option, parse_local, setting

World = Annotated[
    str,
    typer.Argument(
        metavar="WORLD",
        help="A mesh (OBJ, PLY, STL, GLB), a saved .world folder, or scene:courtyard, meadow, root or street.",
        show_default=False,
    ),
]
WorldOfJudge = Annotated[
    str | None,
    option("--world -w", "WORLD", "The world to simulate in: a saved world, a mesh file or scene:NAME."),
]
WorldOfLog = Annotated[str, typer.Option("--world", "-w", help="The world built from it, or any other.")]
Up = Annotated[
    str | None,
    typer.Option(
        metavar="AXIS",
        help="The mesh file's upward axis, y or z; unless given y for glTF and GLB, z for all others.",
        show_default=False,
    ),
]

# The sensor, and what is changed of it.
SensorOrRecorded = Annotated[
    str | None,
    typer.Option(
        "--sensor",
        "-s",
        autocompletion=complete_sensors,
        help="A name from 'resweep sensors', a YAML file, or recorded: the beams of the --like log themselves, "
        "which is the default with --like.",
        show_default=False,
    ),
]
Sensor = Annotated[
    str,
    typer.Option(
        "--sensor", "-s", autocompletion=complete_sensors, help="A name from 'resweep sensors', or a YAML file."
    ),
]
OtherSensor = Annotated[
    str | None,
    typer.Option("--sensor", "-s", autocompletion=complete_sensors, help="The other sensor; see resweep sensors."),
]
SensorName = Annotated[
    str | None, typer.Argument(autocompletion=complete_sensors, help="A catalog name or a sensor's YAML file.")
]
Rate = Annotated[float | None, typer.Option("--rate", metavar="HZ", help="Another rotation rate.")]
Noise = Annotated[
    float | None,
    option(
        "--noise-m",
        "SIGMA",
        "Range noise, one sigma in metres, in place of the sensor's own; recorded beams have none.",
        min=0.0,
        max=1.0,
    ),
]
Rays = Annotated[str | None, typer.Option(help="Rays a pulse: single, nine or random.")]
Mode = Annotated[str | None, typer.Option(help="Returns: first, last, strongest, strongest-and-last or multiple.")]
Settings = Annotated[list[str] | None, setting("Another field of the sensor; may be repeated.")]
# A folder that 'resweep learn' wrote.
Realism = Annotated[
    Path | None,
    option(
        "--realism",
        "MODEL",
        "A learned model of the sensor, from 'resweep learn raydrop': drops beams, and sets intensities.",
        parser=parse_local,
    ),
]
Ideal = Annotated[bool, flag("--ideal", "No noise: neither the scatter of the world's recording nor the sensor's own.")]
Plot = Annotated[bool, flag("--plot", "Draw the firing pattern and the beam to a PNG.")]
ScatterOf = Annotated[
    Path | None,
    typer.Option("--scatter", metavar="WORLD", help="Give the spec the scatter that the build of WORLD estimated."),
]
Fit = Annotated[str | None, typer.Option("--fit", metavar="LOG", help="Estimate the sensor that recorded LOG.")]

# Where it drives, and among what.
Poses = Annotated[
    str | None,
    typer.Option(
        "--poses",
        "-p",
        help="A TUM, KITTI or CSV file, a log's folder, or x,y,z\\[,yaw_deg] to stand still; with --like, a file "
        "of poses for its sweeps.",
    ),
]
PoseRate = Annotated[
    float | None, typer.Option(min=1e-3, metavar="HZ", help="Poses a second, for KITTI files without times.")
]
Like = Annotated[
    str | None,
    typer.Option("--like", metavar="LOG", help="Drive as this log drove: its sweeps, their times and poses."),
]
Scenario = Annotated[
    str | None,
    typer.Option(
        "--scenario", metavar="S", help="A YAML file of ego and actors, or hidden-car, animals or construction."
    ),
]
ScenarioFile = Annotated[
    str | None,
    typer.Argument(metavar="[FILE]", help="A YAML file, or hidden-car, animals or construction.", show_default=False),
]
BankOfScenario = Annotated[
    Path | None, typer.Option("--bank", help="The bank with the scenario's objects; without, plain ones.")
]
BankOfLog = Annotated[
    Path | None, typer.Option("--bank", help="The objects to draw from; without, those of the log itself.")
]
SweepCount = Annotated[int | None, typer.Option(min=1, metavar="N", help="Stop after N sweeps.", show_default=False)]
Standing = Annotated[bool, flag("--standing", "Stand still at each pose instead of driving along them.")]
Offset = Annotated[
    str | None, typer.Option(metavar="X,Y,Z", help="Where the sensor sits in the frame of the poses, metres.")
]

# Datasets.
Plan = Annotated[
    str | None, typer.Argument(metavar="PLAN", help="A YAML file, or edge-cases or simkitti32.", show_default=False)
]
SettingsOfPlan = Annotated[list[str] | None, setting("Another field of the plan, such as variants=5.")]
