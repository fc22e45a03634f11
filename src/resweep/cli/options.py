"""Options that several commands share, and what is true of several of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from resweep.progress import Verbosity, set_verbosity

# The commands that go on where they stopped when the same words are given again, and how they do.
RESUMABLE = {
    "build": "its finished stages are kept beside the world",
    "dataset": "its finished sweeps are kept in the folder",
}
_NOT_RESUMED = "--no-resume"  # of a command that resumes otherwise

# Of every command, before its name or after it.
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show every piece of work, however short, with its time.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress; only results, warnings and errors.")]

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

# Of every command that builds a world: the names of `resweep.reconstruction.methods`.
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


def with_verbosity(verb: Callable[..., None]) -> Callable[..., None]:
    """A command that also takes ``--verbose`` and ``--quiet``."""

    @functools.wraps(verb)
    def run(*words: Any, verbose: bool = False, quiet: bool = False, **options: Any) -> None:
        choose_verbosity(verbose, quiet)
        verb(*words, **options)

    added = {"verbose": Verbose, "quiet": Quiet}
    signature = inspect.signature(verb, eval_str=True)  # typer reads the objects, not their names
    further = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for name, kind in added.items()
    ]
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *further])  # type: ignore[attr-defined]
    run.__annotations__ = {**verb.__annotations__, **added}
    return run


def describe_interruption(verb: str, arguments: list[str]) -> str:
    """What an interrupted command says: whether the same words go on where it stopped."""
    if verb not in RESUMABLE or _NOT_RESUMED in arguments:
        return "interrupted"
    return f"interrupted; the same command goes on where it stopped ({RESUMABLE[verb]})"
