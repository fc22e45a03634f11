"""What a reader of a judgement must know about how it was measured."""

from __future__ import annotations

from collections.abc import Sequence

from resweep.perception.judging.cloud_sources import CloudSource
from resweep.perception.judging.config import JudgingConfig
from resweep.perception.judging.judgement import DetectionFigures, JudgementSettings, ModelJudgement


def list_notes(
    models: Sequence[ModelJudgement], source: CloudSource, config: JudgingConfig, settings: JudgementSettings
) -> list[str]:
    """Whole sentences: what figures are of, what is missing and why."""
    lines = [
        "Figures are of the first return of beams that return in the recorded sweep and in the cloud.",
        f"Intervals are {config.confidence:.0%} of {config.resamples} draws of {settings.places} places: "
        f"{config.sectors} sectors of the horizon from each {config.stretch_m:g} m of the drive.",
        f"Null, noise: Gaussian with a sigma of {100 * config.null_sigma_m:g} cm on recorded ranges. Null, next sweep: "
        f"each return of the next sweep stands for the nearest return of this one in the world, if within "
        f"{100 * config.transfer_m:g} cm.",
        f"Negative control: {settings.control}.",
    ]
    if source.simulated.left_out:
        lines.append(
            f"{source.simulated.left_out:,} recorded returns are from what the map of the world leaves out (moving, "
            "outliers, the vehicle itself). They count too: what is missing there gives a simulation away."
        )
    if source.without_next:
        which = ", ".join(map(str, source.without_next[:10])) + (", ..." if len(source.without_next) > 10 else "")
        lines.append(f"No next sweep within {config.next_within_s:g} s, or no poses, for sweep {which}.")
    if not source.has_intensity:
        lines.append(
            "The recording has no intensities: models see 0 on both sides, and no intensities are swapped for others."
        )
    for item in models:
        lines += [] if item.detection is None else _list_detection_notes(item.model, item.detection)
        if item.segmentation is None:
            continue
        if all(cloud.miou.value is None for cloud in item.segmentation.clouds):
            lines.append(f"{item.model}: no true label of its classes, so agreement alone; there is no mIoU.")
        elif item.segmentation.absent:
            names = ", ".join(item.segmentation.absent)
            lines.append(f"{item.model}: fewer than {config.min_returns} true returns, so no IoU, of {names}.")
    if any(item.features is not None for item in models):
        lines.append(
            "Feature distance: the squared Fréchet distance between features of all recorded sweeps and of a cloud, "
            "|m − m'|² + tr(C + C' − 2 (C^½ C' C^½)^½) of their means and covariances; those of the null are its floor."
        )
    return lines


def _list_detection_notes(model: str, scores: DetectionFigures) -> list[str]:
    """What to know about detections."""
    lines = [
        f"{model}: an object is found from a score of {scores.min_score:g}; AP is that at 40 recalls, overlaps are "
        "seen from above, and intervals match each place by itself."
    ]
    if not scores.has_truth:
        lines.append(
            f"{model}: the recording has no boxes and no instances of vehicles, so what the model finds in the "
            "recorded sweeps stands for them: there is no AP, only the scores' agreement."
        )
    elif scores.absent:
        lines.append(f"{model}: no object of {', '.join(scores.absent)}.")
    return lines
