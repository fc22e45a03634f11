"""A judgement: what models make of simulated sweeps, to print, save and load."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, PrivateAttr, model_validator

from resweep.errors import InputError, nearest_names, printable
from resweep.evaluation.report.saving import save_as
from resweep.files.strict_json import format_json
from resweep.perception.judging.clouds import CLOUDS
from resweep.saved_record import SavedRecord, check_record, read_saved

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

    from resweep.perception.judging.detection_pictures import DetectedSweep
    from resweep.perception.judging.judgement_pictures import JudgedSweep

FORMAT: Literal["resweep-judgement"] = "resweep-judgement"
VERSION: Literal[1] = 1
_WIDTH = 118
_LARGEST = 1e15

Text = Annotated[str, Field(max_length=20_000)]
Count = Annotated[int, Field(ge=0, le=int(_LARGEST))]
Figure = Annotated[float, Field(ge=-_LARGEST, le=_LARGEST)]
Size = Annotated[float, Field(ge=0.0, le=_LARGEST)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class Estimate(SavedRecord):
    """A figure, and the interval that draws of places give it; None where there is nothing to measure."""

    value: Figure | None = None
    low: Figure | None = None
    high: Figure | None = None

    def __str__(self) -> str:
        if self.value is None:
            return "–"
        if self.low is None:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} ({self.low:.3f}{'–' if self.low >= 0 else ' to '}{self.high:.3f})"


class RangeScores(SavedRecord):
    """Figures of a cloud at the true ranges of a bin; ``to_m`` of the last is None."""

    from_m: Size
    to_m: Size | None
    beams: Count
    agreement: Share | None
    miou: Share | None
    miou_real: Share | None


class CloudScores(SavedRecord):
    """What a segmentation model makes of one of the `CLOUDS`, on the beams that return in it and in the recording.

    ``agreement`` is the share of beams with the answer that the recorded sweep gets, ``miou`` that against true labels,
    ``miou_real`` that of the recorded sweep's answers on the same beams. ``iou``, ``iou_real`` and ``agreement_of`` are
    by class: of the true label or, in a log without labels, of the answer on the recorded sweep.
    """

    cloud: Text
    beams: Count
    agreement: Estimate
    miou: Estimate
    miou_real: Estimate
    iou: dict[Text, Share | None]
    iou_real: dict[Text, Share | None]
    agreement_of: dict[Text, Share | None]
    ranges: list[RangeScores]


class SegmentationScores(SavedRecord):
    """What a segmentation model makes of all clouds.

    ``costs`` are by how much each of the `PARTS` alone, when it is ours, lowers agreement.
    ``miou_share`` is the mIoU of the simulated sweep over that of the recorded one, only our beams. ``confusion``
    counts beams by the answer on the recorded sweep (rows) and on the simulated one (columns), each in the
    order of ``classes``.
    """

    classes: list[Text]
    absent: list[Text]
    clouds: list[CloudScores]
    costs: dict[Text, Estimate]
    miou_share: Estimate
    confusion: list[list[Count]]

    @model_validator(mode="after")
    def _fits(self) -> SegmentationScores:
        if len(self.confusion) != len(self.classes) or any(len(row) != len(self.classes) for row in self.confusion):
            raise ValueError("confusion: expected a row and a column for each class")
        return self

    def find(self, cloud: str) -> CloudScores | None:
        """The figures of one of the `CLOUDS`; None if it was not judged."""
        return next((item for item in self.clouds if item.cloud == cloud), None)


class DetectionRow(SavedRecord):
    """What a detection model makes of one of the `CLOUDS`, by one rule: class, least overlap and least returns.

    ``ap`` is the average precision, ``agreement`` is κ_det of D's Table 7: the share of the objects that are found in
    both this cloud and the recorded sweep, or in neither. ``score_change`` is the mean of their scores in this cloud
    less those in the recorded sweep, 0 where an object was not found.
    """

    cloud: Text
    name: Text
    iou: Share
    min_points: Count
    objects: Count
    ap: Estimate
    agreement: Estimate
    score_change: Estimate


class ObjectScore(SavedRecord):
    """One object of the recording, and how sure the model is of it when recorded and when simulated; 0: not found."""

    sweep: Count
    name: Text
    range_m: Size
    points: Count
    real: Figure
    ours: Figure


class DetectionFigures(SavedRecord):
    """What a detection model makes of all clouds. Objects count as found from a score of ``min_score``.

    Without ``has_truth`` the recording has no objects, and those that the model finds in it stand for them: there is
    no AP then.
    """

    classes: list[Text]
    absent: list[Text]
    has_truth: bool
    min_score: Share
    rows: list[DetectionRow]
    objects: Annotated[list[ObjectScore], Field(max_length=10_000)]

    def find(self, cloud: str, name: str, iou: float = 0.5, min_points: int = 1) -> DetectionRow | None:
        """The figures of a cloud by one rule; None if there are none."""
        wanted = (cloud, name, iou, min_points)
        return next((row for row in self.rows if (row.cloud, row.name, row.iou, row.min_points) == wanted), None)


class FeatureScores(SavedRecord):
    """Squared Fréchet distances of a model's features between the recorded sweeps and each of the clouds."""

    dimensions: Count
    rows: dict[Text, Count]
    distance: dict[Text, Size | None]


