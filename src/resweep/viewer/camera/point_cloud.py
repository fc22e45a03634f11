"""Points as a camera sees them: small discs that face it, traced as all else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.errors import ResweepError
from resweep.labels import UNKNOWN_LABELS, LabelSet
from resweep.log import Log
from resweep.pose import Array
from resweep.progress import track
from resweep.sweep import Sweep
from resweep.viewer.camera.cameras import Camera
from resweep.worlds import Splats, World

_MIN_RADIUS_M = 0.002  # of a disc: smaller ones are lost in float32


class PointCloud:
    """Points with label, instance and intensity, which become a world of discs for one camera.

    ``points`` (n, 3) float64 in the world; ``label`` and ``instance`` (n,) int32, ``intensity`` (n,) 0 to 1.
    ``colour`` (n, 3) uint8 where the recording has colours.
    """

    def __init__(
        self,
        points: Array,
        label: Array,
        intensity: Array,
        instance: Array,
        labels: LabelSet = UNKNOWN_LABELS,
        colour: Array | None = None,
    ) -> None:
        if len(points) == 0:
            raise ResweepError("render: there is no return to show; choose other sweeps")
        self.points, self.label, self.instance, self.labels = points, label, instance, labels
        self.intensity, self.colour = intensity, colour

    @classmethod
    def of_sweeps(cls, sweeps: Sequence[Sweep], labels: LabelSet = UNKNOWN_LABELS) -> PointCloud:
        """The returns of sweeps in the world, with motion undone."""
        if not sweeps:
            raise ResweepError("render: no sweep is given")
        colours = [_read_colours(sweep) for sweep in sweeps]
        return cls(
            np.concatenate([sweep.world_points() for sweep in sweeps]),
            np.concatenate([sweep.label for sweep in sweeps]),
            np.concatenate([sweep.intensity for sweep in sweeps]),
            np.concatenate([sweep.instance for sweep in sweeps]),
            labels,
            np.concatenate([item for item in colours if item is not None])
            if all(item is not None for item in colours)
            else None,
        )

    @classmethod
    def of_log(cls, log: Log, *, progress: bool = False) -> PointCloud:
        """The returns of all sweeps of a log."""
        log.require_poses("its sweeps have no common frame")
        return cls.of_sweeps(list(track(log, "reading sweeps", show=progress)), log.labels)

    @property
    def bounds(self) -> Array:
        """Lowest and highest corner (2, 3) that hold all but the outermost points, in the world."""
        return np.asarray(np.quantile(self.points, (0.01, 0.99), axis=0))

    def world(self, camera: Camera, pose: Array, pixels: float = 1.5) -> World:
        """A world of discs that ``camera`` at ``pose`` sees ``pixels`` wide."""
        eye, forward = pose[:3, 3], pose[:3, 0]
        offset = self.points - eye
        across = 2.0 * camera.half[0] / camera.width  # of a pixel: at 1 m, or metres
        if camera.projection == "above":
            normal, radius = np.broadcast_to(-forward, offset.shape), np.full(len(offset), 0.5 * pixels * across)
        else:
            distance = np.maximum(np.linalg.norm(offset, axis=1), 1e-3)
            normal, radius = -offset / distance[:, None], 0.5 * pixels * across * distance
        white = float(np.quantile(self.intensity, 0.98)) or 1.0
        extra = {} if self.colour is None else dict(zip(("red", "green", "blue"), self.colour.T, strict=True))
        origin = self.points.mean(axis=0)
        discs = Splats(
            self.points - origin,
            normal,
            np.maximum(radius, _MIN_RADIUS_M),
            self.label,
            np.clip(self.intensity / white, 0.0, 1.0),
            self.instance,
            extra,
            depth=1,
        )
        return World([discs], origin, labels=self.labels)


def _read_colours(sweep: Sweep) -> Array | None:
    from resweep.prepare.clouds.colours import ColourScale, read_colours

    found = read_colours(sweep.extra)
    scale = None if found is None else ColourScale.find(found)
    return None if found is None or scale is None else scale.to_bytes(found)
