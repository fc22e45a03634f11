"""``resweep judge``: what models that were trained on recordings make of simulated sweeps."""

from __future__ import annotations

from resweep.cli.options import building, learning, outputs, recordings, running, sensing
from resweep.cli.shared.writing import locks
from resweep.memory import parse_memory


@locks("output", reads=["path", "world", "sim", "model", "realism"])
def judge(
    path: recordings.RecordedLog,
    model: learning.Judges,
    world: sensing.WorldOfJudge = None,
    sim: recordings.SimulatedBefore = None,
    holdout: building.Holdout = None,
    every: building.HoldoutEvery = None,
    output: outputs.Judgement = None,
    method: building.MethodOfHoldout = "hybrid",
    set_: building.SettingsOfHoldout = None,
    refine: building.Refine = None,
    quick: building.QuickOfHoldout = False,
    realism: sensing.Realism = None,
    ideal: sensing.Ideal = False,
    sweeps: recordings.SweepsOfLog = None,
    labels: recordings.Labels = None,
    poses: recordings.Poses = None,
    pose_rate: recordings.PoseRate = None,
    keep_going: recordings.KeepGoing = False,
    memory: running.Memory = None,
    seed: running.Seed = 0,
    threads: running.Threads = 0,
    as_json: outputs.Json = False,
) -> None:
    """Let frozen models read recorded sweeps and their simulated pairs, and say what gives the simulation away.

    Each sweep is fired again in a world, drawn as resweep simulate --like draws it. Beside it models read clouds with
    geometry, intensities or drops swapped for the recorded ones, the recorded sweep with noise and the next one (the
    null), and boxes with one ray a beam (the negative control). Figures have intervals over places.

    Examples:
      resweep judge kitti/sequences/00 --world seq00.world --model town.model -o judge.html
      resweep judge kitti/sequences/00 --holdout 5 --model town.model --json
      resweep judge kitti/sequences/00 --sim again --model town.model --model cars.model
    """
    bound = parse_memory(memory)
    from resweep.cli.shared.building import parse_slice
    from resweep.cli.shared.inputs import add_refinement, build_config, check_world, open_posed, report_skipped
    from resweep.cli.shared.judging import (
        check_simulated,
        describe_held,
        judge_log,
        open_models,
        print_judgement,
        save_judgement,
    )
    from resweep.cli.shared.targets import check_page

    held = holdout is not None or every is not None
    check_page(output, "a judgement")
    check_simulated(world, sim, held, {"--set": set_, "--refine": refine, "--quick": quick, "--memory": memory})
    config = build_config(method, add_refinement(set_, refine, quick))
    if world is not None:
        check_world(world)
    log = open_posed(path, keep_going, poses, pose_rate, labels=labels)[parse_slice(sweeps)]
    models = open_models(model, log)
    given = describe_held(log, holdout, every, config, bound, output) if held else {}
    how = {**given, "realism": realism, "noise": not ideal, "seed": seed, "threads": threads}
    judgement = judge_log(log, models, world, sim, keep_going, **how)
    report_skipped(path, log)
    save_judgement(judgement, output)
    print_judgement(judgement, output, as_json)
