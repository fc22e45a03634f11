"""Settings of a bird's-eye detector and of its training."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from resweep.categories import CATEGORIES
from resweep.config import NotNegative, Positive, Share, Spec
from resweep.errors import SettingsError, nearest_names
from resweep.perception.detection.birds_eye import BirdsEyeGrid
from resweep.perception.detection.truth import Annotated as AnnotatedPart
from resweep.quantities import Count, Seed

MAX_WEIGHTS = 2_000_000


class DetectorShape(Spec):
    """The size of the network: a pyramid of four maps, each with half of the cells of the one before along a side."""

    width: Annotated[int, Field(ge=4, le=64, multiple_of=2)] = 16
    """Channels of the finest map; the others have 2, 4 and 5 times as many."""
    blocks: Annotated[int, Field(ge=1, le=4)] = 2
    """Residual blocks of the middle maps."""
    features: Annotated[int, Field(ge=4, le=256)] = 32
    """Channels of the last map, from which all outputs are made."""


class DetectorAugment(Spec):
    """How training sweeps are changed, so that few recordings teach more; they are mirrored at any rate."""

    turn_deg: Annotated[float, Field(ge=0.0, le=180.0)] = 180.0
    """Sweeps are turned about z by up to this angle."""
    scale: Annotated[float, Field(ge=0.0, lt=0.5)] = 0.05
    """Sizes are changed by up to this share."""
    height_m: NotNegative = 0.15
    """Standard deviation of a shift of the sensor's height, in metres."""
    drop: Share = 0.3
    """Largest share of returns that are left out."""
    forget_intensity: Share = 0.1
    """How often intensities are unknown."""
    paste: Annotated[int, Field(ge=0, le=50)] = 6
    """Objects of other sweeps that are put into a sweep at most, at their range."""
    paste_points: Count = 20
    """Returns that an object has at least to be put elsewhere."""


class DetectorConfig(Spec):
    """How a detector is trained."""

    classes: Annotated[tuple[str, ...], Field(min_length=1, max_length=10)] = ("car",)
    """Categories of objects to find, such as car, pedestrian or cyclist."""
    annotated: AnnotatedPart = "auto"
    """Where objects were annotated: everywhere, in the view of a camera ahead (KITTI), or auto, which looks."""
    grid: BirdsEyeGrid = BirdsEyeGrid()
    """The image that the network takes."""
    network: DetectorShape = DetectorShape()
    """Size of the network."""
    augment: DetectorAugment = DetectorAugment()
    """Changes of the training sweeps."""
    rounds: Count = 12
    """Rounds of training; after each the validation sweeps are looked at, and the best one is kept."""
    steps: Count = 200
    """Steps of a round."""
    batch: Annotated[int, Field(ge=1, le=64)] = 8
    """Parts of sweeps in a step."""
    crop_cells: Annotated[int, Field(ge=64, le=1024, multiple_of=16)] = 128
    """Side of such a part, in cells of the image; most are around an object."""
    rate: Positive = 0.003
    """Highest learning rate of Adam; it rises at first and falls to zero as a cosine."""
    weight_decay: NotNegative = 0.01
    """Decay of weights."""
    box_weight: Positive = 1.0
    """Weight of the boxes' error beside that of the heat map."""
    min_points: Count = 3
    """Objects with fewer returns teach nothing: they are neither found nor background."""
    min_score: Share = 0.05
    """Detections of a lower score are left out."""
    validation_sweeps: Count = 10
    """Sweeps at most that are looked at after each round, spread evenly; in the end all are."""
    seed: Seed = 0
    """Seed of all that is drawn."""

    @model_validator(mode="after")
    def _check(self) -> DetectorConfig:
        for name in self.classes:
            if name not in CATEGORIES:
                raise SettingsError("classes", f"'{name}' is not known; {nearest_names(name, CATEGORIES)}")
        if len(set(self.classes)) < len(self.classes):
            raise SettingsError("classes", "a class is given twice")
        if self.crop_cells > min(self.grid.shape):
            raise SettingsError("crop_cells", f"{self.crop_cells} cells, but the grid has {min(self.grid.shape)}")
        return self
