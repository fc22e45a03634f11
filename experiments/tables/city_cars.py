"""Cars of the synthetic city: bodies that no CAD model of the package has, each with its own size and paint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resweep.pose import Array
from resweep.scenes.cars import car
from resweep.worlds import Mesh

_LENGTH_M, _WIDTH_M, _HEIGHT_M = 4.3, 1.8, 1.5  # of the car that bodies are made from
_CABIN = 0.61  # share of the height above which a vertex is of the cabin
_PLAIN = (-0.42, -0.24, 0.0, 0.1, 0.27)  # where the cabin's outline has its corners, share of the length


@dataclass(frozen=True)
class Body:
    """A kind of car: where its cabin has its corners, how high its hood is, and its usual size in metres."""

    name: str
    cabin: tuple[float, float, float, float, float]
    hood: float
    size_m: tuple[float, float, float]
    share: float


BODIES = (
    Body("saloon", (-0.40, -0.22, 0.0, 0.1, 0.28), 1.0, (4.6, 1.82, 1.45), 0.3),
    Body("hatchback", (-0.49, -0.45, -0.1, 0.12, 0.32), 1.0, (4.0, 1.74, 1.48), 0.3),
    Body("estate", (-0.495, -0.46, -0.1, 0.08, 0.26), 0.98, (4.75, 1.84, 1.5), 0.15),
    Body("off-roader", (-0.49, -0.44, -0.1, 0.1, 0.26), 1.12, (4.6, 1.92, 1.75), 0.15),
    Body("pickup", (-0.1, -0.05, 0.02, 0.12, 0.25), 1.05, (5.3, 1.95, 1.8), 0.05),
    Body("minivan", (-0.495, -0.47, 0.1, 0.3, 0.47), 0.9, (4.9, 1.95, 1.9), 0.05),
)


def make_car(rng: np.random.Generator, instance: int) -> tuple[Mesh, tuple[float, float, float]]:
    """A car of any body in its own frame, and its length, width and height."""
    body = BODIES[int(rng.choice(len(BODIES), p=[item.share for item in BODIES]))]
    size = np.array(body.size_m) * rng.normal(1.0, (0.04, 0.02, 0.03))
    plain = car(
        length_m=_LENGTH_M,
        width_m=_WIDTH_M,
        height_m=_HEIGHT_M,
        reflectance=float(rng.choice([0.085, 0.15, 0.3, 0.5, 0.75])) * float(rng.uniform(0.8, 1.2)),
        instance=instance,
    )
    mesh = Mesh(
        _bend(plain.vertices.astype(np.float64), body) * (size / (_LENGTH_M, _WIDTH_M, _HEIGHT_M)),
        plain.faces,
        plain.label,
        plain.reflectance,
        plain.material,
        plain.instance,
        plain.materials,
        body.name,
    )
    return mesh, (float(size[0]), float(size[1]), float(size[2]))


def _bend(vertices: Array, body: Body) -> Array:
    """The vertices (n, 3) of the plain car as another body has them."""
    bent = vertices.copy()
    cabin = vertices[:, 2] > _CABIN * _HEIGHT_M
    along = vertices[cabin, 0] / _LENGTH_M
    bent[cabin, 0] = np.interp(along, _PLAIN, body.cabin) * _LENGTH_M
    belt = ~cabin & (vertices[:, 2] > 0.4 * _HEIGHT_M)
    bent[belt, 2] = np.minimum(bent[belt, 2] * body.hood, _CABIN * _HEIGHT_M)
    return bent
