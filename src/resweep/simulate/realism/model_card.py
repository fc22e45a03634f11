"""The card of a learned model: what it was trained on, what it takes and gives, and how well it does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from resweep.calibration import BLIND_BINS
from resweep.config import Share, Spec, validate
from resweep.errors import InputError, SettingsError
from resweep.files import write_file
from resweep.files.untrusted import read_json
from resweep.pose import Array
from resweep.quantities import MAX_COUNT, Number, Positive
from resweep.sensor_scatter import RangeNoise
from resweep.simulate.beam_channels import CHANNELS, CLASSES, TRANSFERABLE, BeamChannels
from resweep.simulate.intensity import IntensityModel
from resweep.simulate.raydrop import DropPatches
from resweep.simulate.sensor_grid import SensorGrid

CARD = "card.json"
_TELLING = ("brier", "log_loss", "intensity_crps")  # proper scores, lower is better: those of drops, and of intensities
_Name = Annotated[str, Field(pattern=r"^[a-z0-9_-]+\.onnx$")]


class NetworkCard(Spec):
    """One network of a model.

    ``kind`` is ``ray`` if it looks at beams by themselves, and ``image`` if at the whole sweep as rings × columns.
    """

    file: _Name
    """The ONNX file, beside the card."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """Hash of that file."""
    kind: Literal["ray", "image"]
    """Beams by themselves, or whole sweeps."""
    variant: str
    """Its architecture, such as mlp or unet."""
    channels: tuple[str, ...] = CHANNELS
    """What it takes of each beam, in order."""
    normalisation: dict[str, tuple[Number, Number]] = Field(default_factory=dict)
    """Mean and spread by which its channels are normalised within the network."""
    parameters: Annotated[int, Field(ge=0, le=MAX_COUNT)] = 0
    """Number of its weights."""
    temperature: Positive = 1.0
    """By which its logits are divided, within the network."""
    scores: dict[str, Number] = Field(default_factory=dict)
    """Scores on the held-out places."""
    default_scores: dict[str, Number] = Field(default_factory=dict)
    """Scores there of what simulation draws without a learned model; none if the worlds know no scatter."""
    ring_correlation: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0
    """Of a drop network without ``patches``: their ``along``."""
    patches: DropPatches | None = None
    """Of a drop network: how often neighbours share a draw, as drops come in patches."""
    volume_drops: Share = 1.0
    """Of a drop network: share of the predicted drops that are drawn where a permeable volume returned.

    Beams pass volumes by chance, in reality and in simulation at different places. Drops by that chance are predicted
    too, and simulation has as many of its own."""
    light: IntensityModel | None = None
    """Of an intensity network: what its outputs mean."""

    @property
    def outputs(self) -> int:
        """What it gives of each beam: one probability, or the shares of bins of intensity."""
        return 1 if self.light is None else len(self.light.means)

    @property
    def improves(self) -> bool | None:
        """Whether all scores that tell are better than those of the default scatter; None if it has none."""
        told = [name for name in _TELLING if name in self.scores and name in self.default_scores]
        return all(self.scores[name] < self.default_scores[name] for name in told) if told else None

    @property
    def drop_patches(self) -> DropPatches:
        """How often neighbours share a draw."""
        if self.patches is not None:
            return self.patches
        return DropPatches(along=self.ring_correlation, across=0.0)

    def draw_by(self, probability: Array, channels: BeamChannels) -> Array:
        """The chance (b,) by which beams are dropped, from the probability (b,) that a drop network gives."""
        return np.where(channels.surface, probability, probability * np.float32(self.volume_drops))

    @model_validator(mode="after")
    def _check(self) -> NetworkCard:
        if self.channels != CHANNELS:
            raise SettingsError("channels", f"this version has {', '.join(CHANNELS)}; learn the model again")
        return self


class RealismCard(Spec):
    """The card of a model: what it was learned from, its networks and their scores."""

    format: Literal["resweep-realism"] = "resweep-realism"
    """What the file is."""
    version: Literal[2] = 2
    """Version of the format."""
    resweep: str = ""
    """Version of Resweep that made it."""
    layout: SensorGrid
    """The grid of the sensor it was learned from."""
    classes: tuple[str, ...] = CLASSES
    """Names of the semantic classes; none if it was learned without labels."""
    labels: str = ""
    """Vocabulary of the logs it was learned from."""
    blind_permille: tuple[tuple[Annotated[int, Field(ge=0, le=1000)], ...], ...] = ()
    """How often each laser came back empty towards each of 360 bins of azimuth, in thousandths; none if left out."""
    intensity_max: Positive = 1.0
    """The largest intensities of these logs, so that another unit is noticed."""
    intensity_scale: Positive | None = None
    """Full scale of the intensities of these logs, if it is known."""
    transferable: bool = False
    """Whether it takes only what means the same for other sensors: material, incidence, share of the maximum range."""
    range_max_m: Positive | None = None
    """Maximum range of the sensor it was learned from, metres; a transferable model needs it."""
    trained_on: tuple[str, ...] = ()
    """The logs it was trained on."""
    held_out: tuple[str, ...] = ()
    """The places that its scores are of."""
    drop: NetworkCard | None = None
    """The network that predicts which beams do not return."""
    intensity: NetworkCard | None = None
    """The network that predicts the intensity of returns."""
    noise: RangeNoise | None = None
    """How far ranges scatter from beam to beam."""

    @model_validator(mode="after")
    def _check(self) -> RealismCard:
        if self.drop is None and self.intensity is None:
            raise SettingsError("drop", "neither a drop nor an intensity network; learn the model again")
        if self.intensity is not None and self.intensity.light is None:
            raise SettingsError("intensity.light", "missing: what the network gives is unknown; learn the model again")
        if self.transferable and self.range_max_m is None:
            raise SettingsError("range_max_m", "missing, and the model is transferable; learn the model again")
        if self.transferable and any(part.kind == "image" for part in self.parts.values()):
            raise SettingsError("transferable", "an image has the grid of one sensor; learn with variant mlp or trees")
        if self.classes not in ((), CLASSES):
            raise SettingsError("classes", f"this version has {', '.join(CLASSES)}; learn the model again")
        blind = self.blind_permille
        if blind and (len(blind) != self.layout.rings or any(len(row) != BLIND_BINS for row in blind)):
            raise SettingsError("blind_permille", f"expected {self.layout.rings} × {BLIND_BINS}; learn the model again")
        if len(self.layout.elevation_deg) != self.layout.rings:
            raise SettingsError("layout.elevation_deg", f"expected {self.layout.rings} values; learn the model again")
        return self

    @property
    def blind(self) -> Array | None:
        """The share (rings, bins) of beams that came back empty, None if it is not known."""
        return np.array(self.blind_permille, np.float32) / np.float32(1000) if self.blind_permille else None

    @property
    def transfers(self) -> tuple[str, ...]:
        """The channels that it takes and that mean the same for another sensor; none unless it is transferable."""
        return TRANSFERABLE if self.transferable else ()

    @property
    def parts(self) -> Mapping[str, NetworkCard]:
        """The networks by name."""
        named = {"drop": self.drop, "intensity": self.intensity}
        return {name: part for name, part in named.items() if part is not None}


def read_card(folder: Path) -> RealismCard:
    """The card of the model in a folder."""
    path = folder / CARD
    if not path.is_file():
        raise InputError(f"{folder}: holds no learned model ({CARD}); give the folder that 'resweep learn' wrote")
    data: Any = read_json(path, "learn the model again")
    if not isinstance(data, dict):
        raise InputError(f"{path}: is no card of a model; learn the model again")
    return validate(data, RealismCard, str(path))


def write_card(folder: Path, card: RealismCard) -> None:
    """Write the card of a model into its folder."""
    text = json.dumps(card.model_dump(mode="json", exclude_none=True), indent=1)
    write_file(folder / CARD, (text + "\n").encode())
