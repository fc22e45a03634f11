"""Logs in the browser: sweeps over time, coloured by what they know, one or two of them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import partial

import numpy as np

from resweep.labels import LabelSet
from resweep.log import Log
from resweep.pose import Array
from resweep.sweep import Sweep
from resweep.viewer.contents import shorten
from resweep.viewer.pages.range_panel import RangePanel
from resweep.viewer.pages.stage import Stage
from resweep.viewer.scene.clicked_beam import describe_beam, draw_beam, find_clicked, find_firings
from resweep.viewer.scene.outlines import outline_boxes, outline_path
from resweep.viewer.scene.return_colours import ReturnColours, colour_returns, list_colourings
from resweep.viewer.scene.sweep_errors import find_errors, find_nearest_sweep, fired_same_beams

BESIDE, OVER, FIRST, SECOND = "side by side", "over each other", "first only", "second only"
_MAX_CACHED = 12  # sweeps
_BOX, _PATH, _BEAM = (255, 196, 0), (120, 200, 255), (255, 255, 255)
_ALL_COLOURINGS = (
    "range",
    "height",
    "intensity",
    "ring",
    "time",
    "label",
    "instance",
    "return number",
    "primitive kind",
    "confidence",
    "error",
)


@dataclass(frozen=True, eq=False)
class SweepCloud:
    """A sweep as it is shown on a stage: its returns ``points`` (n, 3) from the stage's centre, and their colours.

    ``log`` is the number of its log.
    """

    log: int
    stage: Stage
    sweep: Sweep
    points: Array
    shift: Array
    coloured: ReturnColours


class LogPage:
    """One log, or a recorded and a simulated one, on a stage; with a ``twin`` stage the first one is shown there."""

    def __init__(
        self, stage: Stage, logs: list[tuple[str, Log]], first_sweep: int = 0, twin: Stage | None = None
    ) -> None:
        self.stage, self.twin = stage, twin
        self.stages = [stage] if twin is None else [twin, stage]
        self.names, self.logs = [shorten(name) for name, _ in logs], [log for _, log in logs]
        self._sweeps: OrderedDict[tuple[int, int], Sweep] = OrderedDict()
        self._beam: tuple[int, int] | None = None
        self._playing = threading.Event()
        self._clouds: list[SweepCloud] = []
        titles = ["range image"] if twin is None else [f"range image, {name}" for name in self.names]
        self.range_panels = [RangePanel(each, title) for each, title in zip(self.stages, titles, strict=True)]
        self._add_controls(min(max(first_sweep, 0), len(self.logs[0]) - 1))
        for each, panel in zip(self.stages, self.range_panels, strict=True):
            for at, log in enumerate(self.logs):
                if log.poses_known and len(log) > 1:
                    each.lines(f"/trajectory/{at}", outline_path(log.poses), _PATH)
            each.on_click(partial(self._on_click, each, panel))
        self.look_from_behind()
        self.refresh()

    @property
    def sweep_number(self) -> int:
        """The number of the sweep that is shown."""
        return int(self.sweep_slider.value) if len(self.logs[0]) > 1 else 0

    def look_from_behind(self) -> None:
        """Put the camera behind and above the sensor of the sweep that is shown."""
        pose = self.logs[0].poses[self.sweep_number]
        ahead = pose[:3, 0] * [1.0, 1.0, 0.0]
        for stage in self.stages:
            stage.look(pose[:3, 3] - 22.0 * ahead + [0.0, 0.0, 14.0], pose[:3, 3] + 4.0 * ahead)

    def _add_controls(self, first: int) -> None:
        gui = self.stage.gui
        many = len(self.logs[0])
        with gui.add_folder("sweep"):
            self.sweep_slider = gui.add_slider("sweep", 0, max(many - 1, 1), 1, first, disabled=many == 1)
            self.play = gui.add_checkbox("play", False, disabled=many == 1)
            self.speed = gui.add_slider("sweeps a second", 1, 20, 1, 10)
            self.firing = gui.add_slider("firings", 1, 1000, 1, 1000, hint="scrub through the sweep, firing by firing")
        with gui.add_folder("show"):
            self.colour = gui.add_dropdown("colour by", list(_ALL_COLOURINGS), initial_value=self._choose_colour())
            self.size = gui.add_slider("point size", 0.01, 0.3, 0.01, 0.05)
            if len(self.logs) == 2:
                choices = (BESIDE, OVER, FIRST, SECOND) if self.twin is None else (BESIDE, OVER)
                self.arrange = gui.add_dropdown("arrange", choices, initial_value=BESIDE)
                self.arrange.on_update(lambda _: self.refresh())
            self.boxes = gui.add_checkbox("boxes", True)
            self.path = gui.add_checkbox("trajectory", True)
        self.legend = gui.add_markdown("")
        for at, panel in enumerate(self.range_panels):
            panel.add(gui, partial(self._show_beam, at))
        self.about = gui.add_markdown("click a point, or a pixel of the range image in the scene")
        for control in (self.sweep_slider, self.colour, self.size, self.boxes, self.firing):
            control.on_update(lambda _: self.refresh())
        self.path.on_update(lambda _: self._show_paths())
        self.play.on_update(lambda _: self._play())

    def _choose_colour(self) -> str:
        sweep = self.load(0, 0)
        found = list_colourings(sweep, self.logs[0].labels)
        return "label" if "label" in found else "intensity" if "intensity" in found else "range"

    def load(self, log: int, number: int) -> Sweep:
        """A sweep of one of the logs; the latest ones are cached."""
        key = (log, number)
        if key not in self._sweeps:
            self._sweeps[key] = self.logs[log][number]
            while len(self._sweeps) > _MAX_CACHED:
                self._sweeps.popitem(last=False)
        return self._sweeps[key]

    def refresh(self) -> None:
        """Draw again by the controls, soon."""
        self.stage.work.ask("draw", self.draw)

    def draw(self) -> None:
        """Draw by the controls."""
        number = self.sweep_number
        pairs = [(0, number)]
        if len(self.logs) == 2:
            pairs.append((1, self._pair(number)))
        sweeps = [self.load(*pair) for pair in pairs]
        self._fit_firings(sweeps[0])
        clouds: list[SweepCloud] = []
        messages = []
        for at, (sweep, places) in enumerate(zip(sweeps, self._find_places(sweeps), strict=True)):
            other = sweeps[1 - at] if len(sweeps) == 2 else None
            coloured, note = self._colour(sweep, self.logs[at].labels, other)
            messages += [note] if note and places else []
            for stage in self.stages:
                if stage in places:
                    clouds.append(self._draw_cloud(at, stage, sweep, places[stage], coloured))
                else:
                    stage.remove(f"/sweep/{at}")
                    stage.remove(f"/boxes/{at}")
        self.stage.show_message(messages[0] if messages else "")
        self._clouds = clouds
        self.legend.content = self._describe(sweeps, clouds[-1].coloured)
        self._mark()

    def _draw_cloud(self, at: int, stage: Stage, sweep: Sweep, shift: Array, coloured: ReturnColours) -> SweepCloud:
        """Show a sweep on a stage."""
        keep = self._fired(sweep)
        points = sweep.world_points()
        stage.points(f"/sweep/{at}", points[keep], coloured.rgb[keep], self.size.value, shift)
        outline = np.zeros((0, 2, 3))
        if self.boxes.value and sweep.boxes is not None:
            outline = outline_boxes(sweep.boxes, sweep.pose)
        stage.lines(f"/boxes/{at}", outline, _BOX, shift)
        return SweepCloud(at, stage, sweep, stage.local(points) + shift, shift, coloured)

    def _show_paths(self) -> None:
        for stage in self.stages:
            stage.show("/trajectory", self.path.value)

    def _pair(self, number: int) -> int:
        """The sweep of the second log that goes with one of the first."""
        one, other = self.logs
        if len(one) == len(other):
            return number
        return find_nearest_sweep(one.poses[number], other.poses)

    def _colour(self, sweep: Sweep, labels: LabelSet, other: Sweep | None) -> tuple[ReturnColours, str]:
        """The colours of a sweep by the control, or by range with a word on why not."""
        by = str(self.colour.value)
        error = find_errors(sweep, other) if by == "error" and other is not None else None
        if by not in list_colourings(sweep, labels, error):
            return colour_returns(sweep, "range", labels), f"{sweep.sensor or 'this log'} knows no {by}; shown by range"
        return colour_returns(sweep, by, labels, error=error), ""

    def _fit_firings(self, sweep: Sweep) -> None:
        count = max(len(np.unique(find_firings(sweep))), 1)
        if self.firing.max != count:
            all_shown = self.firing.value >= self.firing.max
            self.firing.max = count
            self.firing.value = count if all_shown else min(int(self.firing.value), count)

    def _fired(self, sweep: Sweep) -> Array:
        """The returns (n,) of the firings up to the control."""
        if self.firing.value >= self.firing.max or len(sweep) == 0:
            return np.ones(len(sweep), bool)
        firing = find_firings(sweep)
        moments = np.unique(firing)
        last = moments[max(int(len(moments) * self.firing.value / self.firing.max) - 1, 0)]
        return np.asarray(firing[sweep.beam] <= last)

    def _find_places(self, sweeps: list[Sweep]) -> list[dict[Stage, Array]]:
        """The stages that each sweep is shown on, and by how much it is put aside there."""
        here = {self.stage: np.zeros(3)}
        if len(sweeps) == 1:
            return [here]
        how = self.arrange.value
        if self.twin is not None:
            there = {self.twin: np.zeros(3)}
            return [there if how == BESIDE else {**there, **here}, here]
        if how != BESIDE:
            return [here if how in (OVER, FIRST) else {}, here if how in (OVER, SECOND) else {}]
        reach = max(float(np.quantile(np.abs(sweep.points[:, 1]), 0.95)) if len(sweep) else 10.0 for sweep in sweeps)
        left = sweeps[0].pose[:3, 1] * [1.0, 1.0, 0.0]
        return [{self.stage: 1.1 * reach * left}, {self.stage: -1.1 * reach * left}]

    def _describe(self, sweeps: list[Sweep], coloured: ReturnColours) -> str:
        lines = []
        for name, sweep in zip(self.names, sweeps, strict=True):
            returns = f"{len(sweep):,} returns on {sweep.n_beams:,} beams"
            lines.append(f"**{name}**: {sweep.sensor or 'sweep'} at {sweep.timestamp:.2f} s, {returns}")
        swatch = " ".join(f'<span style="color:{colour}">&#9632;</span> {name}' for name, colour in coloured.entries)
        return "\n\n".join([*lines, f"{coloured.legend} {swatch}"])

    def _on_click(self, stage: Stage, panel: RangePanel, origin: Array, direction: Array) -> None:
        beam = panel.find_clicked(origin, direction)
        if beam is not None:
            self._show_beam(self._find_log(panel), beam)
            return
        best: tuple[float, int, int] | None = None
        for cloud in self._clouds:
            row = find_clicked(cloud.points, origin, direction) if cloud.stage is stage else None
            if row is not None:
                away = float(np.linalg.norm(cloud.points[row] - origin))
                if best is None or away < best[0]:
                    best = (away, cloud.log, int(cloud.sweep.beam[row]))
        if best is None:
            self.about.content = "no return near there; empty beams are found in the range image"
            return
        self._show_beam(best[1], best[2])

    def _find_log(self, panel: RangePanel) -> int:
        """The number of the log whose range image a panel shows."""
        if len(self.range_panels) == 2:
            return self.range_panels.index(panel)
        return self._clouds[0].log

    def _show_beam(self, log: int, beam: int) -> None:
        """Mark a beam of the sweep of a log in the scenes and range images, and describe it.

        Where the other log fired the same beams, its beam is marked and described too.
        """
        self._beam = (log, beam)
        self._mark()
        chosen = next(cloud.sweep for cloud in self._clouds if cloud.log == log)
        texts = []
        for at in sorted({cloud.log for cloud in self._clouds}):
            sweep = next(cloud.sweep for cloud in self._clouds if cloud.log == at)
            if at == log or fired_same_beams(chosen, sweep):
                name = f"**{self.names[at]}**\n\n" if len(self.logs) == 2 else ""
                texts.append(name + describe_beam(sweep, beam, self.logs[at].labels))
        self.about.content = "\n\n".join(texts)

    def _mark(self) -> None:
        """Draw the range images, and the chosen beam where it was fired."""
        chosen = next((cloud.sweep for cloud in self._clouds if self._beam and cloud.log == self._beam[0]), None)
        for cloud in self._clouds:
            marked = None
            if self._beam and chosen is not None and self._beam[1] < cloud.sweep.n_beams:
                marked = self._beam[1] if cloud.sweep is chosen or fired_same_beams(chosen, cloud.sweep) else None
            line, ends = np.zeros((0, 2, 3)), np.zeros((0, 3))
            if marked is not None:
                segment, ends = draw_beam(cloud.sweep, marked)
                line = segment[None]
            cloud.stage.lines(f"/beam/{cloud.log}/line", line, _BEAM, cloud.shift)
            cloud.stage.points(f"/beam/{cloud.log}/returns", ends, np.array(_BEAM, np.uint8), 0.15, cloud.shift)
            for panel in self.range_panels:
                if panel.stage is cloud.stage and self._find_log(panel) == cloud.log:
                    panel.draw(cloud.sweep, cloud.coloured.rgb, marked)

    def _play(self) -> None:
        self._playing.set()
        if not self.play.value:
            return
        self._playing = threading.Event()
        threading.Thread(target=self._run, args=(self._playing,), daemon=True).start()

    def _run(self, stopped: threading.Event) -> None:
        """Go on to the next sweep at the pace of the control, or as sweeps can be drawn."""
        while self.play.value and not stopped.wait(1.0 / float(self.speed.value)):
            self.stage.work.finish(5.0)
            self.sweep_slider.value = (self.sweep_number + 1) % len(self.logs[0])
            self.refresh()

    def stop(self) -> None:
        """Stop playing."""
        self._playing.set()
