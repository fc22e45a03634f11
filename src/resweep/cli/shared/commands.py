"""What is true of every command: its help, how much it reports, whether it resumes, and hints at mistyped files."""

from __future__ import annotations

import copy
import difflib
import functools
import inspect
import os
from collections.abc import Callable, Sequence
from typing import Annotated, Any, get_args

import typer
from typer.models import OptionInfo

from resweep.cli.options.running import Quiet, Verbose
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
    """A docstring with each paragraph, and each example, on one line: for help as wide as the terminal."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(
        "\n\n".join(paragraph.splitlines()) if paragraph.startswith("Example") else " ".join(paragraph.split())
        for paragraph in paragraphs
    )


def suggest_file(message: str, arguments: Sequence[str]) -> str:
    """A hint at files with names like the argument that an error message begins with, if no file has that name."""
    for argument in arguments:
        if not message.startswith(f"{argument}: no ") or is_remote(path := find_path(argument)) or path.exists():
            continue
        parent = path.absolute().parent
        if parent.is_dir():
            close = difflib.get_close_matches(path.name, sorted(os.listdir(parent)), n=2, cutoff=0.7)
            if close:
                return "; did you mean " + " or ".join(f"'{path.with_name(name)}'" for name in close) + "?"
    return ""


def describe_interruption(verb: str, arguments: list[str]) -> str:
    """What an interrupted command says: whether the same command goes on where it stopped."""
    given = {argument.split("=")[0] for argument in arguments}
    needed = _RESUMED_WITH.get(verb, ())
    if verb not in RESUMABLE or _NOT_RESUMED in given or not all(given.intersection(names) for names in needed):
        return "interrupted"
    return f"interrupted; the same command goes on where it stopped ({RESUMABLE[verb]})"
