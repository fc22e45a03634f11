"""What ``resweep view`` does: pages in the browser until the user ends them, or pictures of one sweep."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from resweep.cli.options.declarations import parse_path
from resweep.cli.shared.targets import check_absent, check_picture, check_writable
from resweep.errors import ResweepError

if TYPE_CHECKING:
    from resweep.log import Log
    from resweep.viewer.pages.pages import Viewer

_DRAWN_BY = {
    "world": "resweep render {path} -o {picture}",
    "scenario": "resweep render {path} --world WORLD -o {picture}",
    "sensor": "resweep sensors {path} --plot -o {picture}",
    "bank": "resweep objects {path} --gallery -o {picture}",
}


def check_saved(page: Path | None, overwrite: bool) -> None:
    """Raise if no page can be written at ``page``, if one is to be."""
    if page is None:
        return
    if page.suffix.lower() not in (".html", ".htm"):
        raise ResweepError(f"{page}: a page is an .html file; give a name that ends in .html")
    check_absent(page, overwrite, "--save")
    check_writable(page)


@contextmanager
def show_pages(
    paths: list[str], sweep: int, host: str, port: int, budget: int | None, *, panes: bool, **options: Any
) -> Iterator[Viewer]:
    """A viewer of what the paths hold, which stops at the end; ``options`` are those of `open_contents`."""
    from resweep.optional import require

    require("viser", "the viewer")  # a missing package raises before anything is read
    from resweep.viewer.contents import open_contents
    from resweep.viewer.pages.pages import Viewer
    from resweep.viewer.scene.levels import BUDGET

    opened = open_contents(paths, **options)
    for name, log in opened.logs:
        _check_number(name, log, sweep)
    first = sweep if sweep >= 0 or not opened.logs else len(opened.logs[0][1]) + sweep
    budget = BUDGET if budget is None else budget
    show = Viewer(opened, host=host, port=port, budget=budget, sweep=first, panes=panes)
    try:
        yield show
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
    finally:
        show.stop()


def _check_number(name: str, log: Log, sweep: int) -> None:
    if not -len(log) <= sweep < len(log):
        raise ResweepError(f"{name}: holds {len(log)} sweeps, no sweep {sweep}; they count from 0")


def wait_for_user(show: Viewer, port: int, browser: bool) -> None:
    """Wait until the user has seen enough; ``port`` is the one that was asked for."""
    import threading
    import webbrowser

    from resweep.progress import Verbosity, set_verbosity

    if show.port != port:
        typer.echo(f"port {port} is in use; taking {show.port}", err=True)
    set_verbosity(Verbosity.QUIET)  # it waits for the user: there is no work to report
    typer.echo(f"{show.url}   (Ctrl-C ends it)")
    if browser and has_display() and not webbrowser.open(show.url):
        typer.echo("no browser could be opened; open the address above yourself", err=True)
    threading.Event().wait()


def has_display() -> bool:
    """Whether a browser could be shown here: a terminal in front of a person, with a display."""
    if not sys.stdout.isatty() or os.environ.get("SSH_CONNECTION"):
        return False
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def draw_sweep(
    path: str, above: Path, sweep: int, reach: float | None, options: dict[str, Any], overwrite: bool
) -> tuple[Path, Path]:
    """Draw one sweep of a log from above and as the sensor sees it; ``options`` are those of `open_log`."""
    from resweep.cli.shared.inputs import report_unknown_sensor
    from resweep.io import open_log
    from resweep.viewer import birds_eye, range_image
    from resweep.viewer.contents import find_kind

    if (kind := find_kind(path)) != "log":
        command = _DRAWN_BY[kind].format(path=path, picture=above)
        raise ResweepError(f"{path}: is a {kind}, and -o draws a sweep of a log; draw it with '{command}'")
    seen = above.with_name(f"{above.stem}-range.png")
    for target in (above, seen):
        check_picture(target, overwrite)
    place = parse_path(path)
    log = open_log(place, **options)
    _check_number(path, log, sweep)
    report_unknown_sensor(place, log)
    chosen = log[sweep]
    placed = log.sensor_position_known
    return (
        birds_eye(chosen, above, labels=log.labels, reach_m=reach, placed=placed),
        range_image(chosen, seen, labels=log.labels, placed=placed),
    )
