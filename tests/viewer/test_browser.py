"""The viewer in a real browser: what it shows, what its controls change, and that its console stays clean."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.log import Log
from resweep.pose import from_xyz_rpy
from resweep.sensors import load_sensor
from resweep.simulate import Simulator
from resweep.viewer.contents import ViewerContents, find_kind, open_contents
from resweep.worlds import Splats, Volumes, World
from tests.viewer.browser import Page, bright, open_browser

pytest.importorskip("viser", reason="viser is not installed")

from resweep.viewer.pages.pages import Viewer, find_place
from resweep.viewer.pages.stage import find_port


def make_place() -> World:
    """A floor of green discs, a wall of red ones ahead, and a bush."""
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(-12, 12, 0.5), np.arange(-12, 12, 0.5)))
    floor = np.column_stack([x, y, np.zeros(len(x))])
    side, up = (axis.ravel() for axis in np.meshgrid(np.arange(-12, 12, 0.5), np.arange(0, 6, 0.5)))
    wall = np.column_stack([np.full(len(side), 12.0), side, up])
    normal = np.vstack([np.tile([0.0, 0, 1], (len(floor), 1)), np.tile([-1.0, 0, 0], (len(wall), 1))])
    label = np.r_[np.full(len(floor), 70), np.full(len(wall), 50)]
    discs = Splats(np.vstack([floor, wall]), normal, np.full(len(label), 0.45), label=label)
    bush = Volumes([[6.0, 4.0, 1.0]], [[0.3, 0, 0, 0.3, 0, 0.3]], 0.2, label=70)
    return World([discs, bush], (5e5, 5e6, 100.0), labels="semantickitti")


@pytest.fixture(scope="module")
def place() -> World:
    return make_place()


@pytest.fixture(scope="module")
def log(place: World) -> Log:
    poses = np.stack([from_xyz_rpy(5e5 + x, 5e6, 101.8) for x in (-4.0, 0.0, 4.0)])
    log = Simulator(place, load_sensor("velodyne-vlp-16"), seed=2).run(poses)
    return Log.from_sweeps(list(log), "drive", labels=log.labels, sensor=log.sensor)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as opened:
        yield opened


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Callable[[str], Page]]:
    """Opens the page of an address; pages are closed at the end, so that none slows the next one."""
    pages: list[Page] = []

    def once(address: str, width: int = 760) -> Page:
        pages.append(Page(browser, address, tmp_path, width))
        return pages[-1]

    yield once
    for page in pages:
        page.close()


@pytest.fixture
def shown() -> Iterator[Callable[..., Viewer]]:
    """Shows what was opened; servers stop at the end, and their ports are free then."""
    shows: list[Viewer] = []

    def once(opened: ViewerContents, port: int, panes: bool = True) -> Viewer:
        shows.append(Viewer(opened, port=port, panes=panes))
        assert shows[-1].stage.work.finish()
        return shows[-1]

    yield once
    for show in shows:
        show.stop()
        check_free(show)


def check_free(show: Viewer) -> None:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        trial.bind(("127.0.0.1", show.port))  # nobody listens any more


def test_a_log_is_shown_and_its_controls_change_it(shown: Any, visit: Any, log: Log, tmp_path: Path) -> None:
    show = shown(ViewerContents(logs=[("drive", log)]), 8400)
    page = visit(show.url)
    first = page.wait_for(lambda image: bright(image) > 0.01, "no returns are shown")
    # By label: the floor is green, the wall orange.
    lit = first[first.max(axis=2) > 60]
    assert (lit[:, 1] > lit[:, 0] + 30).mean() > 0.1
    # Another colouring, chosen in the page itself.
    page.page.locator('input[role=combobox][value="label"]').click()
    page.page.get_by_role("option", name="ring", exact=True).click()
    blue = page.wait_for(lambda image: (image[..., 2] > image[..., 1] + 60).mean() > 0.001, "rings show no blue")
    assert show.page.colour.value == "ring"
    # Another sweep, from elsewhere.
    show.page.sweep_slider.value = 2
    show.page.refresh()
    page.wait_for(lambda image: (np.abs(image - blue).max(axis=2) > 60).mean() > 0.005, "the sweep did not change")
    # Half of the firings are half of the returns.
    show.page.firing.value = show.page.firing.max // 2
    show.page.refresh()
    assert show.stage.work.finish()
    assert show.page._fired(log[2]).mean() == pytest.approx(0.5, abs=0.05)
    # A click on a return finds it, and describes it.
    lit = page.wait_for(lambda image: (image.max(axis=2) > 120).mean() > 0.005, "no returns are shown")
    row, column = np.argwhere(lit.max(axis=2) > 120)[len(np.argwhere(lit.max(axis=2) > 120)) // 2]
    page.page.mouse.click(int(column), 190 + int(row))
    page.page.wait_for_timeout(1000)
    assert show.stage.work.finish()
    assert "intensity" in show.page.about.content
    assert page.errors == []


@pytest.mark.slow
def test_two_logs_have_panes_whose_cameras_move_together(shown: Any, visit: Any, log: Log, place: World) -> None:
    again = Simulator(place, load_sensor("velodyne-vlp-16"), seed=3).run(log.poses)
    show = shown(ViewerContents(logs=[("real", log), ("simulated", again)]), 8410)
    page = visit(show.url, width=1200)
    assert page.page.locator("figcaption").all_text_contents() == ["real", "simulated"]
    for pane in (slice(10, 390), slice(410, 790)):
        page.wait_for(lambda image: bright(image) > 0.01, f"the pane at {pane} is empty", columns=pane)
    begun = find_views(show)
    np.testing.assert_allclose(begun[0], begun[1], atol=1e-3)
    page.drag(150, 320, 60, -40)
    turned = wait_for_views(page, show, begun[0])
    page.drag(600, 320, -90, 20)
    wait_for_views(page, show, turned)
    # A beam that is clicked in one pane is shown and described in both, for both fired it.
    cloud = show.page._clouds[0]
    origin = np.zeros(3)
    show.page._on_click(show.twin, show.page.range_panels[0], origin, cloud.points[100] - origin)
    assert all(f"/beam/{at}/line" in stage._shown for at, stage in enumerate(show.page.stages))
    assert show.page.about.content.count("**beam ") == 2
    assert page.errors == []


def find_views(show: Viewer) -> list[np.ndarray]:
    """Where the cameras of both panes stand, and what they look at."""
    cameras = [next(iter(stage.server.get_clients().values())).camera for stage in show.page.stages]
    return [np.concatenate([camera.position, camera.look_at]) for camera in cameras]


def wait_for_views(page: Page, show: Viewer, before: np.ndarray) -> np.ndarray:
    """The view of both panes once they have moved from ``before`` and agree."""
    for _ in range(100):
        page.page.wait_for_timeout(200)
        one, other = find_views(show)
        if np.abs(one - before).max() > 0.5 and np.allclose(one, other, atol=1e-2):
            return one
    pytest.fail(f"the cameras do not move together: from {before} to {one} and {other}")


def test_two_logs_are_compared_by_their_errors(shown: Any, log: Log, place: World) -> None:
    again = Simulator(place, load_sensor("velodyne-vlp-16"), seed=3).run(log.poses)
    show = shown(ViewerContents(logs=[("real", log), ("simulated", again)]), 8415)
    assert [(cloud.log, cloud.stage) for cloud in show.page._clouds] == [(0, show.twin), (1, show.stage)]
    show.page.arrange.value = "over each other"
    show.page.colour.value = "error"
    show.page.refresh()
    assert show.stage.work.finish()
    assert [cloud.log for cloud in show.page._clouds if cloud.stage is show.stage] == [0, 1]
    assert "range error" in show.page.legend.content
    show.page.colour.value = "confidence"
    show.page.refresh()
    assert show.stage.work.finish()
    assert "knows no confidence" in show.stage._message.content
    beam = int(show.page._clouds[0].sweep.beam[100])
    show.page.range_panels[0]._pick(beam)
    assert f"**beam {beam}**" in show.page.about.content
    # On one stage, as for a page that is saved, they stand beside each other.
    alone = Viewer(show.opened, port=8418, panes=False)
    try:
        assert alone.stage.work.finish()
        left, right = (cloud.points for cloud in alone.page._clouds)
        assert left[:, 1].mean() > right[:, 1].mean() + 10
    finally:
        alone.stop()


SCENARIO = """
ego: {at: [499994, 5000000]}
duration_s: 1
actors:
  - {asset: saloon, at: [500004, 5000000], name: parked}
