"""Banks and sensors in the browser."""

from __future__ import annotations

import numpy as np

from resweep.pose import Array
from resweep.scenario import Asset, Bank
from resweep.sensors import Sensor, fire, sensor_names
from resweep.viewer.pages.stage import Stage
from resweep.viewer.scene.levels import BUDGET
from resweep.viewer.scene.primitives import ShownWorld
from resweep.viewer.scene.return_colours import colour_table
from resweep.worlds import World

MAX_ASSETS = 120
_GAP_M = 2.0
_RADIUS_M = 10.0


class BankPage:
    """The objects of a bank on a stage, in rows, the best known first."""

    def __init__(self, stage: Stage, bank: Bank, budget: int = BUDGET) -> None:
        self.stage, self.bank = stage, bank
        names = [name for group in bank.categories.values() for name in sorted(group, key=self._rank)]
        self.names = names[:MAX_ASSETS]
        left = f"; the first {MAX_ASSETS} of {len(names)}" if len(names) > MAX_ASSETS else ""
        kinds = ", ".join(f"{len(group)} {category}" for category, group in bank.categories.items())
        stage.gui.add_markdown(f"**{len(bank)} objects**: {kinds}{left}")
        self.table = stage.gui.add_markdown("")
        self.places = arrange_assets([bank.facts(name)["size_m"] for name in self.names])
        each = max(1000, budget // max(len(self.names), 1))
        lines = ["| object | size [m] | returns |", "|---|---|---|"]
        for name, place in zip(self.names, self.places, strict=True):
            asset = bank[name]
            self._show(asset, place, each)
            size = " × ".join(f"{value:.2f}" for value in asset.size_m)
            lines.append(f"| {name} | {size} | {asset.n_points or 'mesh'} |")
        self.table.content = "\n".join(lines)
        middle = self.places.mean(axis=0) if len(self.places) else np.zeros(3)
        span = float(np.ptp(self.places[:, :2], axis=0).max()) if len(self.places) else 0.0
        stage.look(middle + np.array([-0.6, -0.8, 0.7]) * (8.0 + span), middle)

    def _rank(self, name: str) -> tuple[int, str]:
        return -int(self.bank.facts(name)["n_points"]), name

    def _show(self, asset: Asset, place: Array, budget: int) -> None:
        shown = ShownWorld(World(asset.layers, place, labels=asset.labels), self.stage.centre, budget)
        if shown.n_primitives:
            near = self.stage.local(place)
            self.stage.discs(f"/bank/{asset.name}", shown.choose(near, "reflectance"), near)
        for at, mesh in enumerate(shown.meshes()[0]):
            self.stage.mesh(f"/bank/{asset.name}/mesh {at}", mesh)
        label_place = self.stage.local(place + np.array([0.0, 0.0, asset.size_m[2] + 0.5]))
        self.stage.scene.add_label(f"/bank/{asset.name}/label", asset.name, position=tuple(label_place.tolist()))


def arrange_assets(sizes: list[list[float]]) -> Array:
    """Places (k, 3) in rows on the ground, so that objects of these sizes stand clear of each other."""
    columns = max(1, int(np.ceil(np.sqrt(len(sizes)))))
    places = []
    x = 0.0
    for first in range(0, len(sizes), columns):
        row = sizes[first : first + columns]
        y, length = 0.0, max(size[0] for size in row)
        for size in row:
            y += size[1] / 2
            places.append([x + length / 2, y, 0.0])
            y += size[1] / 2 + _GAP_M
        x += length + _GAP_M
    return np.array(places, np.float64).reshape(-1, 3)


class SensorPage:
    """The firing pattern of a sensor on a stage: where each beam points, in the order of firing."""

    def __init__(self, stage: Stage, sensor: Sensor) -> None:
        self.stage, self.given = stage, sensor
        names = sensor_names()
        names = names if sensor.name in names else [sensor.name, *names]
        self.choice = stage.gui.add_dropdown("sensor", names, initial_value=sensor.name)
        self.firing = stage.gui.add_slider("share fired [%]", 0.5, 100.0, 0.5, 100.0)
        self.facts = stage.gui.add_markdown("")
        for control in (self.choice, self.firing):
            control.on_update(lambda _: stage.work.ask("sensor", self.draw))
        stage.scene.add_frame("/axes", axes_length=2.0, axes_radius=0.05)
        stage.look(np.array([-18.0, -18.0, 14.0]), np.zeros(3))
        stage.work.ask("sensor", self.draw)

    def draw(self) -> None:
        """Show the pattern of the chosen sensor."""
        from resweep.sensors import load_sensor

        name = str(self.choice.value)
        sensor = self.given if name == self.given.name else load_sensor(name)
        firing = fire(sensor)
        count = max(1, int(len(firing) * float(self.firing.value) / 100.0))
        order = np.argsort(firing.time, kind="stable")[:count]
        share = firing.time[order] / max(float(firing.time.max()), 1e-12)
        rgb = colour_table("plasma")[np.rint(255 * share).astype(np.int64)]
        self.stage.points("/beams", _RADIUS_M * firing.direction[order].astype(np.float64), rgb, 0.03)
        self.facts.content = (
            f"**{sensor.name}**: {len(firing):,} beams a sweep of {1e3 * sensor.sweep_period_s:.0f} ms, "
            f"{firing.n_rings} rings, {sensor.range_min_m:g} to {sensor.range_max_m:g} m; colour: when it fires"
        )
