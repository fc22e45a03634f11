"""Logs and other files that commands read, and how they are opened."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from resweep.cli.options.completion import complete_formats
from resweep.cli.options.declarations import argument, flag, option, parse_path

DEMO_SWEEPS = 60  # of a user's log: a demo is short

# Logs, as arguments.
Logs = Annotated[list[Path], argument("LOG...", "Recordings of one place.", show_default=False)]
TrackedLog = Annotated[Path, argument("LOG", "A log with tracked boxes.", show_default=False)]
SweepOrLog = Annotated[Path, argument("LOG", "A sweep file or the folder of a log.")]
LogOrWorld = Annotated[Path, argument("IN", "A sweep file, the folder of a log, or a world.")]
LogOrBank = Annotated[Path, argument("LOG|BANK", "A log with annotated boxes, or a bank.", show_default=False)]
Simulated = Annotated[Path, argument("SIM|LOG", "Simulated sweep file or log; with --holdout, the real log.")]
Real = Annotated[Path | None, argument("[REAL]", "Real sweep file, or the folder of a log.")]
RecordedLog = Annotated[Path, argument("LOG", "The recording, a sweep file or the folder of a log.")]
SimulatedBefore = Annotated[
    Path | None,
    option("--sim", "SIM", "In place of a world: the log that was simulated before.", parser=parse_path),
]
NuScenesFolders = Annotated[list[Path], argument("IN...", "Folders of nuScenes datasets.")]
Anything = Annotated[
    Path,
    typer.Argument(
        parser=parse_path,
        help="A sweep, a log folder, a poses file, a mesh, a world folder, or YAML of a sensor, scenario or plan.",
    ),
]
# In place of the demo's street.
OwnLog = Annotated[
    Path | None,
    option("--log", "PATH", "Your own recording, of any format, in place of the street.", parser=parse_path),
]

# Which sweeps, and what of them.
SweepsOfEach = Annotated[
    str | None, typer.Option(metavar="A:B", help="Only these sweeps of each log, as in Python.", show_default=False)
]
SweepsOfLog = Annotated[
    str | None, typer.Option(metavar="A:B", help="Only these sweeps of the log, as in Python.", show_default=False)
]
FirstSweeps = Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N.", show_default=False)]
DemoSweeps = Annotated[
    int | None,
    typer.Option("--sweeps", min=3, metavar="N", help=f"Sweeps of the log to take; {DEMO_SWEEPS} at most by default."),
]
OneSweep = Annotated[
    int | None, typer.Option(metavar="N", help="One sweep of a log; all of them by default.", show_default=False)
]
SweepNumber = Annotated[int, typer.Option(metavar="N", help="Which sweep of a log, from 0; -1 is the last.")]
DropBadPoints = Annotated[bool, flag("--drop-nan", "Leave out points whose coordinates are NaN or infinite.")]
DropNan = Annotated[bool, flag("--drop-nan", "Leave out points that hold NaN.")]
KeepGoing = Annotated[bool, flag("--keep-going", "Skip sweeps that cannot be read, and say so.")]
KeepGoingLogs = Annotated[bool, flag("--keep-going", "Skip logs and sweeps that cannot be read or joined, and say so.")]
KeepGoingPoses = Annotated[bool, flag("--keep-going", "Leave out bad poses of a log, and say so.")]

# What a log does not say itself.
FormatOfLogs = Annotated[
    str | None,
    typer.Option("--format", "-f", autocompletion=complete_formats, help="The logs' format, if it is not guessed."),
]
FormatOfLog = Annotated[str | None, typer.Option("--format", "-f", help="The log's format, if it is not guessed.")]
Labels = Annotated[
    str | None,
    option(
        "--labels", "NAME", "What the log's label ids mean, where it does not say: a vocabulary's name or YAML file."
    ),
]
FromLabels = Annotated[
    str | None, typer.Option("--from-labels", help="Vocabulary of the input's labels, in place of its own.")
]

# Where its sweeps were: used by `resweep.cli.shared.inputs.open_posed`.
Poses = Annotated[
    Path | None,
    option(
        "--poses",
        "FILE",
        "Poses (TUM, KITTI or CSV) in place of the log's own; line i of a KITTI file is that of sweep i.",
        parser=parse_path,
    ),
]
PoseRate = Annotated[
    float | None,
    option("--pose-rate", "HZ", "Poses a second, for KITTI files without times, instead of one a sweep.", min=1e-3),
]
Odometry = Annotated[bool, flag("--odometry", "Find the poses from the sweeps (KISS-ICP).")]
OdometryReplaces = Annotated[
    bool, flag("--odometry", "Find the poses from the sweeps (KISS-ICP); replaces the log's own.")
]
OdometryOfHoldout = Annotated[
    bool, flag("--odometry", "With --holdout: find the log's poses from its sweeps (KISS-ICP).")
]
OdometryIfNone = Annotated[bool, flag("--odometry", "Find the poses of a log that has none.")]

# Clouds of surveys: used by `resweep.cli.shared.inputs.parse_cloud`.
Bounds = Annotated[
    str | None,
    option(
        "--bounds",
        "X0,Y0,X1,Y1[,Z0,Z1]",
        "LAS, LAZ and COPC: only the points in this box, in the coordinates of the files.",
    ),
]
Resolution = Annotated[float | None, option("--resolution", "M", "COPC: only levels down to M metres between points.")]
IntensityScale = Annotated[
    float | None,
    option(
        "--intensity-scale",
        "N",
        "LAS, LAZ and COPC of other programs: counts of an intensity of 1, such as 255; 65535 unless given.",
    ),
]
FromIntensityScale = Annotated[
    float | None,
    option(
        "--from-intensity-scale",
        "N",
        "LAS, LAZ and COPC of other programs as input: counts of an intensity of 1, such as 255 or 4095.",
    ),
]
