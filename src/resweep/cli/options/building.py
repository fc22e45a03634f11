"""How worlds are built, evaluated and cut into objects."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from resweep.cli.options.completion import complete_methods
from resweep.cli.options.declarations import flag, option, parse_local, setting

# The names of `resweep.build.methods`.
METHOD_HELP = (
    "hybrid (default); splats, or splats-basic, splats-labels, splats-descriptors; surfels; volumes (voxels), or "
    "volumes-top-down, volumes-bottom-up, volumes-neighbours; mesh-imls, mesh-rimls, mesh-rimls-meshlab, mesh-poisson."
)
Method = Annotated[
    str | None,
    typer.Option("--method", "-m", autocompletion=complete_methods, help=METHOD_HELP, show_default=False),
]
MethodOfHoldout = Annotated[
    str,
    typer.Option(
        "--method", "-m", autocompletion=complete_methods, help=f"With --holdout: {METHOD_HELP}", show_default=False
    ),
]
MethodOfPairs = Annotated[
    str, typer.Option("--method", "-m", help=f"Worlds to simulate in: {METHOD_HELP}", show_default=False)
]
# The setting `refine` of all methods.
Refine = Annotated[
    str | None,
    option(
        "--refine",
        "HOW",
        "Adjust the world to the recorded beams after its first estimate: none, fast (hybrids) or full.",
    ),
]
Quick = Annotated[bool, flag("--quick", "First look: no refinement, no azimuth bias of lasers, no held-out evidence.")]
QuickOfHoldout = Annotated[
    bool, flag("--quick", "With --holdout: build without refinement, azimuth bias and held-out evidence.")
]
QuickDemo = Annotated[bool, flag("--quick", "Build the world without refinement, as resweep build --quick does.")]
Config = Annotated[Path | None, typer.Option("--config", "-c", help="A YAML file of settings.")]
Settings = Annotated[list[str] | None, setting("One setting, such as map.drop_movable=true; repeatable.")]
SettingsOfHoldout = Annotated[
    list[str] | None, typer.Option("--set", help="With --holdout: a build option, such as map.ego_radius_m=2.")
]
Scanner = Annotated[
    str | None,
    option(
        "--scanner",
        "X,Y,Z",
        "A cloud: where its scanner stood, in the cloud's coordinates; else it is found or assumed.",
    ),
]
Align = Annotated[bool, flag("--align/--no-align", "Correct the poses of further logs onto the map of the first.")]
Complete = Annotated[
    bool, flag("--complete", "Continue ground and façades where nothing was recorded; they are marked.")
]
Tile = Annotated[
    float | None,
    option(
        "--tile",
        "M",
        "Side of the tiles, metres; by default a short log is one tile, and a long one has tiles of 50 m.",
        min=2.0,
        max=10_000.0,
    ),
]

# Of evaluations.
PerClass = Annotated[bool, flag("--per-class", "Also give the figures of each class.")]
Accumulate = Annotated[bool, flag("--accumulate", "Also compare the paired sweeps as one cloud each.")]
Holdout = Annotated[
    str | None, typer.Option("--holdout", help="Sweeps to hold out, such as 5 or 3,7: build from the rest.")
]
HoldoutEvery = Annotated[int | None, typer.Option("--holdout-every", min=2, help="Hold out every N-th sweep.")]
Reports = Annotated[
    list[Path], typer.Argument(parser=parse_local, metavar="A.json B.json ...", help="Reports of resweep evaluate.")
]

# Of banks of objects.
Gallery = Annotated[bool, flag("--gallery", "Draw a contact sheet of a bank.")]
MinPoints = Annotated[
    int | None, typer.Option(min=10, metavar="N", help="Skip objects with fewer returns. [default: 200]")
]
SettingsOfObjects = Annotated[list[str] | None, setting("One setting, such as mirror=never or icp.rounds=6.")]
