"""The page for what was opened, and the server that shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from resweep.errors import ResweepError
from resweep.files import atomic_file
from resweep.log import Log
from resweep.pose import Array, Trajectory
from resweep.sensors.infer.inferred_drive import prepare_drive
from resweep.simulate.resimulate import resimulate
from resweep.viewer.contents import ViewerContents, shorten
from resweep.viewer.pages.log_page import LogPage
from resweep.viewer.pages.other_pages import BankPage, SensorPage
from resweep.viewer.pages.panes import LinkedCameras, PaneServer
from resweep.viewer.pages.stage import LOCALHOST, PORT, Stage, find_port
from resweep.viewer.pages.world_page import SENSOR, WorldPage
from resweep.viewer.scene.levels import BUDGET
from resweep.worlds import World

_SENSOR_HEIGHT_M = 1.8


class Viewer:
    """What was opened, in a browser: ``url`` is where. To be stopped."""

    def __init__(
        self,
        opened: ViewerContents,
        *,
        host: str = LOCALHOST,
        port: int = PORT,
        budget: int = BUDGET,
        sweep: int = 0,
        panes: bool = True,
    ) -> None:
        self.opened, self.budget = opened, budget
        start = find_start(opened)
        title = opened.title or "Resweep"
        logs = self._list_logs()
        self.front: PaneServer | None = None
        self.twin: Stage | None = None
        self.page: Any = None
        paned = panes and len(logs) == 2
        behind = host if paned else ""
        self.stage = Stage(
            start[:3, 3], host=LOCALHOST if paned else host, port=0 if paned else port, title=title, behind=behind
        )
        try:
            if paned:
                self.twin = Stage(start[:3, 3], port=0, title=title, led=self.stage, behind=behind)
                self.cameras = LinkedCameras([self.twin, self.stage])
                both, names = [self.twin, self.stage], [shorten(name) for name, _ in logs]
                self.front = PaneServer(host, find_port(host, port), both, names, title)
            self.page = LogPage(self.stage, logs, sweep, self.twin) if logs else self._make_page(start)
        except BaseException:
            self.stop()
            raise

    @property
    def url(self) -> str:
        """Where a browser finds the page."""
        return self.stage.url if self.front is None else self.front.url

    @property
    def port(self) -> int:
        """The port of the page."""
        return self.stage.port if self.front is None else self.front.port

    def _list_logs(self) -> list[tuple[str, Log]]:
        """The logs to show; of a log and a world also the log's own beams fired again in the world."""
        opened = self.opened
        if not opened.worlds or opened.scenarios or len(opened.logs) != 1:
            return list(opened.logs)
        world_name, world = opened.worlds[0]
        name, log = opened.logs[0]
        log = prepare_drive(log)  # both sides with the motion corrected
        return [(name, log), (f"{world_name}, the same beams", resimulate(log, world))]

    def _make_page(self, start: Array) -> WorldPage | BankPage | SensorPage:
        opened = self.opened
        if opened.worlds:
            return self._make_world_page(start)
        if opened.banks:
            return BankPage(self.stage, opened.banks[0][1], self.budget)
        if opened.sensors:
            return SensorPage(self.stage, opened.sensors[0][1])
        raise ResweepError("view: there is nothing to show; give a log, a world, a bank, a scenario or a sensor")

    def _make_world_page(self, start: Array) -> WorldPage:
        world = self.opened.worlds[0][1]
        sensor = self.opened.sensors[0][1] if self.opened.sensors else SENSOR
        options: dict[str, Any] = {"sensor": sensor, "budget": self.budget}
        if self.opened.scenarios:
            bank = self.opened.banks[0][1] if self.opened.banks else None
            path, actors = self.opened.scenarios[0][1].place(world, bank)
            return WorldPage(self.stage, world, path.poses[0], actors=actors, path=path, **options)
        return WorldPage(self.stage, world, start, **options)

    def save(self, path: Path) -> Path:
        """Write what is shown now as one page that needs no server: the scene, without the controls."""
        if path.suffix.lower() not in (".html", ".htm"):
            raise ResweepError(f"{path}: a page is an .html file; give a name that ends in .html")
        self.stage.work.finish()
        text = self.stage.scene.as_html(dark_mode=True)
        with atomic_file(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
        return path

    def stop(self) -> None:
        """End the server and all that it started."""
        if isinstance(self.page, LogPage | WorldPage):
            self.page.stop()
        if self.front is not None:
            self.front.stop()
        self.stage.stop()
        if self.twin is not None:
            self.twin.stop()


def find_start(opened: ViewerContents) -> Array:
    """``T_world_sensor`` from which to begin: that of the first sweep, or a place on the ground amid the world."""
    if opened.logs:
        return np.asarray(opened.logs[0][1].poses[0], np.float64)
    if opened.scenarios and opened.worlds:
        path: Trajectory = opened.scenarios[0][1].trajectory(opened.worlds[0][1])
        return np.asarray(path.poses[0], np.float64)
    return find_place(opened.worlds[0][1]) if opened.worlds else np.eye(4)


def find_place(world: World) -> Array:
    """A pose (4, 4) in the middle of a world, above the ground that is under it, or in its middle where none is."""
    from resweep.scenario.ground import find_ground

    low, high = world.bounds
    pose = np.eye(4)
    pose[:3, 3] = (low + high) / 2
    try:
        under = find_ground(world).heights(np.array([[*pose[:2, 3], np.nan]]))[0]
    except ResweepError:  # only permeable volumes
        return pose
    if np.isfinite(under):
        pose[2, 3] = under + _SENSOR_HEIGHT_M
    return pose
