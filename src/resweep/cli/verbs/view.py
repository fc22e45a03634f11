"""``resweep view``: logs, worlds, scenarios, banks and sensors in the browser, or pictures of one sweep."""

from __future__ import annotations

from resweep.cli.options import outputs, pictures, recordings, running
from resweep.cli.shared.outputs import print_outputs
from resweep.errors import ResweepError


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
    format: recordings.FormatOfLog = None,
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
    from resweep.cli.shared.inputs import parse_cloud
    from resweep.cli.shared.viewing import check_saved, draw_sweep, show_pages, wait_for_user

    options = {"format": format, "labels": labels, **parse_cloud(bounds, resolution, intensity_scale)}
    if output is not None:
        if save is not None:
            raise ResweepError("--save: writes a page, -o a picture; leave one of them out")
        if len(paths) != 1:
            text = f"-o: draws one log, got {len(paths)} paths; leave out -o to compare them in the browser"
            raise ResweepError(text)
        drawn = draw_sweep(paths[0], output, sweep, reach, options, overwrite)
        print_outputs([("picture", picture) for picture in drawn], as_json)
        return
    check_saved(save, overwrite)
    with show_pages(paths, sweep, host, port, budget, panes=save is None, seed=seed, memory=memory, **options) as show:
        if save is not None:
            print_outputs([("page", show.save(save))], as_json)
        else:
            wait_for_user(show, port, browser)
