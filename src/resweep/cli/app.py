"""The ``resweep`` command: its verbs, and how mistakes end.

A user's mistake becomes one line on stderr, or one for each wrong field of a file, and a non-zero status: 1 for what
could not be done, 2 for a command line that cannot be understood. A traceback therefore always means a defect of
Resweep.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

import resweep
from resweep.cli.shared.options import (
    Quiet,
    Verbose,
    choose_verbosity,
    describe_interruption,
    suggest_file,
    with_verbosity,
)
from resweep.cli.verbs.build import build
from resweep.cli.verbs.compare import compare
from resweep.cli.verbs.convert import convert
from resweep.cli.verbs.dataset import dataset
from resweep.cli.verbs.demo import demo
from resweep.cli.verbs.drive import drive
from resweep.cli.verbs.evaluate import evaluate
from resweep.cli.verbs.info import info
from resweep.cli.verbs.label import label
from resweep.cli.verbs.learn import learn
from resweep.cli.verbs.merge import merge
from resweep.cli.verbs.objects import objects
from resweep.cli.verbs.render import render
from resweep.cli.verbs.replay import replay
from resweep.cli.verbs.scenario import scenario
from resweep.cli.verbs.sensors import sensors
from resweep.cli.verbs.simulate import simulate
from resweep.cli.verbs.view import view
from resweep.errors import FaultKind, ResweepError, SweepError, UnknownPosesError, UntimedPosesError
from resweep.progress import Heartbeat, Verbosity, set_verbosity
from resweep.terminal import neutral_streams

FAILED, MISUSED, INTERRUPTED = 1, 2, 130
# Options that give a log poses, and how to give them.
_POSES_BY = {"--poses": "--poses FILE", "--odometry": "--odometry to find them"}

# Typer carries its own copy of click's exceptions in newer versions and imports them in older ones:
# the one it exports leads to their base in both.
_UsageError: Any = typer.BadParameter.__bases__[0]
_CommandError: Any = _UsageError.__bases__[0]

app = typer.Typer(
    name="resweep",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: [bold]resweep demo[/bold]. Help on one command: resweep simulate --help. Exit status: 0 done, "
    "1 an error or bad input, 2 a command line that is not understood, 130 interrupted.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"resweep {resweep.__version__}")
        raise typer.Exit


@app.callback()
def _resweep(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
) -> None:
    """Sweep a place again with any other LiDAR, from any other pose.

    Examples:

      resweep demo

      resweep sensors velodyne-hdl-64e --plot

      resweep simulate scene:street --sensor velodyne-hdl-32e --poses 0,0,2 -o out

      resweep build kitti/sequences/00 -o seq00.world

      resweep evaluate kitti/sequences/00 --holdout 5

      resweep convert out out-laz --format laz --frame world

    Progress goes to stderr: a bar on a terminal, else a line every ten seconds. --quiet hides it, --verbose shows every
    step; both may stand before or after the command's name.
    """
    choose_verbosity(verbose, quiet)


for verb in (
    demo,
    build,
    objects,
    simulate,
    scenario,
    replay,
    drive,
    dataset,
    evaluate,
    compare,
    view,
    render,
    info,
    convert,
    merge,
    sensors,
    label,
):
    app.command()(with_verbosity(verb))
app.add_typer(learn, name="learn")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with neutral_streams():
            status = _run(given or ["--help"])
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output, such as head, has seen enough; flushing again at exit would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = FAILED
    sys.exit(status)


def _run(arguments: list[str]) -> int:
    """The exit status of one command line; mistakes are printed here."""
    command = typer.main.get_command(app)
    verb = next((word for word in arguments if not word.startswith("-")), "")
    # A shell that asks for words to complete shows what is printed.
    set_verbosity(Verbosity.QUIET if "_RESWEEP_COMPLETE" in os.environ else Verbosity.NORMAL)
    try:
        with warnings.catch_warnings(), Heartbeat(f"resweep {verb}".strip()):
            warnings.showwarning = _warn
            status = command.main(arguments, prog_name="resweep", standalone_mode=False)
    except _CommandError as error:
        return _complain(_describe_usage(error), MISUSED if isinstance(error, _UsageError) else FAILED)
    except ResweepError as error:
        several = len(getattr(error, "problems", ())) > 1  # of a spec: a line for each wrong field
        advice = _advise(error, _option_names(command, verb), arguments)
        return _complain(f"{advice}{suggest_file(advice, arguments)}", FAILED, several)
    except (KeyboardInterrupt, typer.Abort):
        return _complain(describe_interruption(verb, arguments), INTERRUPTED)
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _complain(f"{where}{error.strerror or error}; check the path, its permissions and the disk", FAILED)
    except MemoryError:
        return _complain("not enough memory; take a smaller world or part of it", FAILED)
    if status == INTERRUPTED:
        return _complain(describe_interruption(verb, arguments), INTERRUPTED)
    return status if isinstance(status, int) else 0


def _option_names(command: Any, verb: str) -> set[str]:
    """The options of the command of that name."""
    chosen = getattr(command, "commands", {}).get(verb)
    return {name for parameter in getattr(chosen, "params", ()) for name in parameter.opts}


def _advise(error: ResweepError, options: set[str], arguments: list[str]) -> str:
    """The message of an error, with the options of this command that help."""
    if isinstance(error, UnknownPosesError):
        ways = [way for option, way in _POSES_BY.items() if option in options]
        return f"{error.problem}; give {' or '.join(ways) or 'a log with poses'}"
    if isinstance(error, UntimedPosesError) and "--pose-rate" in options:
        return f"{error.problem}; give one a sweep, or --pose-rate HZ"
    if isinstance(error, SweepError) and error.kind == FaultKind.NOT_FINITE and "--drop-nan" in options:
        return f"{error}; --drop-nan leaves such points out"
    if isinstance(error, SweepError) and "--keep-going" in options and "--keep-going" not in arguments:
        return f"{error}; --keep-going leaves such sweeps out"
    return str(error)


def _warn(message: Warning | str, *where: object, **more: object) -> None:
    """A warning as one line for users, without the place in the code that it came from."""
    typer.echo(f"resweep: warning: {' '.join(str(message).split())}", err=True)


def _describe_usage(error: Any) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "resweep"
    message = error.format_message().rstrip(".")
    return f"{message}{'' if message.endswith('?') else ';'} see '{path} --help'"


def _complain(message: str, status: int, lines: bool = False) -> int:
    """Print a mistake as one line, or as one for each of its ``lines``; returns the exit status."""
    for line in message.splitlines() if lines else [message]:
        typer.echo(f"resweep: error: {' '.join(line.split())}", err=True)
    return status
