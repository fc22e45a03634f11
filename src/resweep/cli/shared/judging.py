"""What ``resweep judge`` does: models and sweeps opened, judged, printed and saved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from resweep.cli.shared.evaluation import choose_held
from resweep.cli.shared.outputs import print_outputs
from resweep.errors import ResweepError

if TYPE_CHECKING:
    from resweep.build import BuildConfig
    from resweep.log import Log
    from resweep.perception.judging import Judgement
    from resweep.perception.judging.asking import Model


def check_simulated(world: str | None, sim: Path | None, held: bool, of_held: dict[str, object]) -> None:
    """Raise unless one of ``--world``, ``--sim`` and ``--holdout`` says what is simulated; ``of_held`` go with it."""
    given = [
        name
        for name, there in (("--world", world is not None), ("--sim", sim is not None), ("--holdout", held))
        if there
    ]
    if len(given) != 1:
        what = "nothing says what is simulated" if not given else f"{' and '.join(given)} are given"
        raise ResweepError(f"judge: {what}; give one of --world W, --sim SIM, --holdout N or --holdout-every N")
    for option, value in of_held.items():
        if value and not held:
            raise ResweepError(f"{option}: is how a world is built with --holdout; leave it out")


def open_models(paths: Sequence[Path], log: Log) -> dict[str, Model]:
    """The models in folders, by the names of these; whole paths where names are alike."""
    from resweep.perception.judging.open_model import open_model

    names = [path.stem for path in paths]
    return {path.stem if names.count(path.stem) == 1 else str(path): open_model(path, log) for path in paths}


def judge_log(
    log: Log,
    models: dict[str, Model],
    world: str | None,
    sim: Path | None,
    keep_going: bool,
    *,
    realism: Path | None,
    **how: Any,
) -> Judgement:
    """The judgement of a log in a world, or beside a log that was simulated before; ``how`` goes to `judge`."""
    from resweep.cli.shared.inputs import open_recording, open_world
    from resweep.perception.judging import judge
    from resweep.simulate.realism import load_realism

    if realism is not None:
        how["realism"] = load_realism(realism)
    if world is not None:
        how["world"] = open_world(world)
    if sim is not None:
        how["sim"] = open_recording(sim, keep_going)
    return judge(log, models, progress=True, **how)


def save_judgement(judgement: Judgement, output: Path | None) -> None:
    """Write a judgement, if it is to be; what is kept of a build beside it goes."""
    from resweep.files.partial import find_partial
    from resweep.files.publication import discard_partial
    from resweep.progress import open_progress

    if output is None:
        return
    with open_progress() as progress:
        progress.start(f"writing {output.name}")
        judgement.save(output)
    if (partial := find_partial(output)).exists():
        discard_partial(partial)


def print_judgement(judgement: Judgement, output: Path | None, as_json: bool) -> None:
    """Print the figures, as tables or as one JSON object."""
    from resweep.terminal import make_console

    if as_json:
        typer.echo(judgement.to_json())
        return
    make_console().print(judgement)
    if output is not None:
        print_outputs([("judgement", output)])


def describe_held(
    log: Log, listed: str | None, every: int | None, config: BuildConfig, memory: int | None, output: Path | None
) -> dict[str, Any]:
    """Arguments of `judge` for held-out sweeps: the world of all others, whose stages are kept beside ``output``."""
    from resweep.files.partial import find_partial

    partial = None if output is None else find_partial(output)
    held = choose_held(log, listed, every)
    return {"held": held, "build": config, "memory": memory, "partial": partial}
