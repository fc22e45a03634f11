"""The ``resweep`` command: its verbs, and how mistakes end.

A user's mistake becomes one line on stderr, or one for each wrong field of a file, and a non-zero status: 1 for what
could not be done, 2 for a command line that cannot be understood. A traceback therefore always means a defect of
Resweep.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

import resweep
from resweep.cli.options.running import Quiet, Verbose
from resweep.cli.shared.commands import (
    choose_verbosity,
    describe_interruption,
    join_lines,
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
from resweep.cli.verbs.judge import judge
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
_POSES_BY = {"--poses": "--poses FILE (TUM, KITTI or CSV)", "--odometry": "--odometry to find them"}
# What a command without these takes; a page shows a log without them where no other must be compared with it.
_NO_OPTION = {True: "a log with poses, or look at each alone", False: "a log with poses"}
_NOT_LIKE = "or fire a sensor of the catalog: --sensor NAME --poses X,Y,Z in place of --like"
# Options that give the library an argument of another name, which its messages begin with.
_OPTION_OF = {"tile_m:": "--tile", "workers:": "--cluster"}
# Arguments of the library in its messages, as ``crs=`` or ``frame='world'``.
_ARGUMENT = re.compile(r"(?<!\S)([a-z][a-z_]+)=(?:'([^']*)'|(?=(\S?)))")
# The commands whose --format is that of their input.
_READS_FORMAT = ("build", "info", "objects", "view")

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


def _resweep(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
) -> None:
    """Build a world from a recorded LiDAR drive, and sweep it again: any sensor, any pose, any traffic.

    Examples:
      resweep demo
      resweep build kitti/sequences/00 -o seq00.world
      resweep simulate seq00.world --like kitti/sequences/00 -o again
      resweep evaluate kitti/sequences/00 --holdout 5
      resweep view kitti/sequences/00 again

    Progress goes to stderr: a bar on a terminal, else a line every ten seconds. --quiet hides it, --verbose shows every
    step; both may stand before or after the command's name.
    """
    choose_verbosity(verbose, quiet)


app.callback(help=join_lines(_resweep.__doc__ or ""))(_resweep)

# Each command: the group that help shows it in, and the five options of it that most users need.
VERBS: dict[Callable[..., None], tuple[str, tuple[str, ...]]] = {
    demo: ("Begin", ("output", "log", "sensor", "odometry", "overwrite")),
    build: ("Worlds", ("output", "method", "sweeps", "odometry", "overwrite")),
    objects: ("Worlds", ("output", "gallery", "sweeps", "json", "overwrite")),
    simulate: ("Simulation", ("output", "sensor", "poses", "like", "scenario")),
    sensors: ("Simulation", ("output", "plot", "fit", "template", "json")),
    scenario: ("Simulation", ("template", "schema", "as_json")),
    replay: ("Simulation", ("output", "world", "sensor", "sweeps", "overwrite")),
    dataset: ("Simulation", ("output", "set_", "workers", "template", "as_json")),
    evaluate: ("Evaluation", ("output", "holdout", "method", "per_class", "as_json")),
    compare: ("Evaluation", ("output", "as_json")),
    judge: ("Evaluation", ("model", "world", "holdout", "output", "as_json")),
    info: ("Logs", ("everything", "labels", "as_json")),
    convert: ("Logs", ("format", "frame", "labels", "odometry", "overwrite")),
    merge: ("Logs", ("output", "as_json")),
    label: ("Learning", ("model", "output", "format", "overwrite", "as_json")),
    drive: ("Closed loops", ("output", "variants", "world", "sensor", "autonomy")),
    view: ("Pictures", ("output", "save", "sweep", "port", "overwrite")),
    render: ("Pictures", ("output", "kind", "projection", "along", "size")),
}
for _verb, (_group, _common) in VERBS.items():
    if _verb is label:  # beside what it uses
        app.add_typer(learn, name="learn", rich_help_panel=_group)
    app.command(rich_help_panel=_group)(with_verbosity(_verb, _common))


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
    verb = next((argument for argument in arguments if not argument.startswith("-")), "")
    # A shell that completes a command shows what is printed.
    set_verbosity(Verbosity.QUIET if "_RESWEEP_COMPLETE" in os.environ else Verbosity.NORMAL)
    try:
        with warnings.catch_warnings(), Heartbeat(f"resweep {verb}".strip()):
            warnings.showwarning = functools.partial(_warn, _option_names(command, verb))
            status = command.main(arguments, prog_name="resweep", standalone_mode=False)
    except _CommandError as error:
        return _print_error(_describe_usage(error), MISUSED if isinstance(error, _UsageError) else FAILED)
    except ResweepError as error:
        several = len(getattr(error, "problems", ())) > 1  # of a spec: a line for each wrong field
        advice = _advise(error, _option_names(command, verb), arguments)
        return _print_error(f"{advice}{suggest_file(advice, arguments)}", FAILED, several)
    except (KeyboardInterrupt, typer.Abort):
        return _print_error(describe_interruption(verb, arguments), INTERRUPTED)
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _print_error(f"{where}{error.strerror or error}; check the path, its permissions and the disk", FAILED)
    except MemoryError:
        return _print_error("not enough memory; take a smaller world or part of it", FAILED)
    if status == INTERRUPTED:
        return _print_error(describe_interruption(verb, arguments), INTERRUPTED)
    return status if isinstance(status, int) else 0


def _option_names(command: Any, verb: str) -> set[str]:
    """The options of the command of that name, --format only where it is that of the input."""
    chosen = getattr(command, "commands", {}).get(verb)
    names = {name for parameter in getattr(chosen, "params", ()) for name in parameter.opts}
    return names if verb in _READS_FORMAT else names - {"--format"}


def _advise(error: ResweepError, options: set[str], arguments: list[str]) -> str:
    """The message of an error, with the options of this command that help."""
    if isinstance(error, UnknownPosesError):
        fixes = [text for option, text in _POSES_BY.items() if option in options]
        text = f"{error.problem}; give {' or '.join(fixes) or _NO_OPTION['--save' in options]}"
        return f"{text}, {_NOT_LIKE}" if "--like" in arguments and "--sensor" in options else text
    if isinstance(error, UntimedPosesError) and "--pose-rate" in options:
        return f"{error.problem}; give one a sweep, or --pose-rate HZ"
    if isinstance(error, SweepError) and error.kind == FaultKind.NOT_FINITE and "--drop-nan" in options:
        return f"{error}; --drop-nan leaves such points out"
    if isinstance(error, SweepError) and "--keep-going" in options and "--keep-going" not in arguments:
        return f"{error}; --keep-going leaves such sweeps out"
    text = str(error)
    for argument, option in _OPTION_OF.items():
        if option in options and text.startswith(argument):
            return f"{option}:{text.removeprefix(argument)}"
    return _name_options(text, options)


def _name_options(text: str, options: set[str]) -> str:
    """A message of the library, in which arguments such as ``crs=`` are named as the options of this command."""

    def name(found: re.Match[str]) -> str:
        option = f"--{found[1].replace('_', '-')}"
        if option not in options:
            return found[0]
        return f"{option} {found[2]}" if found[2] else f"{option}{' ' if found[3] else ''}"

    return _ARGUMENT.sub(name, text)


def _warn(options: set[str], message: Warning | str, *where: object, **more: object) -> None:
    """A warning as one line for users, without the line of code that it came from."""
    typer.echo(f"resweep: warning: {_name_options(' '.join(str(message).split()), options)}", err=True)


def _describe_usage(error: Any) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "resweep"
    message = error.format_message().rstrip(".")
    return f"{message}{'' if message.endswith('?') else ';'} see '{path} --help'"


def _print_error(message: str, status: int, lines: bool = False) -> int:
    """Print a mistake as one line, or as one for each of its ``lines``; returns the exit status."""
    for line in message.splitlines() if lines else [message]:
        typer.echo(f"resweep: error: {' '.join(line.split())}", err=True)
    return status
