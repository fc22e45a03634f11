"""Pictures and films of what a camera sees, as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from resweep.files import atomic_file
from resweep.pose import Array, Trajectory
from resweep.progress import open_progress, track
from resweep.viewer.camera.cameras import Camera, look_down
from resweep.viewer.camera.drawing import Drawing
from resweep.viewer.camera.flight import fly, follow, orbit


def draw_picture(
    drawing: Drawing, camera: Camera, places: tuple[Array | None, Array | None], second: float, output: Path
) -> None:
    """Draw one picture to a PNG; ``places`` (3,) are where the camera stands and what it looks at, if given."""
    from PIL import Image

    with open_progress() as progress:
        progress.start("drawing")
        image = drawing.draw(camera, drawing.choose_pose(camera, *places), second)
    with atomic_file(output) as temporary:
        Image.fromarray(image).save(temporary, format="PNG")


def film(
    drawing: Drawing,
    camera: Camera,
    path: Trajectory | None,
    chase: tuple[float, float],
    frames: int,
    fps: float,
    output: Path,
) -> None:
    """Fly along a path, or around the place where there is none."""
    if path is None:
        low, high = drawing.bounds
        size = float(np.linalg.norm((high - low)[:2]))
        poses, times = orbit((low + high) / 2, 0.5 * size, 0.3 * size, frames), np.zeros(frames)
    else:
        poses = follow(path, frames, behind_m=chase[0], above_m=chase[1])
        times = np.linspace(path.start, path.end, frames)
    if camera.projection == "above":
        top = float(drawing.bounds[1, 2]) + 10.0
        poses = np.stack([look_down([*pose[:2, 3], 0.0], top) for pose in poses])
    pictures = (drawing.draw(camera, pose, float(time)) for pose, time in zip(poses, times, strict=True))
    fly(output, track(pictures, "drawing frames", total=frames), frames, fps=fps)
