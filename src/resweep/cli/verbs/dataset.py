"""``resweep dataset``: labelled sweeps from a plan of worlds, sensors, drives and traffic."""

from __future__ import annotations

import typer

from resweep.cli.options import outputs, running, sensing
from resweep.cli.shared.outputs import print_outputs
from resweep.cli.shared.writing import locks, name_resumed
from resweep.errors import ResweepError
from resweep.memory import parse_memory


@locks("output")
def dataset(
    plan: sensing.Plan = None,
    output: outputs.Dataset = None,
    set_: sensing.SettingsOfPlan = None,
    realism: sensing.Realism = None,
    workers: running.SweepsAtOnce = 0,
    memory: running.Memory = None,
    template: outputs.Template = False,
    schema: outputs.Schema = False,
    cluster: running.Cluster = None,
    as_json: outputs.Json = False,
) -> None:
    """Make a dataset: every world with every sensor and scenario, with points, labels, boxes and velocities.

    Killed and started again, it goes on where it was and gives the same bytes as an unbroken run.

    Examples:
      resweep dataset edge-cases -o edge
      resweep dataset --template > plan.yaml
      resweep dataset plan.yaml -o data --set variants=10 --set layout=kitti
    """
    from resweep.cli.shared.inputs import parse_settings
    from resweep.cli.shared.targets import check_writable
    from resweep.cli.shared.templates import print_settings
    from resweep.cluster import open_workers
    from resweep.dataset import generate, load_plan
    from resweep.dataset.dataset_plan import limit_workers

    given = plan is not None or output is not None or bool(set_) or realism is not None
    if print_settings("plan", template, schema, given):
        return
    if plan is None or output is None:
        missing = "PLAN" if plan is None else "-o OUT"
        raise ResweepError(f"dataset: {missing} is missing; give a plan and -o OUT, or --template for a plan")
    learned = {} if realism is None else {"realism": str(realism)}
    chosen = load_plan(plan, {**parse_settings(set_ or []), **learned})
    check_writable(output)
    if cluster is not None and workers:
        raise ResweepError("--workers: counts threads of this process; leave it out, or --cluster")
    threads = limit_workers(chosen, workers, parse_memory(memory))
    with open_workers(cluster) as elsewhere:
        summary = generate(chosen, output, workers=threads if cluster is None else elsewhere)
    typer.echo(
        f"{output}: {summary.sweeps:,} sweeps in {summary.runs} runs as {chosen.layout}{name_resumed(summary.resumed)}"
    )
    print_outputs([("dataset", output)], as_json, sweeps=summary.sweeps, runs=summary.runs, resumed=summary.resumed)
