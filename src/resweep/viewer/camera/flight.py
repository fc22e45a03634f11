"""Flights: paths of a camera, and the films of what it sees."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from resweep.errors import ResweepError
from resweep.files import atomic_file
from resweep.optional import require
from resweep.pose import Array, Trajectory
from resweep.viewer.camera.cameras import look_at

FILMS = (".mp4", ".gif")
_GIF_COLOURS = 128


def follow(trajectory: Trajectory, frames: int, *, behind_m: float = 8.0, above_m: float = 4.0) -> Array:
    """Poses (frames, 4, 4) of a camera that follows a vehicle from behind and above, and looks ahead of it.

    With ``behind_m`` and ``above_m`` 0 it looks from the vehicle itself. Headings are smoothed.
    """
    if frames < 1:
        raise ResweepError(f"flight: {frames} frames; give at least one")
    times = np.linspace(trajectory.start, trajectory.end, frames)
    poses = trajectory.at(times)
    if behind_m == 0.0 and above_m == 0.0:
        return poses
    ahead = _smooth(poses[:, :3, 0], max(3, frames // 10))
    level = ahead * [1.0, 1.0, 0.0]
    level /= np.maximum(np.linalg.norm(level, axis=1, keepdims=True), 1e-9)
    places = poses[:, :3, 3]
    eyes = places - behind_m * level + [0.0, 0.0, above_m]
    return np.stack([look_at(eye, place + 6.0 * ahead) for eye, place, ahead in zip(eyes, places, level, strict=True)])


def orbit(centre: Array, radius_m: float, height_m: float, frames: int) -> Array:
    """Poses (frames, 4, 4) on a circle around ``centre`` (3,), looking at it."""
    angles = 2 * np.pi * np.arange(frames) / frames
    ring = np.stack([radius_m * np.cos(angles), radius_m * np.sin(angles), np.full(frames, height_m)], axis=1)
    return np.stack([look_at(centre + offset, centre) for offset in ring])


def fly(path: str | Path, frames: Iterable[Array], count: int, *, fps: float = 20.0) -> Path:
    """Write pictures (h, w, 3) uint8 as a film: ``.mp4`` (H.264, by FFmpeg) or ``.gif``; whole or not at all.

    ``count`` is their number. An MP4's width and height are rounded to even numbers, as its pixel format wants them.
    """
    target = Path(path)
    write = {".mp4": _write_mp4, ".gif": _write_gif}.get(target.suffix.lower())
    if write is None:
        raise ResweepError(f"{target}: films are {' or '.join(FILMS)} files; choose one of them")
    if not 0.1 <= fps <= 240.0:
        raise ResweepError(f"fps: {fps:g} frames a second; give 0.1 to 240")
    if count < 1:
        raise ResweepError(f"{target}: a film of {count} frames; give at least one")
    with atomic_file(target) as temporary:
        write(temporary, frames, fps)
    return target


def _write_mp4(path: Path, frames: Iterable[Array], fps: float) -> None:
    ffmpeg: Any = require("imageio_ffmpeg", "an MP4")
    writer: Any = None
    try:
        for frame in frames:
            even = np.ascontiguousarray(frame[: frame.shape[0] // 2 * 2, : frame.shape[1] // 2 * 2])
            if writer is None:
                size = (even.shape[1], even.shape[0])
                options = {"macro_block_size": 2, "quality": 7, "ffmpeg_log_level": "error"}
                writer = ffmpeg.write_frames(str(path), size, fps=fps, codec="libx264", **options)
                writer.send(None)
            writer.send(even)
    finally:
        if writer is not None:
            writer.close()


def _write_gif(path: Path, frames: Iterable[Array], fps: float) -> None:
    from PIL import Image

    pictures = [Image.fromarray(frame).quantize(_GIF_COLOURS) for frame in frames]
    pictures[0].save(
        path, save_all=True, append_images=pictures[1:], duration=max(20, round(1000 / fps)), loop=0, format="GIF"
    )


def _smooth(vectors: Array, width: int) -> Array:
    """Running means (n, 3) over ``width`` rows, those at the ends repeated."""
    padded = np.concatenate([np.repeat(vectors[:1], width, 0), vectors, np.repeat(vectors[-1:], width, 0)])
    sums = np.cumsum(np.concatenate([np.zeros((1, 3)), padded]), axis=0)
    means = (sums[2 * width + 1 :] - sums[: -2 * width - 1]) / (2 * width + 1)
    return np.asarray(means)
