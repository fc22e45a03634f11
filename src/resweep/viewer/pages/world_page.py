"""A world in the browser, with a sensor that is dragged through it and sweeps it live."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from resweep.pose import Array, Trajectory, inverse, transform
from resweep.scenario import Actor
from resweep.sensors import Sensor, load_sensor, sensor_names
from resweep.simulate import Simulator
from resweep.sweep import Sweep
from resweep.viewer.pages.range_panel import RangePanel
from resweep.viewer.pages.stage import Stage
from resweep.viewer.scene.clicked_beam import describe_beam, draw_beam, find_clicked, trace_beam
from resweep.viewer.scene.levels import BUDGET
from resweep.viewer.scene.outlines import outline_boxes, outline_path
from resweep.viewer.scene.primitives import ShownWorld
from resweep.viewer.scene.return_colours import colour_returns, list_colourings
from resweep.worlds import World

SENSOR = "velodyne-hdl-32e"
SPLATS, POINTS, ELLIPSOIDS, HIDDEN = "splats", "points", "ellipsoids", "hidden"
_REST_S = 0.5  # after which a sensor that was dragged counts as resting
_BEAM, _BOX, _PATH = (255, 255, 255), (255, 196, 0), (120, 200, 255)
_LIVE_COLOURINGS = ("range", "height", "intensity", "ring", "time", "label", "instance", "return number",
                    "primitive kind", "confidence")  # fmt: skip


class WorldPage:
    """A world on a stage: its primitives by level of detail, and a live sensor at ``pose`` (``T_world_sensor``)."""

    def __init__(
        self,
        stage: Stage,
        world: World,
        pose: Array,
        *,
        sensor: Sensor | str = SENSOR,
        actors: Sequence[Actor] = (),
        path: Trajectory | None = None,
        budget: int = BUDGET,
    ) -> None:
        self.stage, self.world, self.pose = stage, world, np.array(pose, np.float64)
        self.shown = ShownWorld(world, stage.centre, budget)
        self.actors = tuple(actors)
        self._sensor = load_sensor(sensor) if isinstance(sensor, str) else sensor
        self._simulator: Simulator | None = None
        self.path = path
        self.sweep: Sweep | None = None
        self.latency_ms = 0.0
        self._rest: threading.Timer | None = None
        self._single: tuple[Sensor, Simulator] | None = None
        self._points: Array = np.zeros((0, 3))
        self._rgb: Array = np.zeros((0, 3), np.uint8)
        self._eye = stage.local(pose[:3, 3]).astype(np.float64)
        self.range_panel = RangePanel(stage)
        self._meshes_left_out = self._add_meshes()
        self._add_controls()
        self._add_sensor()
        ahead = self.pose[:3, 0] * [1.0, 1.0, 0.0]
        stage.look(self.pose[:3, 3] - 22.0 * ahead + [0.0, 0.0, 14.0], self.pose[:3, 3] + 4.0 * ahead)
        stage.on_click(self._on_click)
        stage.on_camera_move(self._look)
        if path is not None and len(path) > 1:
            stage.lines("/trajectory", outline_path(path.poses), _PATH)
        self.refresh_world()
        self.refresh_sweep()

    @property
    def simulator(self) -> Simulator:
        """What sweeps the world; built when first asked for, so that a large world is seen before it can be swept."""
        if self._simulator is None:
            self.status.content = "preparing the world for the sensor ..."
            self._simulator = Simulator(self.world, self._sensor, actors=self.actors)
        return self._simulator

    def refresh_world(self) -> None:
        """Show the world again by the controls, soon."""
        self.stage.work.ask("world", self.draw_world)

    def refresh_sweep(self) -> None:
        """Sweep again from where the sensor is, soon."""
        self.stage.work.ask("sweep", self.draw_sweep)

    def drag(self) -> None:
        """Sweep by single rays while the sensor is dragged, and by its whole beams once it rests."""
        if not self.live.value:
            return
        if self._rest is not None:
            self._rest.cancel()
        self.stage.work.ask("sweep", lambda: self.draw_sweep(quick=True))
        self._rest = threading.Timer(_REST_S, self.refresh_sweep)
        self._rest.daemon = True
        self._rest.start()

    def _add_controls(self) -> None:
        gui = self.stage.gui
        with gui.add_folder("world"):
            forms = [SPLATS, POINTS, *([ELLIPSOIDS] if self.shown.volumes else []), HIDDEN]
            self.form = gui.add_dropdown("primitives", forms, initial_value=SPLATS)
            self.colour = gui.add_dropdown("colour", self.shown.list_colourings())
            self.counts = gui.add_markdown("")
        with gui.add_folder("sensor"):
            names = sensor_names()
            own = self._sensor.name
            names = names if own in names else [own, *names]
            self.sensor = gui.add_dropdown("sensor", names, initial_value=own)
            self.live = gui.add_checkbox("sweep while dragged", True)
            self.sweep_colour = gui.add_dropdown("colour by", _LIVE_COLOURINGS, initial_value="range")
            self.size = gui.add_slider("point size", 0.01, 0.3, 0.01, 0.06)
            self.time: Any = None
            if self.actors:
                first, last = self._find_times()
                self.time = gui.add_slider("time [s]", first, max(last, first + 0.01), 0.01, first)
                self.time.on_update(lambda _: self.refresh_sweep())
            self.status = gui.add_markdown("")
        self.range_panel.add(gui, self._show_beam)
        self.about = gui.add_markdown("click a return, a place in the world, or a pixel of the range image")
        for control in (self.form, self.colour):
            control.on_update(lambda _: self.refresh_world())
        for control in (self.sweep_colour, self.size):
            control.on_update(lambda _: self.stage.work.ask("colours", self._recolour))
        self.sensor.on_update(lambda _: self.stage.work.ask("sensor", self._change_sensor))

    def _find_times(self) -> tuple[float, float]:
        motions = [actor.trajectory for actor in self.actors] + ([self.path] if self.path is not None else [])
        return min(motion.start for motion in motions), max(motion.end for motion in motions)

    def _add_sensor(self) -> None:
        x, y, z, w = Rotation.from_matrix(self.pose[:3, :3]).as_quat()
        place = tuple(self.stage.local(self.pose[:3, 3]).tolist())
        self.handle = self.stage.scene.add_transform_controls("/sensor", 2.0, wxyz=(w, x, y, z), position=place)
        self.stage.scene.add_frame("/sensor/axes", axes_length=1.0, axes_radius=0.03)

        @self.handle.on_update  # type: ignore[untyped-decorator, unused-ignore]
        def _(event: Any) -> None:
            self.drag()

    def _add_meshes(self) -> int:
        meshes, left_out = self.shown.meshes()
        for at, mesh in enumerate(meshes):
            self.stage.mesh(f"/world/mesh {at} {mesh.name}", mesh)
        return left_out

    def _look(self, eye: Array) -> None:
        """Choose the level of detail anew around another eye; small worlds are shown whole anyway."""
        self._eye = eye
        if self.shown.n_primitives > self.shown.budget or self.form.value == ELLIPSOIDS:
            self.draw_world()

    def draw_world(self) -> None:
        """Show the primitives that the level of detail chooses."""
        form = self.form.value
        for name in ("/world/primitives", "/world/ellipsoids"):
            if form == HIDDEN or (form == ELLIPSOIDS) != name.endswith("ellipsoids"):
                self.stage.remove(name)
        if form == ELLIPSOIDS:
            centre, wxyz, half, rgb = self.shown.ellipsoids(self._eye)
            self.stage.ellipsoids("/world/ellipsoids", centre, wxyz, half, rgb)
            self.counts.content = f"{len(centre):,} volumes, the nearest"
            return
        if form == HIDDEN or self.shown.n_primitives == 0:
            self.counts.content = self._describe_meshes()
            return
        chosen = self.shown.choose(self._eye, str(self.colour.value))
        self.stage.discs("/world/primitives", chosen, self._eye, form == POINTS)
        part = "" if len(chosen.centre) == chosen.of else f" of {chosen.of:,}, more where you look"
        self.counts.content = f"{len(chosen.centre):,} primitives{part}. {self._describe_meshes()}"

    def _describe_meshes(self) -> str:
        if not self._meshes_left_out:
            return ""
        return f"{self._meshes_left_out:,} triangles are too many for a browser and left out; sweeps hit them"

    def sensor_pose(self) -> Array:
        """``T_world_sensor`` where the sensor was dragged to."""
        w, x, y, z = self.handle.wxyz
        pose = np.eye(4)
        pose[:3, :3] = Rotation.from_quat([x, y, z, w]).as_matrix()
        pose[:3, 3] = np.asarray(self.handle.position, np.float64) + self.stage.centre
        return pose

    @property
    def _single_ray_simulator(self) -> Simulator:
        """The simulator with one ray a beam."""
        sensor = self.simulator.sensor
        if self._single is None or self._single[0] is not sensor:
            self._single = sensor, self.simulator.with_sensor(sensor.with_(**{"beam.rays": "single"}))
        return self._single[1]

    def draw_sweep(self, quick: bool = False) -> None:
        """Sweep from where the sensor is, and show it; a ``quick`` sweep has one ray a beam and no range image."""
        begun = time.perf_counter()
        pose = self.sensor_pose()
        second = 0.0 if self.time is None else float(self.time.value)
        self.sweep = (self._single_ray_simulator if quick else self.simulator).sweep(pose, start=second)
        self.pose = pose
        world_points = self.sweep.world_points()
        self._points = self.stage.local(world_points)
        self._recolour(world_points, quick)
        self.latency_ms = 1e3 * (time.perf_counter() - begun)
        beams = self.sweep.n_beams
        unknown = f", {self.sweep.n_unknown / beams:.0%} of the beams look where nothing was recorded" if beams else ""
        self.status.content = (
            f"{len(self.sweep):,} returns on {beams:,} beams{unknown}; swept and sent in {self.latency_ms:.0f} ms"
        )

    def _recolour(self, world_points: Array | None = None, quick: bool = False) -> None:
        if self.sweep is None:
            return
        points = self.sweep.world_points() if world_points is None else world_points
        by = str(self.sweep_colour.value)
        labels = self.world.labels
        known = by in list_colourings(self.sweep, labels)
        coloured = colour_returns(self.sweep, by if known else "range", labels)
        self.stage.show_message("" if known else f"this sweep knows no {by}; shown by range")
        self._rgb = coloured.rgb
        self.stage.points("/sweep", points, coloured.rgb, self.size.value)
        boxes = self.sweep.boxes
        outline = np.zeros((0, 2, 3)) if boxes is None else outline_boxes(boxes, self.sweep.pose)
        self.stage.lines("/boxes", outline, _BOX)
        if not quick:
            self.range_panel.draw(self.sweep, coloured.rgb, None)

    def _change_sensor(self) -> None:
        name = str(self.sensor.value)
        if name != self.simulator.sensor.name:
            self._simulator = self.simulator.with_sensor(name)
        self.draw_sweep()

    def _on_click(self, origin: Array, direction: Array) -> None:
        if self.sweep is None:
            return
        beam = self.range_panel.find_clicked(origin, direction)
        row = find_clicked(self._points, origin, direction) if beam is None else None
        if row is not None:
            beam = int(self.sweep.beam[row])
        if beam is None:
            beam = self._find_beam_towards(origin, direction)
        if beam is None:
            self.about.content = "nothing is there"
            return
        self._show_beam(beam)

    def _find_beam_towards(self, origin: Array, direction: Array) -> int | None:
        """The beam that points nearest to what a click's ray hits in the traced scene."""
        assert self.sweep is not None
        start = np.asarray(origin + self.stage.centre - self.world.origin, np.float32)[None]
        ray = np.asarray(direction / np.linalg.norm(direction), np.float32)[None]
        with self.simulator.tracer.covering(np.asarray(origin + self.stage.centre)[None]) as scene:
            distance = float(scene.intersect(start, ray, 1000.0)["range"][0])
        if not np.isfinite(distance):
            return None
        place = origin + self.stage.centre + distance * ray[0].astype(np.float64)
        towards = transform(inverse(self.sweep.pose), place[None])[0]
        return int(np.argmax(self.sweep.beam_direction @ (towards / np.linalg.norm(towards))))

    def stop(self) -> None:
        """Wait for no rest any more."""
        if self._rest is not None:
            self._rest.cancel()

    def _show_beam(self, beam: int) -> None:
        assert self.sweep is not None
        line, ends = draw_beam(self.sweep, beam)
        self.stage.lines("/beam/line", line[None], _BEAM)
        self.stage.points("/beam/returns", ends, np.array(_BEAM, np.uint8), 0.15)
        second = 0.0 if self.time is None else float(self.time.value)
        hits = trace_beam(self.simulator, self.pose, beam, self.world.labels, second=second)
        self.about.content = describe_beam(self.sweep, beam, self.world.labels, hits)
        self.range_panel.draw(self.sweep, self._rgb, beam)
