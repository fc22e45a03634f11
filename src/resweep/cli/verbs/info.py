"""``resweep info``: what a file or folder holds, as facts by name."""

from __future__ import annotations

import typer

from resweep.cli.options import outputs, recordings
from resweep.cli.shared.facts import collapse, format_fact
from resweep.files.strict_json import format_json, replace_not_finite


def info(
    path: recordings.Anything,
    format: recordings.FormatOfLog = None,
    labels: recordings.Labels = None,
    bounds: recordings.Bounds = None,
    resolution: recordings.Resolution = None,
    intensity_scale: recordings.IntensityScale = None,
    everything: outputs.Everything = False,
    as_json: outputs.JsonOfFacts = False,
) -> None:
    """Print what a file or folder holds: counts, ranges, times, bounds, columns.

    Examples:
      resweep info kitti/sequences/00
      resweep info tile.las --labels asprs
      resweep info seq00.world --all
    """
    from resweep.cli.shared.inputs import parse_cloud
    from resweep.viewer.describe import describe
    from resweep.viewer.summary import summarise_world

    named = {} if format is None else {"format": format}
    facts = describe(path, labels, {**named, **parse_cloud(bounds, resolution, intensity_scale)})
    if as_json:
        typer.echo(format_json(replace_not_finite(facts)))  # columns of points may hold NaN
        return
    from rich.table import Table

    from resweep.terminal import make_console

    table = Table(show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    if not everything:
        facts = collapse(summarise_world(path, facts) if facts["kind"] == "world" else facts)
    for name, value in facts.items():
        table.add_row(name, format_fact(value, name))
    typer.echo(path)  # a title of the table would be wrapped
    make_console().print(table)
