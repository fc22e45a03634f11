"""The native core of Resweep; private, use the resweep package."""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


def load_embree(path: str) -> None:
    """Open the Embree library at `path`; once a process."""

def packet_width(asked: int) -> int:
    """Rays an Embree call when `asked` are asked for (0: best)."""

def thread_count(asked: int) -> int:
    """Threads used when `asked` are asked for (0: all cores)."""

def embree_version() -> tuple:
    """Major and minor version of the loaded Embree."""

class Plan:
    """Beam, receiver and noise of a sensor."""

    @staticmethod
    def make(*, offsets: Annotated[NDArray[numpy.float32], dict(shape=(None, 2), order='C', device='cpu', writable=False)], shares: Annotated[NDArray[numpy.float32], dict(shape=(None,), device='cpu', writable=False)], random: bool, n_rays: int, spot: int, profile: int, divergence: tuple[float, float], mode: int, max_returns: int, receiver: dict, noise: dict) -> Plan: ...

class Firing:
    """The pulses of a sweep in the order in which they are traced."""

    def __init__(self, *, direction: Annotated[NDArray[numpy.float32], dict(shape=(3, None), order='C', device='cpu', writable=False)], time: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], beam: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], chunk: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], reported: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], origin: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)] | None) -> None: ...

def trajectory_at(times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], knot_times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], knots: Annotated[NDArray[numpy.float64], dict(shape=(None, 4, 4), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """Poses (n, 16) at times, between knots."""

def carried_float(times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], vectors: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], knot_times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], knots: Annotated[NDArray[numpy.float64], dict(shape=(None, 4, 4), order='C', device='cpu', writable=False)], turned_only: bool = False) -> NDArray[numpy.float32]:
    """
    Points (n, 3) of a moving frame, or directions, each at its own time, in the frame that the knots lead to.
    """

def carried(times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], vectors: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order='C', device='cpu', writable=False)], knot_times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], knots: Annotated[NDArray[numpy.float64], dict(shape=(None, 4, 4), order='C', device='cpu', writable=False)], turned_only: bool = False) -> NDArray[numpy.float64]:
    """
    Points (n, 3) of a moving frame, or directions, each at its own time, in the frame that the knots lead to.
    """

class Shape:
    """Triangles or discs in an actor's frame, built once."""

    @staticmethod
    def triangles(triangles: object) -> Shape: ...

    @staticmethod
    def discs(discs: object) -> Shape: ...

class Actor:
    """Shapes in one frame, and the poses of that frame over time."""

    def __init__(self, *, shapes: list, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], knots: Annotated[NDArray[numpy.float64], dict(shape=(None, 4, 4), order='C', device='cpu', writable=False)], radius: float, instance: int, label: int) -> None: ...

class Stage:
    """The actors of one sweep, each where it is at every ray's own time."""

    def __init__(self, actors: list, begin: float, end: float, centre: Sequence[float], reach: float) -> None: ...

    def present(self) -> NDArray[numpy.int32]: ...

    def poses(self, seconds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
        """
        Poses (k, 16) of the actors that are present, and their linear and angular velocities (k, 3).
        """

    def velocities(self, instance: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], points: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], knot_times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], knots: Annotated[NDArray[numpy.float64], dict(shape=(None, 4, 4), order='C', device='cpu', writable=False)]) -> tuple:
        """
        Velocities (n, 3) of returns, and how many returns each actor that is present has.
        """

class Scene:
    """Native geometry, built once and traced many times."""

    def __init__(self) -> None: ...

    def add_triangles(self, triangles: object) -> None: ...

    def add_instances(self, instances: object) -> None: ...

    def add_discs(self, discs: object) -> None: ...

    def add_volumes(self, volumes: object) -> None: ...

    def commit(self) -> None: ...

    def sweep(self, plan: Plan, firing: Firing, knot_times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], knots: Annotated[NDArray[numpy.float64], dict(shape=(None, 4, 4), order='C', device='cpu', writable=False)], start: float, seed: int, index: int, threads: int = 0, packet: int = 0, stage: Stage | None = None) -> dict:
        """Fire, trace and receive one sweep."""

    def rays(self, plan: Plan, firing: Firing, knot_times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], knots: Annotated[NDArray[numpy.float64], dict(shape=(None, 4, 4), order='C', device='cpu', writable=False)], start: float, seed: int, index: int) -> tuple:
        """
        The rays that `sweep` traces, in its order: origins and directions (n, 3).
        """

    def raw_floor(self, origins: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], range_max: float, packet: int = 0, threads: int = 0, repeats: int = 3) -> tuple:
        """
        Seconds that Embree alone needs for these rays, the best of `repeats`, and how many hit.
        """

    def predict(self, origins: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], measured: Annotated[NDArray[numpy.float32], dict(shape=(None,), device='cpu', writable=False)] | None, *, sigma: float, clutter: float, window: float, slope: float, range_max: float, threads: int = 0) -> dict:
        """What rays (n, 3) are expected to measure."""

    def intersect(self, origins: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], range_max: float, threads: int = 0) -> dict:
        """
        Closest hits of rays (n, 3) with unit directions: range in metres, infinity for a miss.
        """

