"""Settings of a network of labels and of its training."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from resweep.config import NotNegative, Positive, Share, Spec
from resweep.errors import SettingsError, nearest_names
from resweep.quantities import MAX_COUNT, CellSize, Count, Seed
from resweep.segmentation.features import FEATURES


class NetworkConfig(Spec):
    """The shape of a KPConv network: a U of grids, each with cells of twice the size of the one before."""

    cell_m: CellSize = 0.2
    """Side of the cells of the finest grid, in metres."""
    levels: Annotated[int, Field(ge=2, le=6)] = 4
    """Number of grids."""
    neighbours: Annotated[int, Field(ge=4, le=64)] = 16
    """Neighbours of a point at most, the nearest ones within 2.5 cells."""
    width: Annotated[int, Field(ge=8, le=512, multiple_of=4)] = 32
    """Channels on the finest grid; the next has twice as many, up to four times."""
    kernel_points: Annotated[int, Field(ge=2, le=40)] = 15
    """Points of a kernel, one of them in its middle."""
    extent: Positive = 1.2
    """How far a kernel point reaches, in cells."""
    dropout: Share = 0.3
    """Share of the last channels that are left out in training."""
    features: Annotated[tuple[str, ...], Field(min_length=1, max_length=100)] = FEATURES
    """What the network knows of each point, by name."""

    @model_validator(mode="after")
    def _check(self) -> NetworkConfig:
        for name in self.features:
            if name not in FEATURES:
                raise SettingsError("features", f"'{name}' is not known; {nearest_names(name, FEATURES)}")
        return self


class AugmentConfig(Spec):
    """How training clouds are changed, so that few recordings teach more: turned about z and mirrored at any rate."""

    scale: Annotated[float, Field(ge=0.0, lt=0.5)] = 0.1
    """Sizes are changed by up to this share."""
    tilt_deg: Annotated[float, Field(ge=0.0, le=20.0)] = 2.0
    """Standard deviation of the tilt about x and y, in degrees."""
    jitter_m: NotNegative = 0.01
    """Standard deviation of the noise on points, in metres."""
    drop: Share = 0.3
    """Largest share of points that are left out."""
    height_m: NotNegative = 0.1
    """Standard deviation of a shift of all heights above the ground, in metres."""
    forget_intensity: Share = 0.15
    """How often intensities are unknown."""


class SemanticsConfig(Spec):
    """How a network is trained to label points."""

    labels: str = "semantickitti-19"
    """Vocabulary to learn; labels of a log are mapped to it."""
    network: NetworkConfig = NetworkConfig()
    """Shape of the network."""
    augment: AugmentConfig = AugmentConfig()
    """Changes of the training clouds."""
    epochs: Count = 30
    """Rounds of training at most; each ends with a look at the validation sweeps."""
    steps: Count = 40
    """Steps of a round."""
    crops: Count = 2
    """Parts of sweeps in a step."""
    crop_points: Annotated[int, Field(ge=256, le=MAX_COUNT)] = 8000
    """Points of a part: those around a point of a class that is drawn evenly."""
    rate: Positive = 0.003
    """Highest learning rate of Adam; it falls to zero as a cosine."""
    weight_decay: NotNegative = 0.01
    """Decay of weights."""
    balance: Share = 0.5
    """Weights of classes are their share of all points to the power of minus this."""
    patience: Count = 8
    """Rounds without a better score of the validation sweeps after which training stops."""
    validation_sweeps: Count = 3
    """Sweeps at most that are looked at after each round, spread evenly; in the end all are."""
    votes: Annotated[int, Field(ge=1, le=64)] = 4
    """Directions that a sweep is turned to when it is labelled; scores are averaged."""
    seed: Seed = 0
    """Seed of all that is drawn."""
