"""Ground that is not flat: heightfields, and fractal relief made by spectral synthesis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from resweep import portable
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.scenes.scene_labels import SCENE_LABELS, SOIL_REFLECTANCE, Label
from resweep.worlds import Mesh, World


@dataclass(frozen=True, eq=False)
class Terrain:
    """Heights on a regular grid: ``heights[i, j]`` at x = ``x0_m`` + i · ``spacing_m``, y likewise with j.

    ``heights`` (nx, ny) metres. Between the grid's points the surface is the two triangles that the
    mesh has there, so what is put at ``height_at(x, y)`` stands on the mesh exactly.
    """

    heights: Array
    spacing_m: float
    x0_m: float = 0.0
    y0_m: float = 0.0

    def __post_init__(self) -> None:
        heights = np.asarray(self.heights, dtype=np.float64)
        if heights.ndim != 2 or min(heights.shape) < 2:
            raise ResweepError(f"terrain: heights must have shape (nx, ny), at least 2 x 2, got {heights.shape}")
        if not np.isfinite(heights).all():
            raise ResweepError("terrain: heights hold NaN or infinity; fill the holes first")
        if not self.spacing_m > 0:
            raise ResweepError(f"terrain: spacing must be above zero metres, got {self.spacing_m}")
        object.__setattr__(self, "heights", heights)

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """x0, y0, x1, y1 in metres."""
        nx, ny = self.heights.shape
        x1, y1 = self.x0_m + (nx - 1) * self.spacing_m, self.y0_m + (ny - 1) * self.spacing_m
        return self.x0_m, self.y0_m, x1, y1

    def height_at(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Height of the surface at ``x``, ``y`` (any equal shapes), metres; an error outside the grid."""
        nx, ny = self.heights.shape
        u = (np.asarray(x, dtype=np.float64) - self.x0_m) / self.spacing_m
        v = (np.asarray(y, dtype=np.float64) - self.y0_m) / self.spacing_m
        slack = 1e-6
        if (np.minimum(u, v) < -slack).any() or (u > nx - 1 + slack).any() or (v > ny - 1 + slack).any():
            raise ResweepError(f"terrain: a position is outside its bounds {self.bounds}; give positions within them")
        i = np.clip(u.astype(np.int64), 0, nx - 2)
        j = np.clip(v.astype(np.int64), 0, ny - 2)
        u, v = u - i, v - j
        low, high = self.heights[i, j], self.heights[i + 1, j + 1]
        # The cell's diagonal runs from (i, j) to (i + 1, j + 1), as in ``mesh``.
        below = low + u * (self.heights[i + 1, j] - low) + v * (high - self.heights[i + 1, j])
        above = low + v * (self.heights[i, j + 1] - low) + u * (high - self.heights[i, j + 1])
        return np.asarray(np.where(u >= v, below, above))

    def mesh(self, *, label: int = Label.TERRAIN, reflectance: float = SOIL_REFLECTANCE, name: str = "terrain") -> Mesh:
        """The surface as triangles, two to a cell, facing up."""
        nx, ny = self.heights.shape
        vertices = np.empty((nx, ny, 3), dtype=np.float32)
        vertices[..., 0] = (self.x0_m + self.spacing_m * np.arange(nx))[:, None]
        vertices[..., 1] = self.y0_m + self.spacing_m * np.arange(ny)
        vertices[..., 2] = self.heights
        return Mesh(
            vertices.reshape(-1, 3), make_grid_faces(nx, ny), label=int(label), reflectance=reflectance, name=name
        )

    def world(self) -> World:
        """The surface as a world of its own."""
        return World([self.mesh()], labels=SCENE_LABELS)


def make_grid_faces(nx: int, ny: int) -> Array:
    """Faces (2 (nx-1) (ny-1), 3) uint32 of a grid of vertices numbered ``i * ny + j``, facing up."""
    corner = (np.arange(nx - 1, dtype=np.uint32)[:, None] * np.uint32(ny) + np.arange(ny - 1, dtype=np.uint32)).ravel()
    faces = np.empty((len(corner), 2, 3), dtype=np.uint32)
    faces[:, 0, 0] = faces[:, 1, 0] = corner
    faces[:, 0, 1] = corner + np.uint32(ny)
    faces[:, 0, 2] = faces[:, 1, 1] = corner + np.uint32(ny + 1)
    faces[:, 1, 2] = corner + np.uint32(1)
    return faces.reshape(-1, 3)


def heightfield(
    heights: ArrayLike,
    spacing_m: float,
    *,
    label: int = Label.TERRAIN,
    reflectance: float = SOIL_REFLECTANCE,
    name: str = "terrain",
) -> Mesh:
    """A mesh from ``heights`` (nx, ny) metres on a grid of ``spacing_m`` that starts at the origin."""
    return Terrain(np.asarray(heights), spacing_m).mesh(label=label, reflectance=reflectance, name=name)


def synthesise_heights(
    rng: np.random.Generator, shape: tuple[int, int], roughness: float, smallest_cells: float = 2.0
) -> Array:
    """Heights (nx, ny) between 0 and 1 with a power spectrum that falls as frequency^-roughness.

    ``roughness`` about 2 is jagged and 4 is rolling. Waves shorter than ``smallest_cells`` grid cells
    are left out.
    """
    # Twice the size, then cut: the synthesis is periodic, and a place should not match at its edges.
    size = (2 * shape[0], 2 * shape[1])
    frequency = np.hypot(np.fft.fftfreq(size[0])[:, None], np.fft.rfftfreq(size[1]))
    frequency[0, 0] = 1.0
    gain = np.where(frequency <= 1 / smallest_cells, portable.power(frequency, -roughness / 2), 0.0)
    gain[0, 0] = 0.0
    noise = np.fft.irfft2(np.fft.rfft2(rng.normal(size=size)) * gain, s=size)[: shape[0], : shape[1]]
    low, high = noise.min(), noise.max()
    return np.asarray((noise - low) / (high - low))


def fractal_terrain(
    size_m: float = 100.0, resolution_m: float = 0.5, relief_m: float = 3.0, seed: int = 0, roughness: float = 3.5
) -> Terrain:
    """Rolling ground of ``size_m`` × ``size_m`` centred on the origin, from 0 to ``relief_m`` high."""
    cells = round(size_m / resolution_m)
    if cells < 2:
        raise ResweepError(f"terrain: resolution {resolution_m} m is too coarse for {size_m} m; use at most half of it")
    rng = np.random.default_rng([seed, 0x74657272])
    heights = relief_m * synthesise_heights(rng, (cells + 1, cells + 1), roughness)
    return Terrain(heights, size_m / cells, -size_m / 2, -size_m / 2)