class BeamCounter:
    """How many beams pass volumes, and how many end in them."""

    def __init__(self, arg: object, /) -> None: ...

    def add(self, origins: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.float32], dict(shape=(None,), device='cpu', writable=False)], returned: Annotated[NDArray[numpy.bool_], dict(shape=(None,), device='cpu', writable=False)], slope: float = 0.0, threads: int = 0) -> None: ...

    def passed(self) -> NDArray[numpy.uint32]: ...

    def stopped(self) -> NDArray[numpy.uint32]: ...

    def exposure(self) -> NDArray[numpy.float32]: ...

def least_squares(*, cube: Annotated[NDArray[numpy.int32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], part: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order='C', device='cpu', writable=False)], normal: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order='C', device='cpu', writable=False)], side: int, robust: bool, reach: float, sigma: float, truncation: float, sigma_normal: float, refits: int, fewest: int) -> tuple:
    """
    Signed distances (side³) at the corners of a tile, in voxels, and which of them are known.
    """

class KdTree:
    """
    Points in a k-d tree, and the neighbourhoods of each; rows are those of the points.
    """

    @overload
    def __init__(self, points: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], threads: int = 0) -> None: ...

    @overload
    def __init__(self, points: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order='C', device='cpu', writable=False)], threads: int = 0) -> None: ...

    @property
    def step(self) -> float:
        """Metres between neighbouring coordinates."""

    def knn(self, queries: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order='C', device='cpu', writable=False)] | None, k: int, radius: float, threads: int = 0) -> tuple:
        """Rows and squared distances (m · k) of the nearest points, by distance."""

    def radius_count(self, radius: float, threads: int = 0) -> NDArray[numpy.int32]: ...

    def mean_radius(self, k: int, stride: int, threads: int = 0) -> float: ...

    def mean_plane_distance(self, k: int, radius: float, stride: int, threads: int = 0) -> float: ...

    def pca(self, k: Annotated[NDArray[numpy.int32], dict(shape=(None,), device='cpu', writable=False)], radius: Annotated[NDArray[numpy.float32], dict(shape=(None,), device='cpu', writable=False)], only: Sequence[str], threads: int = 0) -> dict: ...

    def grow(self, normal: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], k: Annotated[NDArray[numpy.int32], dict(shape=(None,), device='cpu', writable=False)], radius: Annotated[NDArray[numpy.float32], dict(shape=(None,), device='cpu', writable=False)], bound: Annotated[NDArray[numpy.float32], dict(shape=(None,), device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), device='cpu', writable=False)], alpha: float, beta: float, values: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int = 0) -> dict: ...

    def join(self, normal: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], kind: Annotated[NDArray[numpy.int32], dict(shape=(None,), device='cpu', writable=False)], missing: Annotated[NDArray[numpy.int32], dict(shape=(None,), device='cpu', writable=False)], k: int, radius: float, beta: float, threads: int = 0) -> tuple:
        """
        Rows of sparse points, and of the far neighbours that each is to be joined with.
        """

    def seed_order(self) -> NDArray[numpy.int32]: ...

def in_free_cells(taken: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], points: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], size: float, threads: int = 0) -> NDArray[numpy.int64]:
    """
    Rows of the first of `points` in each cell of side `size` that holds none of `taken`.
    """

def carve(centre: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], normal: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], radius: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], ratio: Annotated[NDArray[numpy.float32], dict(shape=(None,), device='cpu', writable=False)], origin: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], point: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], seen: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], rounds: int, margin: float, margin_per_m: float, radius_min: float, threads: int = 0) -> NDArray[numpy.float32]:
    """
    Radii of discs cut back by the beams from `origin` to `point` that passed them; 0 for those left out.
    """

def philox(seed: int, sweep: int, beam: int, ray: int, purpose: int) -> tuple:
    """The four random words of one purpose, for the tests."""

def normal(word: int) -> float:
    """The standard normal number of one random word, for the tests."""

def receive(plan: Plan, light: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), device='cpu', writable=False)], instance: Annotated[NDArray[numpy.int32], dict(shape=(None,), device='cpu', writable=False)]) -> tuple:
    """
    The receiver on the events of one pulse: rows of range, share and reflected light.
    """