class ModelJudgement(SavedRecord):
    """What one model makes of all clouds; None for what it does not do."""

    model: Text
    segmentation: SegmentationScores | None = None
    detection: DetectionFigures | None = None
    features: FeatureScores | None = None


class JudgementSettings(SavedRecord):
    """What was judged, and how."""

    resweep: Text
    real: Text
    simulated: Text
    sweeps: Annotated[list[Count], Field(max_length=10**7)]
    places: Count
    seed: int
    noise: Text
    labels: Text
    control: Text


class Judgement(SavedRecord):
    """The result of `resweep.judge`: ``print(judgement)``, ``judgement.save("judge.html")``, ``judgement.to_json()``.

    ``judgement["model"]`` are the figures of a model by its name.
    """

    format: Literal["resweep-judgement"] = FORMAT
    version: Literal[1] = VERSION
    settings: JudgementSettings
    models: Annotated[list[ModelJudgement], Field(min_length=1, max_length=1000)]
    notes: list[Text] = Field(default_factory=list)
    _load_pictures: Callable[[], list[JudgedSweep | DetectedSweep]] | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _fits(self) -> Judgement:
        for item in self.models:
            named = [] if item.segmentation is None else [cloud.cloud for cloud in item.segmentation.clouds]
            named += [] if item.detection is None else [row.cloud for row in item.detection.rows]
            named += [] if item.features is None else [*item.features.distance, *item.features.rows]
            for cloud in named:
                if cloud not in CLOUDS:
                    raise ValueError(f"cloud '{cloud:.80}' is unknown; {nearest_names(cloud, CLOUDS)}")
        return self

    def with_pictures(self, load: Callable[[], list[JudgedSweep | DetectedSweep]]) -> Judgement:
        """The same, with what its page draws; a judgement that is loaded from a file has no pictures."""
        other = self.model_copy()
        other._load_pictures = load
        return other

    def load_pictures(self) -> list[JudgedSweep | DetectedSweep]:
        """What the page draws: none for a judgement that was loaded."""
        return [] if self._load_pictures is None else self._load_pictures()

    def __getitem__(self, model: str) -> ModelJudgement:
        named = {item.model: item for item in self.models}
        if model not in named:
            raise InputError(f"judgement: no model '{model}'; {nearest_names(model, named)}")
        return named[model]

    def to_json(self) -> str:
        """One JSON object with all figures; what is unknown is null."""
        return format_json(self.model_dump(mode="json"))

    def save(self, path: str | Path) -> Path:
        """Write the judgement to ``path``: one self-contained ``.html`` file, or ``.json`` for `Judgement.load`."""

        def page() -> str:
            from resweep.perception.judging.judgement_page import render

            return render(self)

        return save_as(path, "judgement", page, self.to_json)

    @classmethod
    def load(cls, path: str | Path) -> Judgement:
        """The judgement in a ``.json`` file that `save` wrote; InputError for anything else."""
        record = read_saved(Path(path), "judgement", FORMAT, VERSION, "Judgement.save")
        check_record(record, cls, str(path), "judge again")
        return cls.model_validate(record)

    def title(self) -> str:
        """What was judged."""
        count = len(self.settings.sweeps)
        sweeps = "1 sweep" if count == 1 else f"{count} sweeps"
        return f"{self.settings.simulated} against {self.settings.real}, {sweeps}; noise {self.settings.noise}"

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=_WIDTH, color_system=None, force_terminal=False, force_jupyter=False)
        with console.capture() as captured:
            console.print(self)
        return captured.get().rstrip("\n")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        from rich.text import Text as Line

        from resweep.perception.judging.judgement_tables import list_tables

        yield Line(printable(self.title()), style="bold")
        yield from list_tables(self)
        for note in self.notes:
            yield Line(printable(note), style="dim")
