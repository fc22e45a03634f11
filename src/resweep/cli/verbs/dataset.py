"""``resweep dataset``: labelled sweeps from a plan of worlds, sensors, drives and traffic."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import typer

from resweep.cli.options import outputs, running, sensing
from resweep.cli.shared.outputs import print_outputs
from resweep.cli.shared.writing import locks
from resweep.errors import ResweepError
from resweep.memory import parse_memory

if TYPE_CHECKING:
    from resweep.dataset import DatasetPlan

_BEAM_BYTES = 1000  # that a beam takes while its sweep is made and written


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
    from resweep.cli.shared.inputs import check_writable, parse_settings
    from resweep.cli.shared.templates import make_plan_template, print_help
    from resweep.cluster import open_workers
    from resweep.dataset import DatasetPlan, generate, load_plan

    if template or schema:
        given = plan is not None or output is not None or bool(set_) or realism is not None or (template and schema)
        print_help(make_plan_template() if template else None, DatasetPlan, given)
        return
    if plan is None or output is None:
        missing = "PLAN" if plan is None else "-o OUT"
        raise ResweepError(f"dataset: {missing} is missing; give a plan and -o OUT, or --template for a plan")
    learned = {} if realism is None else {"realism": str(realism)}
    chosen = load_plan(plan, {**parse_settings(set_ or []), **learned})
    check_writable(output)
    if cluster is not None and workers:
        raise ResweepError("--workers: counts threads of this process; leave it out, or --cluster")
    threads = _limit_workers(chosen, workers, parse_memory(memory))
    with open_workers(cluster) as elsewhere:
        made = generate(chosen, output, workers=threads if cluster is None else elsewhere)
    there = f", {made.resumed:,} of them from before" if made.resumed else ""
    typer.echo(f"{output}: {made.sweeps:,} sweeps in {made.runs} runs as {chosen.layout}{there}")
    print_outputs([("dataset", output)], as_json, sweeps=made.sweeps, runs=made.runs, resumed=made.resumed)


def _limit_workers(plan: DatasetPlan, workers: int, memory_bytes: int) -> int:
    """How many sweeps may be made at once beside the largest world; 0 if as many as there are cores."""
    from resweep.dataset.dataset_plan import choose_sensor
    from resweep.scenes.opening import check_memory
    from resweep.sensors import fire

    spare = check_memory(plan.worlds, memory_bytes)
    beams = max(len(fire(choose_sensor(choice)[0])) for choice in plan.sensors)
    most = max(1, spare // (_BEAM_BYTES * beams))
    return min(workers, most) if workers else (0 if most > len(os.sched_getaffinity(0)) else most)
