"""``resweep merge``: several nuScenes datasets into one."""

from __future__ import annotations

import typer

from resweep.cli.options import outputs, recordings
from resweep.cli.shared.outputs import print_outputs
from resweep.cli.shared.writing import locks


@locks("output", reads=["sources"])
def merge(
    sources: recordings.NuScenesFolders,
    output: outputs.MergedDataset,
    as_json: outputs.Json = False,
) -> None:
    """Make one nuScenes dataset of several, with the scenes of all of them.

    Examples:
      resweep merge day night -o both
    """
    from resweep.io import merge_nuscenes

    merged = merge_nuscenes(sources, output)
    typer.echo(f"{output}: {merged.samples:,} samples in {len(merged.scenes)} scenes: {', '.join(merged.scenes)}")
    print_outputs([("dataset", output)], as_json, samples=merged.samples, scenes=list(merged.scenes))
