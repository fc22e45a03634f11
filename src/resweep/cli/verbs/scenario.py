"""``resweep scenario``: what a scenario file holds, and how one is written."""

from __future__ import annotations

import typer

from resweep.cli.options import outputs, sensing
from resweep.errors import ResweepError
from resweep.files.strict_json import format_json


def scenario(
    file: sensing.ScenarioFile = None,
    template: outputs.Template = False,
    schema: outputs.Schema = False,
    as_json: outputs.JsonOfScenario = False,
) -> None:
    """Check a scenario and say what is in it; or print one to begin with.

    Where actors stand on the ground and whether they collide depends on the world: simulate checks that.

    Examples:
      resweep scenario --template > mine.yaml
      resweep scenario mine.yaml
      resweep scenario --schema > scenario.schema.json
    """
    from resweep.cli.shared.scenario_text import print_scenario
    from resweep.cli.shared.templates import print_settings
    from resweep.scenario import load_scenario

    if print_settings("scenario", template, schema, file is not None):
        return
    if file is None:
        raise ResweepError("scenario: give a FILE to check, or --template or --schema to write one")
    chosen = load_scenario(file)
    if as_json:
        typer.echo(format_json(chosen.model_dump(mode="json", exclude_none=True)))
        return
    print_scenario(chosen, file)
