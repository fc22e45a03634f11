"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from resweep.errors import ResweepError, nearest_names

# Of every command that opens a log and looks at its labels.
Labels = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="NAME",
        help="What the log's label ids mean, where it does not say: a vocabulary's name or YAML file.",
        show_default=False,
    ),
]

# Of every command that writes ROS 2 bags.
Points = Annotated[
    str | None,
    typer.Option(
        "--points",
        metavar="LAYOUT",
        help="Points of a ros2 bag as a driver lays them out: velodyne, ouster, livox or hesai; "
        "resweep (default) has labels too.",
        show_default=False,
    ),
]
# Of every command that opens a log and places its sweeps: used by `resweep.cli.inputs.open_posed`.
Poses = Annotated[
    Path | None,
    typer.Option(
        "--poses",
        metavar="FILE",
        help="Poses (TUM, KITTI or CSV) in place of the log's own; line i of a KITTI file is that of sweep i.",
        show_default=False,
    ),
]
PoseRate = Annotated[
    float | None,
    typer.Option(
        "--pose-rate",
        min=1e-3,
        metavar="HZ",
        help="Poses a second, for KITTI files without times, instead of one a sweep.",
        show_default=False,
    ),
]


def choose_points(points: str | None, format: str | None) -> dict[str, Any]:
    """What the writer of ``format`` is told of ``--points``; a wrong name is said before the work."""
    from resweep.io.ros.layouts import POINTS

    if points is None:
        return {}
    if format != "ros2":
        raise ResweepError(f"--points {points}: lays out the points of a bag; give --format ros2 too")
    if points not in POINTS:
        raise ResweepError(f"--points '{points}': {nearest_names(points, POINTS)}")
    return {"points": points}


# Of every command that builds a world: the names of `resweep.reconstruction.methods`.
METHOD_HELP = (
    "hybrid (default); splats, or splats-basic, splats-labels, splats-descriptors; surfels; volumes (voxels), or "
    "volumes-top-down, volumes-bottom-up, volumes-neighbours; mesh-imls, mesh-rimls, mesh-rimls-meshlab, mesh-poisson."
)