"""


def open_kind(kind: str, log: Log, place: World, folder: Path) -> ViewerContents:
    """What a page of that kind shows."""
    from resweep.scenario import load_scenario
    from resweep.scenario.builtin import builtin_bank

    worlds = [("place", place)]
    if kind == "world":
        return ViewerContents(worlds=worlds)
    if kind == "scenario":
        (folder / "scenario.yaml").write_text(SCENARIO)
        return ViewerContents(worlds=worlds, scenarios=[("one car", load_scenario(folder / "scenario.yaml"))])
    if kind == "world and log":
        return ViewerContents(worlds=worlds, logs=[("drive", log)])
    return (
        ViewerContents(banks=[("bank", builtin_bank())])
        if kind == "bank"
        else ViewerContents(sensors=[("own", load_sensor("livox-avia"))])
    )


# The gate draws the page of a log, and a saved one; make test-all all the others.
_KINDS = ("world", "scenario", "sensor", "world and log", "bank")


@pytest.mark.slow
@pytest.mark.parametrize("kind", _KINDS)
def test_every_kind_of_page_is_drawn_without_errors(
    kind: str, shown: Any, visit: Any, log: Log, place: World, tmp_path: Path
) -> None:
    show = shown(open_kind(kind, log, place, tmp_path), 8470)
    page = visit(show.url, width=1000 if kind == "world and log" else 760)
    page.wait_for(lambda image: bright(image) > 0.01, f"the page of a {kind} shows nothing")
    if kind == "scenario":
        # The car is hit by beams ten metres ahead, and outlined where it stands.
        ahead = show.page.sweep.points[np.abs(show.page.sweep.points[:, 1]) < 0.5]
        assert 6.0 < ahead[(ahead[:, 0] > 2) & (ahead[:, 2] > -1.5), 0].min() < 9.0
        assert "/boxes" in show.stage._shown
        on_car = show.page.sweep.instance == show.page.actors[0].instance
        show.page._show_beam(int(show.page.sweep.beam[np.flatnonzero(on_car)[0]]))
        assert "on actor 'parked'" in show.page.about.content
    if kind == "world and log":
        recorded, again = (cloud.sweep for cloud in show.page._clouds)
        assert recorded.n_beams == again.n_beams  # the world is swept by the log's own beams
    page.drag(120, 300, 60, 20)
    page.page.mouse.click(150, 330)
    page.page.wait_for_timeout(300)
    assert show.stage.work.finish()
    page.picture()
    assert page.errors == []


@pytest.mark.slow
def test_a_world_is_swept_live_where_the_sensor_is_dragged(shown: Any, visit: Any, place: World) -> None:
    show = shown(ViewerContents(worlds=[("place", place)]), 8420)
    show.page.form.value = "points"
    show.page.refresh_world()
    assert show.stage.work.finish()
    page = visit(show.url)
    green = page.wait_for(lambda image: bright(image) > 0.05, "the world is not shown")
    show.page.handle.position = (3.0, 0.0, 0.0)
    show.page.sweep_colour.value = "time"
    show.page.refresh_sweep()
    assert show.stage.work.finish()
    sweep = show.page.sweep
    ahead = sweep.beam_direction[sweep.beam] @ [1.0, 0, 0] > 0.999
    assert sweep.range[ahead].min() == pytest.approx(9.0, abs=0.3)  # the wall is 12 m from the middle
    page.wait_for(lambda image: (np.abs(image - green).max(axis=2) > 60).mean() > 0.005, "the sweep did not move")
    assert page.errors == []
    page.close()
    show.page.sensor.value = "ouster-os1-64"
    show.stage.work.ask("sensor", show.page._change_sensor)
    assert show.stage.work.finish()
    assert show.page.sweep.sensor == "ouster-os1-64"
    show.page._on_click(np.array([0.0, 0.0, 8.0]), np.array([0.3, 0.1, -1.0]))
    assert "its light" in show.page.about.content
    for form, words in (("ellipsoids", "1 volumes"), ("hidden", ""), ("splats", f"{place.n_primitives:,} primitives")):
        show.page.form.value = form
        show.page.refresh_world()
        assert show.stage.work.finish()
        assert show.page.counts.content.startswith(words)


@pytest.mark.parametrize(
    "kind", ["log", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("world", "two logs"))]
)
def test_a_saved_page_needs_no_server(
    kind: str, shown: Any, visit: Any, log: Log, place: World, tmp_path: Path
) -> None:
    opened = ViewerContents(worlds=[("place", place)]) if kind == "world" else ViewerContents(logs=[("drive", log)])
    if kind == "two logs":
        opened.logs.append(("again", log))
    show = shown(opened, 8430, panes=False)
    saved = show.save(tmp_path / "page.html")
    show.stop()
    page = visit(saved.as_uri())
    page.wait_for(lambda image: bright(image) > 0.01, "the saved page shows nothing")
    assert page.errors == []
    assert [address for address in page.asked if not address.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.slow
def test_a_viewer_leaves_nothing_behind_when_it_is_stopped(log: Log, tmp_path: Path) -> None:
    from resweep.io import write_log

    write_log(log, tmp_path / "drive", progress=False)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 8440))
        taken.listen()
        words = ["view", "drive", "--port", "8440", "--no-browser"]
        code = f"from resweep.cli import main; main({words!r})"
        quiet = {"env": {**os.environ, "PYTHONUNBUFFERED": "1"}, "text": True, "cwd": tmp_path}
        running = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **quiet
        )  # type: ignore[call-overload]
        line = running.stdout.readline()
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert "http://localhost:8441" in line
    assert err.splitlines() == ["port 8440 is in use; taking 8441", "stopped"]
    assert (running.returncode, out) == (0, "")


def test_what_a_path_holds_is_found(place: World, log: Log, tmp_path: Path) -> None:
    place.save(tmp_path / "place.world")
    (tmp_path / "scenario.yaml").write_text("ego: {at: [0, 0]}\nduration_s: 1\n")
    assert find_kind(str(tmp_path / "place.world")) == "world"
    assert find_kind("scene:street") == "world"
    assert find_kind("velodyne-vlp-16") == "sensor"
    assert find_kind("hidden-car") == "scenario"
    assert find_kind(str(tmp_path / "scenario.yaml")) == "scenario"
    with pytest.raises(ResweepError, match="shown in a world"):
        open_contents([str(tmp_path / "scenario.yaml")])
    with pytest.raises(ResweepError, match="no such file"):
        open_contents([str(tmp_path / "absent")])
    np.testing.assert_allclose(find_place(place)[:3, 3], [5e5 - 0.1, 5e6 - 0.1, 101.8], atol=0.5)


def test_ports_and_hosts_that_cannot_be_had_are_said() -> None:
    with pytest.raises(ResweepError, match="cannot be bound"):
        find_port("203.0.113.7", 8080)  # an address of nobody (RFC 5737)


def test_banks_and_sensors_have_pages(shown: Any) -> None:
    from resweep.scenario.builtin import builtin_bank

    bank = builtin_bank()
    show = shown(ViewerContents(banks=[("bank", bank)]), 8450)
    assert len(show.page.places) == len(bank)
    gaps = np.linalg.norm(show.page.places[:, None] - show.page.places, axis=2) + 99 * np.eye(len(bank))
    assert gaps.min() > 1.5
    show = shown(ViewerContents(sensors=[("own", load_sensor("livox-avia"))]), 8460)
    show.page.firing.value = 10.0
    assert show.stage.work.finish()
    assert "livox-avia" in show.page.facts.content
