"""Settings of a segmenter and of its training."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from resweep.config import NotNegative, Positive, Share, Spec
from resweep.errors import SettingsError
from resweep.perception.segmentation.segment_classes import ClassCategories
from resweep.quantities import Count, Seed


class ImageNetworkConfig(Spec):
    """The shape of the network: a U of residual blocks, over columns that each hold two of the image."""

    width: Annotated[int, Field(ge=4, le=256, multiple_of=4)] = 24
    """Channels on the finest level; each coarser one has twice as many, up to four times."""
    levels: Annotated[int, Field(ge=2, le=6)] = 4
    """Levels, each with half the rows and columns of the one before."""
    deep_blocks: Annotated[int, Field(ge=1, le=8)] = 2
    """Residual blocks on each of the two coarsest levels; finer ones have one."""
    dropout: Share = 0.1
    """Share of the last channels that are left out in training."""


class ImageAugmentConfig(Spec):
    """How training images are changed, so that few recordings teach more: turned and mirrored at any rate."""

    mix: Share = 0.5
    """How often a sector of another sweep takes the place of the same columns."""
    paste: Annotated[int, Field(ge=0, le=1000)] = 4
    """Objects of other sweeps at most that are put in, at the range where they were seen."""
    scale: Annotated[float, Field(ge=0.0, lt=0.5)] = 0.05
    """Sizes are changed by up to this share."""
    tilt_deg: Annotated[float, Field(ge=0.0, le=20.0)] = 0.5
    """Standard deviation of the tilt of heights, in degrees."""
    height_m: NotNegative = 0.1
    """Standard deviation of a shift of all heights, in metres."""
    jitter_m: NotNegative = 0.03
    """Largest standard deviation of noise on ranges, in metres."""
    gain: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.1
    """Standard deviation of the logarithm of a factor on all intensities."""
    scatter: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.03
    """Largest standard deviation of noise on intensities, as a share of full scale."""
    drop: Share = 0.3
    """Largest share of returns that are left out."""


class SegmenterConfig(Spec):
    """How a segmenter is trained."""

    classes: ClassCategories | None = None
    """Categories of labels that each class stands for, by its name; by default those of the usual ones that occur."""
    rows: Annotated[int, Field(ge=8, le=512)] = 64
    """Rows of an image."""
    columns: Annotated[int, Field(ge=64, le=8192)] = 2048
    """Columns of an image, a full turn."""
    network: ImageNetworkConfig = ImageNetworkConfig()
    """Shape of the network."""
    augment: ImageAugmentConfig = ImageAugmentConfig()
    """Changes of the training images."""
    sweeps: Count = 400
    """Sweeps that are trained on at most, evenly spread; each takes 5 MB of memory."""
    epochs: Count = 10
    """Rounds of training; each ends with a look at the validation sweeps."""
    steps: Count = 60
    """Steps of a round."""
    crops: Count = 2
    """Parts of images in a step."""
    crop_columns: Annotated[int, Field(ge=64, le=8192)] = 1024
    """Columns of a part."""
    rate: Positive = 0.004
    """Highest learning rate of AdamW; it falls to zero as a cosine."""
    weight_decay: NotNegative = 0.01
    """Decay of weights."""
    average: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.99
    """The network that is kept is the exponential moving average of the weights, with this share of it kept a step."""
    balance: Share = 0.5
    """Weights of classes are their share of all returns to the power of minus this."""
    lovasz: NotNegative = 0.5
    """Weight of the Lovász-Softmax loss beside the cross-entropy."""
    validation_sweeps: Count = 6
    """Sweeps at most that are looked at after each round, spread evenly; in the end all are."""
    seed: Seed = 0
    """Seed of all that is drawn."""

    @model_validator(mode="after")
    def _check(self) -> SegmenterConfig:
        step = 2**self.network.levels
        for name in ("rows", "columns", "crop_columns"):
            by = step // 2 if name == "rows" else step
            if getattr(self, name) % by:
                raise SettingsError(name, f"expected a multiple of {by}, which {self.network.levels} levels divide")
        if self.crop_columns > self.columns:
            raise SettingsError("crop_columns", f"expected at most the {self.columns} columns of an image")
        return self
