"""``resweep view``: logs, worlds, scenarios, banks and sensors in the browser, or pictures of one sweep."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from resweep.cli.options import outputs, pictures, recordings, running
from resweep.cli.shared.outputs import print_outputs
from resweep.errors import OutputError, ResweepError

if TYPE_CHECKING:
    from resweep.viewer.pages.pages import Viewer


def view(
    paths: pictures.Paths,
    output: outputs.PictureOfSweep = None,
    save: outputs.Page = None,
    sweep: recordings.SweepNumber = 0,
    reach: pictures.Reach = None,
    host: pictures.Host = "127.0.0.1",
    port: pictures.Port = 8080,
    browser: pictures.Browser = True,
    budget: pictures.Budget = None,
    seed: running.SeedOfScene = 0,
    labels: recordings.Labels = None,
    bounds: recordings.Bounds = None,
    resolution: recordings.Resolution = None,
    intensity_scale: recordings.IntensityScale = None,
    memory: running.Memory = None,
    overwrite: outputs.OverwritePages = False,
    as_json: outputs.JsonOfPictures = False,
) -> None:
    """Look at logs, worlds, scenarios, banks and sensors in the browser.

    Two logs, or a world and a log, are compared. Over SSH, forward the port: ssh -L 8080:localhost:8080 HOST. Ctrl-C
    ends it. With -o a picture of one sweep is drawn instead.

    Examples:
      resweep view kitti/sequences/00
      resweep view seq00.world kitti/sequences/00
      resweep view scene:street --save street.html
      resweep view out --sweep 3 -o third.png
    """
    from resweep.cli.shared.inputs import check_writable, parse_cloud

    cloud = parse_cloud(bounds, resolution, intensity_scale)
    if output is not None:
        if save is not None:
            raise ResweepError("--save: writes a page, -o a picture; leave one of them out")
        if len(paths) != 1:
            raise ResweepError(
                f"-o: draws one log, got {len(paths)} paths; leave out -o to compare them in the browser"
            )
        drawn = _draw(paths[0], output, sweep, reach, labels, cloud, overwrite)
        print_outputs([("picture", made) for made in drawn], as_json)
        return
    if save is not None:
        if save.suffix.lower() not in (".html", ".htm"):
            raise ResweepError(f"{save}: a page is an .html file; give a name that ends in .html")
        if save.exists() and not overwrite:
            raise OutputError(f"{save}: exists; choose another --save or give --overwrite")
        check_writable(save)
    _show(paths, save, sweep, host, port, browser, budget, seed, memory, {"labels": labels, **cloud}, as_json)


def _show(
    paths: list[str],
    save: Path | None,
    sweep: int,
    host: str,
    port: int,
    browser: bool,
    budget: int | None,
    seed: int,
    memory: str | None,
    options: dict[str, Any],
    as_json: bool,
) -> None:
    from resweep.optional import require

    require("viser", "the viewer")  # a missing package is said before anything is read
    from resweep.viewer.contents import open_contents
    from resweep.viewer.pages.pages import Viewer
    from resweep.viewer.scene.levels import BUDGET

    opened = open_contents(paths, seed=seed, memory=memory, **options)
    for name, log in opened.logs:
        if not -len(log) <= sweep < len(log):
            raise ResweepError(f"{name}: holds {len(log)} sweeps, no sweep {sweep}; they count from 0")
    first = sweep if sweep >= 0 or not opened.logs else len(opened.logs[0][1]) + sweep
    show = Viewer(
        opened, host=host, port=port, budget=BUDGET if budget is None else budget, sweep=first, panes=save is None
    )
    try:
        if save is not None:
            print_outputs([("page", show.save(save))], as_json)
            return
        if show.port != port:
            typer.echo(f"port {port} is in use; taking {show.port}", err=True)
        _wait(show, browser)
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
    finally:
        show.stop()


def _wait(show: Viewer, browser: bool) -> None:
    """Wait until the user has seen enough."""
    import threading
    import webbrowser

    from resweep.cli.verbs.demo import has_display
    from resweep.progress import Verbosity, set_verbosity

    set_verbosity(Verbosity.QUIET)  # it waits for the user: there is no work to report
    typer.echo(f"{show.url}   (Ctrl-C ends it)")
    if browser and has_display() and not webbrowser.open(show.url):
        typer.echo("no browser could be opened; open the address above yourself", err=True)
    threading.Event().wait()


def _draw(
    path: str,
    above: Path,
    sweep: int,
    reach: float | None,
    labels: str | None,
    cloud: dict[str, Any],
    overwrite: bool,
) -> tuple[Path, Path]:
    """Draw one sweep of a log from above and as the sensor sees it."""
    from resweep.cli.options.paths import parse_path
    from resweep.cli.shared.inputs import check_writable, report_unknown_sensor
    from resweep.io import open_log
    from resweep.viewer import birds_eye, range_image

    if above.suffix.lower() != ".png":
        raise ResweepError(f"{above}: pictures are PNG files; give a name that ends in .png")
    seen = above.with_name(f"{above.stem}-range.png")
    for target in (above, seen):
        if target.exists() and not overwrite:
            raise OutputError(f"{target}: exists; choose another -o or give --overwrite")
    check_writable(above)
    place = parse_path(path)
    log = open_log(place, labels=labels, **cloud)
    if not -len(log) <= sweep < len(log):
        raise ResweepError(f"{path}: holds {len(log)} sweeps, no sweep {sweep}; they count from 0")
    report_unknown_sensor(place, log)
    chosen = log[sweep]
    return birds_eye(chosen, above, labels=log.labels, reach_m=reach), range_image(chosen, seen, labels=log.labels)
