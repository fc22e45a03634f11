"""Options that several commands share, and what is true of several of them."""

from __future__ import annotations

import copy
import difflib
import functools
import inspect
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from typer.models import OptionInfo

from resweep.errors import ResweepError, nearest_names
from resweep.progress import Verbosity, set_verbosity
from resweep.remote import find_path, is_remote

# The commands that go on where they stopped when they are called again with the same arguments, and how they do.
RESUMABLE = {
    "build": "its finished stages are kept beside the world",
    "simulate": "its finished sweeps are kept beside the output",
    "convert": "its finished sweeps are kept beside the output",
    "replay": "its finished sweeps are kept beside the output",
    "label": "its finished sweeps are kept beside the output",
    "dataset": "its finished sweeps are kept in the folder",
    "learn": "its finished sweeps and its training are kept beside the model",
    "drive": "its finished runs are kept in the folder",
    "evaluate": "the finished stages of its build are kept beside the report",
}
# Options of which each must be given, by one of its names, for a command to resume.
_RESUMED_WITH = {"evaluate": (("--holdout", "--holdout-every"), ("-o", "--output"))}
_NOT_RESUMED = "--no-resume"  # of a command that resumes otherwise


def parse_path(word: str) -> Path:
    """The path that an argument names, local or by URL; for arguments that take either."""
    try:
        return find_path(word)
    except ResweepError as error:
        raise typer.BadParameter(str(error)) from error


def parse_local(word: str) -> Path:
    """The local path that an argument names; for outputs that are not written to object stores."""
    if is_remote(found := parse_path(word)):
        raise typer.BadParameter(f"{word}: is written to a local file or folder only; give a path, and copy it then")
    return found


# Of every command, before its name or after it.
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show every piece of work, however short, with its time.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress; only results, warnings and errors.")]

# Of every command that writes or measures something: printed by `resweep.cli.shared.outputs.print_outputs`.
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line.")]

# Of every command that opens a log and looks at its labels.
Labels = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="NAME",
        help="What the log's label ids mean, where it does not say: a vocabulary's name or YAML file.",
        show_default=False,
    ),
]

# Of every command that reads settings from YAML.
Template = Annotated[bool, typer.Option("--template", help="Print a commented YAML file to begin with.")]
Schema = Annotated[bool, typer.Option("--schema", help="Print the JSON Schema, for editors.")]
# Of every command that writes ROS 2 bags.
Points = Annotated[
    str | None,
    typer.Option(
        "--points",
        metavar="LAYOUT",
        help="Points of a ros2 bag as a driver lays them out: velodyne, ouster, livox or hesai; "
        "resweep (default) has labels too.",
        show_default=False,
    ),
]
# Of every command that opens a log and places its sweeps: used by `resweep.cli.shared.inputs.open_posed`.
Poses = Annotated[
    Path | None,
    typer.Option(
        "--poses",
        parser=parse_path,
        metavar="FILE",
        help="Poses (TUM, KITTI or CSV) in place of the log's own; line i of a KITTI file is that of sweep i.",
        show_default=False,
    ),
]
PoseRate = Annotated[
    float | None,
    typer.Option(
        "--pose-rate",
        min=1e-3,
        metavar="HZ",
        help="Poses a second, for KITTI files without times, instead of one a sweep.",
        show_default=False,
    ),
]
# Of every command whose work can be divided: opened by `resweep.cluster.open_workers`.
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="WHERE",
        help="Run on the workers of a dask cluster: local:N, the address of a scheduler (tcp://host:port), or a YAML "
        "file; the bytes are the same.",
        show_default=False,
    ),
]
# Of every command that simulates: a folder that 'resweep learn' wrote.
Realism = Annotated[
    Path | None,
    typer.Option(
        "--realism",
        parser=parse_local,
        metavar="MODEL",
        help="A learned model of the sensor, from 'resweep learn raydrop': drops beams, and sets intensities.",
        show_default=False,
    ),
]
# Of every command that builds worlds: the setting `refine` of all methods.
Refining = Annotated[
    str | None,
    typer.Option(
        "--refine",
        metavar="HOW",
        help="Adjust the world to the recorded beams after its first estimate: none, fast (hybrids) or full.",
        show_default=False,
    ),
]
# Of every command that reads logs or worlds that may be larger than memory: used by `resweep.memory.parse_memory`.
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory to hold at most, such as 4GB; half of the machine's by default.",
        show_default=False,
    ),
]

