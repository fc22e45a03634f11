"""`RealismModel`: simulated sweeps made more like the recorded ones, by what was learned from recordings (D, 4.2)."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from resweep.calibration import Calibration
from resweep.errors import InputError, ResweepError
from resweep.labels import LabelSet
from resweep.pose import Array
from resweep.sensors.spec import Receiver
from resweep.simulate.beam_channels import NEEDED, BeamChannels, find_channels
from resweep.simulate.noise import add_noise, draw_noise
from resweep.simulate.raydrop import draw_drop_levels, drop_beams
from resweep.simulate.realism.model_card import RealismCard, read_card
from resweep.simulate.realism.onnx_network import OnnxNetwork
from resweep.sweep import Sweep

_TOLERANCE, _SUM_TOLERANCE = 1e-3, 1e-2  # of probabilities, and of the sum of shares, by the rounding of float32
_STEPS = 4096.0  # of probabilities, which networks give to some six digits
_INTENSITY_STRIDE = 7  # one return in so many is enough for the median intensity
_MAX_INTENSITY_RATIO = 20.0  # to those of training; larger intensities have another unit


class RealismModel:
    """A learned model of a sensor: which of its beams do not return, and the intensity of the others.

    `load_realism` reads one. ``card`` says what it was trained on and how well it does.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.card: RealismCard = read_card(folder)
        self._blind = self.card.blind
        self._networks = {
            name: OnnxNetwork.read(folder, part, self.card.layout) for name, part in self.card.parts.items()
        }
        model = None if self.card.intensity is None else self.card.intensity.light
        self._scatter_levels = None if model is None or model.scatter is None else model.scatter.read(folder)

    def __repr__(self) -> str:
        parts = ", ".join(f"{name} by {part.variant}" for name, part in self.card.parts.items())
        layout = self.card.layout
        return f"RealismModel('{self.folder.name}': {parts}; {layout.rings} rings × {layout.columns} columns)"

    def __reduce__(self) -> tuple[Any, ...]:
        return load_realism, (str(self.folder.absolute()),)

    def only(self, part: str) -> RealismModel:
        """The same without other parts than ``part``, which is ``drop`` or ``intensity`` and must be there."""
        if part not in self._networks:
            raise ResweepError(f"realism: the model '{self.folder.name}' has no part for {part}; learn it with one")
        other = copy.copy(self)
        other.card = self.card.model_copy(update={name: None for name in self._networks if name != part})
        other._networks = {part: self._networks[part]}
        return other

    @property
    def drops(self) -> bool:
        """Whether it predicts which beams do not return."""
        return "drop" in self._networks

    @property
    def predicts_intensity(self) -> bool:
        """Whether it predicts the intensity of returns."""
        return "intensity" in self._networks

    def check(self, sweep: Sweep, labels: LabelSet) -> None:
        """Raise unless the model fits a sweep: its grid, its labels, and the unit of its intensities.

        A transferable model fits any grid.
        """
        if not self.card.transferable:
            self.card.layout.check(sweep, image=any(network.is_image for network in self._networks.values()))
        if self.card.classes and not labels.known:
            raise ResweepError(
                f"realism: the model knows the classes {', '.join(self.card.classes)}, and what labels of this world "
                "mean is unknown; build it with labels, or learn a model without"
            )
        middle = float(np.median(sweep.intensity[::_INTENSITY_STRIDE])) if len(sweep) else 0.0
        if middle > _MAX_INTENSITY_RATIO * self.card.intensity_max:
            raise ResweepError(
                f"realism: the model was learned from intensities up to {self.card.intensity_max:g}, the world has "
                f"a median of {middle:g}; bring both to one unit"
            )

    def check_scale(self, scale: float | None) -> None:
        """Raise unless intensities of this full ``scale`` are those that the model was learned from, if both are known.

        A `Log` knows its scale, and a world built from it has the same.
        """
        own = self.card.intensity_scale
        if scale is not None and own is not None and scale != own:
            raise ResweepError(
                f"realism: the model was learned from intensities of full scale {own:g}, those of the log have "
                f"{scale:g}; learn a model from logs of that scale"
            )

    def find_channels(
        self, sweep: Sweep, labels: LabelSet, incidence_exponent: float = 1.0, range_max_m: float | None = None
    ) -> BeamChannels:
        """The channels of a sweep that the model takes; ``range_max_m`` is the maximum range of its sensor."""
        found = find_channels(sweep, labels, bool(self.card.classes), incidence_exponent)
        if self.card.transferable:
            return found.transferred(self._find_range_max(sweep, range_max_m))
        return found if self._blind is None else found.with_blind(self._blind)

    def _find_range_max(self, sweep: Sweep, range_max_m: float | None) -> float:
        """The maximum range of the sensor of a sweep: given, or that of the training where both sensors are one."""
        if range_max_m is not None:
            return range_max_m
        assert self.card.range_max_m is not None
        try:
            self.card.layout.check(sweep, image=False)
        except ResweepError as error:
            raise ResweepError(
                "realism: the model takes ranges relative to the maximum range, and that of this sweep's sensor is "
                "unknown; give the sensor"
            ) from error
        return self.card.range_max_m

    def predict_drops(self, channels: BeamChannels, threads: int = 0) -> Array:
        """The probability (b,) float32 that each beam is dropped; NaN where nothing returned anyway."""
        found = np.full(len(channels), np.nan, np.float32)
        drop = np.zeros(len(channels), np.float32)
        if self.drops:
            network = self._networks["drop"]
            given = network.run(channels, threads)
            self._check_range("drop", given, "probabilities")
            drop = network.part.draw_by(given, channels)
        rounded = np.round(np.clip(drop, 0.0, 1.0) * np.float32(_STEPS)) / np.float32(_STEPS)
        return np.where(channels.occupied, rounded, found)

    def run(
        self,
        sweep: Sweep,
        labels: LabelSet,
        *,
        seed: int,
        index: int,
        threads: int = 0,
        receiver: Receiver | None = None,
        calibration: Calibration | None = None,
        range_max_m: float | None = None,
    ) -> Sweep:
        """The sweep as the model makes it; ``labels`` say what its labels mean.

        Intensities are drawn from what was learned, and ranges scatter as they did, less the noise that ``receiver``
        has added already. ``calibration`` is that of the world, which has the law by which intensities fall with
        incidence. ``range_max_m`` is the maximum range of the sensor, for transferable models; None if it is unknown.

        A beam is dropped, with all its returns, if the number drawn for it by ``seed`` and ``index`` of the sweep lies
        below its probability (D: sampled, not thresholded). Its status is then `BeamStatus.DROPPED_BY_MODEL`.
        ``beam_extra["drop_probability"]`` (b,) has that of every beam, and ``extra["drop_probability"]`` that of each
        return. Of several returns on a beam the first is looked at.
        """
        self.check(sweep, labels)
        incidence_exponent = None if calibration is None else calibration.incidence_exponent
        channels = self.find_channels(sweep, labels, incidence_exponent or 1.0, range_max_m)
        extra = {name: values for name, values in sweep.extra.items() if name not in NEEDED}
        intensity = (
            self._draw_intensity(sweep, channels, seed, index, threads) if self.predicts_intensity else sweep.intensity
        )
        ranges = self._scatter(sweep, channels, receiver, seed, index)
        sweep = replace(sweep, extra=extra, intensity=intensity, range=ranges)
        if not self.drops:
            return sweep
        probability = self.predict_drops(channels, threads)
        level = draw_drop_levels(channels, self._networks["drop"].part.drop_patches, seed=seed, index=index)
        return drop_beams(sweep, channels, probability, level)

    def predict_intensities(self, channels: BeamChannels, threads: int = 0) -> Array:
        """The shares (b, k) of the bins of intensity of each beam (`IntensityModel`); 0 where nothing returned."""
        shares = self._networks["intensity"].run(channels, threads)
        self._check_range("intensity", shares, "shares of bins")
        whole = shares[channels.occupied].sum(axis=1)
        if len(whole) and float(np.abs(whole - 1).max()) > _SUM_TOLERANCE:
            raise InputError(
                f"{self._name('intensity')}: gives shares of bins that add up to {float(whole.min()):.3g} to "
                f"{float(whole.max()):.3g}, not to 1; learn the model again"
            )
        return shares

    def _check_range(self, name: str, values: Array, what: str) -> None:
        """Raise unless what a network gives lies within 0 and 1."""
        low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
        if low < -_TOLERANCE or high > 1 + _TOLERANCE:
            raise InputError(
                f"{self._name(name)}: gives {what} from {low:.3g} to {high:.3g}, expected 0 to 1; learn the model again"
            )

    def _name(self, part: str) -> str:
        """The file of a network, for errors."""
        return str(self.folder / self.card.parts[part].file)

    def _draw_intensity(self, sweep: Sweep, channels: BeamChannels, seed: int, index: int, threads: int) -> Array:
        """The intensities (n,) of the returns of a sweep, drawn from what was learned."""
        model = self._networks["intensity"].part.light
        assert model is not None  # the card was checked
        first = np.flatnonzero(sweep.return_index == 0)
        beams = sweep.beam[first]
        points = np.zeros((sweep.n_beams, 3))
        points[beams] = sweep.world_points()[first]
        level = model.draw_levels(channels, points, self._scatter_levels, seed=seed, index=index)
        learned = model.round(sweep.intensity)
        learned[first] = model.draw(self.predict_intensities(channels, threads)[beams], level[beams])
        return learned

    def _scatter(self, sweep: Sweep, channels: BeamChannels, receiver: Receiver | None, seed: int, index: int) -> Array:
        """The ranges (n,) of the returns of a sweep, with the noise that was learned."""
        noise = self.card.noise
        if noise is None:
            return sweep.range
        added = draw_noise(noise, channels, receiver, seed=seed, index=index)
        return add_noise(sweep.range, added[sweep.beam], noise.step_m)


def load_realism(path: str | Path) -> RealismModel:
    """The learned model in a folder that ``resweep learn raydrop`` wrote; nothing in it runs but arithmetic of ONNX.

    Example: ``rs.Simulator(world, "velodyne-hdl-64e", realism=rs.load_realism("kitti.model"))``
    """
    folder = Path(path)
    if not folder.is_dir():
        raise InputError(f"{path}: there is no such folder; give the one that 'resweep learn' wrote")
    return RealismModel(folder)
