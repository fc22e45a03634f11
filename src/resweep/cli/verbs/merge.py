"""``resweep merge``: several nuScenes datasets into one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from resweep.cli.shared.options import Json, parse_local, parse_path
from resweep.cli.shared.outputs import print_outputs
from resweep.cli.shared.writing import locks


@locks("output", reads=["sources"])
def merge(
    sources: Annotated[
        list[Path], typer.Argument(parser=parse_path, metavar="IN...", help="Folders of nuScenes datasets.")
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", parser=parse_local, metavar="OUT", help="The folder of the merged dataset."),
    ],
    as_json: Json = False,
) -> None:
    """Make one nuScenes dataset of several, with the scenes of all of them.

    Examples:

      resweep merge day night -o both
    """
    from resweep.io import merge_nuscenes

    made = merge_nuscenes(sources, output)
    typer.echo(f"{output}: {made.samples:,} samples in {len(made.scenes)} scenes: {', '.join(made.scenes)}")
    print_outputs([("dataset", output)], as_json, samples=made.samples, scenes=list(made.scenes))