# Of every command that opens a log, for clouds of surveys: used by `resweep.cli.shared.inputs.parse_cloud`.
Bounds = Annotated[
    str | None,
    typer.Option(
        "--bounds",
        metavar="X0,Y0,X1,Y1[,Z0,Z1]",
        help="LAS, LAZ and COPC: only the points in this box, in the coordinates of the files.",
        show_default=False,
    ),
]
Resolution = Annotated[
    float | None,
    typer.Option(
        "--resolution", metavar="M", help="COPC: only levels down to M metres between points.", show_default=False
    ),
]
IntensityScale = Annotated[
    float | None,
    typer.Option(
        "--intensity-scale",
        metavar="N",
        help="LAS, LAZ and COPC of other programs: counts of an intensity of 1, such as 255; 65535 unless given.",
        show_default=False,
    ),
]


def choose_points(points: str | None, format: str | None) -> dict[str, Any]:
    """The option of the writer of ``format`` that ``--points`` gives; a wrong name raises before the work."""
    from resweep.io.ros.point_layouts import POINTS

    if points is None:
        return {}
    if format != "ros2":
        raise ResweepError(f"--points {points}: lays out the points of a bag; give --format ros2 too")
    if points not in POINTS:
        raise ResweepError(f"--points '{points}': {nearest_names(points, POINTS)}")
    return {"points": points}


# Of every command that builds a world: the names of `resweep.build.methods`.
METHOD_HELP = (
    "hybrid (default); splats, or splats-basic, splats-labels, splats-descriptors; surfels; volumes (voxels), or "
    "volumes-top-down, volumes-bottom-up, volumes-neighbours; mesh-imls, mesh-rimls, mesh-rimls-meshlab, mesh-poisson."
)


def choose_verbosity(verbose: bool, quiet: bool) -> None:
    """Show as much of the work as the options ask for; without any, as much as before."""
    if verbose and quiet:
        raise typer.BadParameter("--verbose and --quiet exclude each other; give one of them")
    if verbose or quiet:
        set_verbosity(Verbosity.VERBOSE if verbose else Verbosity.QUIET)


MORE = "More options"  # the panel of a command's help that holds what few need


def with_verbosity(verb: Callable[..., None], common: Sequence[str] = ()) -> Callable[..., None]:
    """A command that also takes ``--verbose`` and ``--quiet``.

    Its help begins with the options whose parameters are ``common``; all others follow in a panel of their own.
    """

    @functools.wraps(verb)
    def run(*arguments: Any, verbose: bool = False, quiet: bool = False, **options: Any) -> None:
        choose_verbosity(verbose, quiet)
        verb(*arguments, **options)

    added = {"verbose": Verbose, "quiet": Quiet}
    signature = inspect.signature(verb, eval_str=True)  # typer reads the objects, not their names
    further = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for name, kind in added.items()
    ]
    parameters = [*signature.parameters.values(), *further]
    shown = [
        item if item.name in common or not common else item.replace(annotation=_move(item.annotation))
        for item in parameters
    ]
    run.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    run.__annotations__ = {**verb.__annotations__, **{item.name: item.annotation for item in shown}}
    run.__doc__ = join_lines(verb.__doc__ or "")
    return run


def _move(annotation: Any) -> Any:
    """The annotation of a parameter, with its option in the panel `MORE`; arguments stay where they are."""
    kind, *notes = get_args(annotation)
    if not any(isinstance(note, OptionInfo) for note in notes):
        return annotation
    moved = [copy.copy(note) for note in notes]
    for note in moved:
        if isinstance(note, OptionInfo):
            note.rich_help_panel = MORE
    return Annotated[kind, *moved]


def join_lines(text: str) -> str:
    """A docstring with each paragraph on one line, for help as wide as the terminal."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(
        paragraph if paragraph.startswith(" ") else " ".join(paragraph.split()) for paragraph in paragraphs
    )


def suggest_file(message: str, arguments: Sequence[str]) -> str:
    """A hint at files with names like the argument that an error message begins with, if no file has that name."""
    for word in arguments:
        if not message.startswith(f"{word}: no ") or is_remote(path := find_path(word)) or path.exists():
            continue
        parent = path.absolute().parent
        if parent.is_dir():
            close = difflib.get_close_matches(path.name, sorted(os.listdir(parent)), n=2, cutoff=0.7)
            if close:
                return "; did you mean " + " or ".join(f"'{path.with_name(name)}'" for name in close) + "?"
    return ""


def describe_interruption(verb: str, arguments: list[str]) -> str:
    """What an interrupted command says: whether the same command goes on where it stopped."""
    given = {word.split("=")[0] for word in arguments}
    needed = _RESUMED_WITH.get(verb, ())
    if verb not in RESUMABLE or _NOT_RESUMED in given or not all(given.intersection(names) for names in needed):
        return "interrupted"
    return f"interrupted; the same command goes on where it stopped ({RESUMABLE[verb]})"
