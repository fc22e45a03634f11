"""Logs in the browser: sweeps over time, coloured by what they know, one or two of them."""

from __future__ import annotations

import threading
from collections import OrderedDict

import numpy as np

from resweep.labels import LabelSet
from resweep.log import Log
from resweep.pose import Array
from resweep.sweep import Sweep
from resweep.viewer.pages.range_panel import RangePanel
from resweep.viewer.pages.stage import Stage
from resweep.viewer.scene.beams import describe_beam, draw_beam, find_clicked
from resweep.viewer.scene.colours import Coloured, colour_returns, list_colourings
from resweep.viewer.scene.outlines import outline_boxes, outline_path
from resweep.viewer.scene.pairing import find_errors, find_nearest_sweep

BESIDE, OVER, FIRST, SECOND = "side by side", "over each other", "first only", "second only"
_KEPT = 12  # sweeps that are kept
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


class LogPage:
    """One log, or a recorded and a simulated one, on a stage."""

    def __init__(self, stage: Stage, logs: list[tuple[str, Log]], first_sweep: int = 0) -> None:
        self.stage = stage
        self.names, self.logs = [name for name, _ in logs], [log for _, log in logs]
        self._sweeps: OrderedDict[tuple[int, int], Sweep] = OrderedDict()
        self._beam: tuple[int, int] | None = None
        self._playing = threading.Event()
        self._clouds: list[tuple[Sweep, Array, Coloured]] = []
        self.range_panel = RangePanel(stage)
        self._add_controls(min(max(first_sweep, 0), len(self.logs[0]) - 1))
        for at, log in enumerate(self.logs):
            if log.poses_known and len(log) > 1:
                stage.lines(f"/trajectory/{at}", outline_path(log.poses), _PATH)
        stage.on_click(self._click)
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
        self.stage.look(pose[:3, 3] - 22.0 * ahead + [0.0, 0.0, 14.0], pose[:3, 3] + 4.0 * ahead)

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
                self.arrange = gui.add_dropdown("arrange", (BESIDE, OVER, FIRST, SECOND), initial_value=BESIDE)
                self.arrange.on_update(lambda _: self.refresh())
            self.boxes = gui.add_checkbox("boxes", True)
            self.path = gui.add_checkbox("trajectory", True)
        self.legend = gui.add_markdown("")
        self.range_panel.add(self._click_beam)
        self.about = gui.add_markdown("click a point, or a pixel of the range image in the scene")
        for control in (self.sweep_slider, self.colour, self.size, self.boxes, self.firing):
            control.on_update(lambda _: self.refresh())
        self.path.on_update(lambda _: self.stage.show("/trajectory", self.path.value))
        self.play.on_update(lambda _: self._play())

    def _choose_colour(self) -> str:
        sweep = self.load(0, 0)
        found = list_colourings(sweep, self.logs[0].labels)
        return "label" if "label" in found else "intensity" if "intensity" in found else "range"

    def load(self, log: int, number: int) -> Sweep:
        """A sweep of one of the logs; the latest ones are kept."""
        key = (log, number)
        if key not in self._sweeps:
            self._sweeps[key] = self.logs[log][number]
            while len(self._sweeps) > _KEPT:
                self._sweeps.popitem(last=False)
        return self._sweeps[key]

    def refresh(self) -> None:
        """Draw again what the controls say, soon."""
        self.stage.work.ask("draw", self.draw)

    def draw(self) -> None:
        """Draw what the controls say."""
        number = self.sweep_number
        pairs = [(0, number)]
        if len(self.logs) == 2:
            pairs.append((1, self._pair(number)))
        sweeps = [self.load(*pair) for pair in pairs]
        self._fit_firings(sweeps[0])
        shifts = self._find_shifts(sweeps)
        clouds: list[tuple[Sweep, Array, Coloured]] = []
        messages = []
        for at, (sweep, shift) in enumerate(zip(sweeps, shifts, strict=True)):
            if shift is None:
                self.stage.remove(f"/sweep/{at}")
                self.stage.remove(f"/boxes/{at}")
                continue
            other = sweeps[1 - at] if len(sweeps) == 2 else None
            coloured, note = self._colour(sweep, self.logs[at].labels, other)
            messages += [note] if note else []
            keep = self._fired(sweep)
            points = sweep.world_points()
            self.stage.points(f"/sweep/{at}", points[keep], coloured.rgb[keep], self.size.value, shift)
            clouds.append((sweep, self.stage.local(points) + shift, coloured))
            shown = self.boxes.value and sweep.boxes is not None
            outline = (
                outline_boxes(sweep.boxes, sweep.pose) if shown and sweep.boxes is not None else np.zeros((0, 2, 3))
            )
            self.stage.lines(f"/boxes/{at}", outline, _BOX, shift)
        self.stage.say(messages[0] if messages else "")
        self._clouds = clouds
        sweep, _, coloured = clouds[0]
        self.legend.content = self._describe(sweeps, coloured)
        self.range_panel.draw(sweep, coloured.rgb, self._beam[1] if self._beam else None)

    def _pair(self, number: int) -> int:
        """The sweep of the second log that goes with one of the first."""
        one, other = self.logs
        if len(one) == len(other):
            return number
        return find_nearest_sweep(one.poses[number], other.poses)

    def _colour(self, sweep: Sweep, labels: LabelSet, other: Sweep | None) -> tuple[Coloured, str]:
        """The colours of a sweep by the control, or by range with a word on why not."""
        by = str(self.colour.value)
        error = find_errors(sweep, other) if by == "error" and other is not None else None
        if by not in list_colourings(sweep, labels, error):
            return colour_returns(sweep, "range", labels), f"{sweep.sensor or 'this log'} knows no {by}; shown by range"
        return colour_returns(sweep, by, labels, error=error), ""

    def _fit_firings(self, sweep: Sweep) -> None:
        count = max(len(np.unique(sweep.beam_time)), 1)
        if self.firing.max != count:
            all_shown = self.firing.value >= self.firing.max
            self.firing.max = count
            self.firing.value = count if all_shown else min(int(self.firing.value), count)

    def _fired(self, sweep: Sweep) -> Array:
        """The returns (n,) of the firings up to the control."""
        if self.firing.value >= self.firing.max or len(sweep) == 0:
            return np.ones(len(sweep), bool)
        moments = np.unique(sweep.beam_time)
        last = moments[min(int(len(moments) * self.firing.value / self.firing.max), len(moments) - 1)]
        return np.asarray(sweep.time <= last)

    def _find_shifts(self, sweeps: list[Sweep]) -> list[Array | None]:
        """Where each sweep is put aside; None for one that is not shown."""
        if len(sweeps) == 1:
            return [np.zeros(3)]
        how = self.arrange.value
        if how in (FIRST, SECOND):
            return [np.zeros(3), None] if how == FIRST else [None, np.zeros(3)]
        if how == OVER:
            return [np.zeros(3), np.zeros(3)]
        reach = max(float(np.quantile(np.abs(sweep.points[:, 1]), 0.95)) if len(sweep) else 10.0 for sweep in sweeps)
        left = sweeps[0].pose[:3, 1] * [1.0, 1.0, 0.0]
        return [1.1 * reach * left, -1.1 * reach * left]

    def _describe(self, sweeps: list[Sweep], coloured: Coloured) -> str:
        lines = []
        for name, sweep in zip(self.names, sweeps, strict=True):
            returns = f"{len(sweep):,} returns on {sweep.n_beams:,} beams"
            lines.append(f"**{name}**: {sweep.sensor or 'sweep'} at {sweep.timestamp:.2f} s, {returns}")
        swatch = " ".join(f'<span style="color:{colour}">&#9632;</span> {name}' for name, colour in coloured.entries)
        return "\n\n".join([*lines, f"{coloured.legend} {swatch}"])

    def _click(self, origin: Array, direction: Array) -> None:
        beam = self.range_panel.find_clicked(origin, direction)
        if beam is not None:
            self._click_beam(beam)
            return
        best: tuple[float, int, int] | None = None
        for at, (sweep, points, _) in enumerate(self._clouds):
            row = find_clicked(points, origin, direction)
            if row is not None:
                away = float(np.linalg.norm(points[row] - origin))
                if best is None or away < best[0]:
                    best = (away, at, int(sweep.beam[row]))
        if best is None:
            self.about.content = "no return near there; empty beams are found in the range image"
            return
        self._show_beam(best[1], best[2])

    def _click_beam(self, beam: int) -> None:
        self._show_beam(0, beam)

    def _show_beam(self, at: int, beam: int) -> None:
        """Mark a beam of the ``at``-th shown sweep in the scene and in the range image, and say what it is."""
        sweep, points, coloured = self._clouds[at]
        shift = points[0] - self.stage.local(sweep.world_points()[:1])[0] if len(points) else np.zeros(3)
        line, ends = draw_beam(sweep, beam)
        self._beam = (at, beam)
        self.stage.lines("/beam/line", line[None], _BEAM, shift)
        self.stage.points("/beam/returns", ends, np.array(_BEAM, np.uint8), 0.15, shift)
        number = next(i for i, log in enumerate(self.logs) if any(sweep is held for held in self._held(i)))
        self.about.content = describe_beam(sweep, beam, self.logs[number].labels)
        if at == 0:
            self.range_panel.draw(sweep, coloured.rgb, beam)

    def _held(self, log: int) -> list[Sweep]:
        return [sweep for (which, _), sweep in self._sweeps.items() if which == log]

    def _play(self) -> None:
        self._playing.set()
        if not self.play.value:
            return
        self._playing = threading.Event()
        threading.Thread(target=self._run, args=(self._playing,), daemon=True).start()

    def _run(self, stopped: threading.Event) -> None:
        """Go on to the next sweep as fast as the control says, or as sweeps can be drawn."""
        while self.play.value and not stopped.wait(1.0 / float(self.speed.value)):
            self.stage.work.finish(5.0)
            self.sweep_slider.value = (self.sweep_number + 1) % len(self.logs[0])
            self.refresh()

    def stop(self) -> None:
        """Stop playing."""
        self._playing.set()
