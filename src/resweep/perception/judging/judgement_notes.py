"""What a reader of a judgement must know about how it was measured."""

from __future__ import annotations

from collections.abc import Sequence

from resweep.perception.judging.cloud_sources import CloudSource
from resweep.perception.judging.config import JudgingConfig
from resweep.perception.judging.judgement import JudgementSettings, ModelJudgement


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
    if source.without_next:
        which = ", ".join(map(str, source.without_next[:10])) + (", ..." if len(source.without_next) > 10 else "")
        lines.append(f"No next sweep within {config.next_within_s:g} s, or no poses, for sweep {which}.")
    if not source.has_intensity:
        lines.append(
            "The recording has no intensities: models see 0 on both sides, and no intensities are swapped for others."
        )
    for item in models:
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
