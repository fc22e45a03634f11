"""The native core of Resweep; private, use the resweep package."""

from collections.abc import Sequence
import enum
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


def load_embree(path: str, config: str = 'max_isa=avx2') -> None:
    """
    Open the Embree library at `path`, once a process. `config` is that of rtcNewDevice: with another than the default, other bytes may come out.
    """

def has_avx2() -> bool:
    """Whether the processor has AVX2 and fused multiply-adds."""

def thread_count(requested: int) -> int:
    """Number of threads used when `requested` are requested (0: all cores)."""

def set_thread_limit(threads: int) -> None:
    """
    Let all cores stand for `threads` of them at most, in this process; 0 takes the limit away.
    """

def embree_version() -> tuple[int, int]:
    """Major and minor version of the loaded Embree."""

def rigid_deviations(poses: Annotated[NDArray[numpy.float64], dict(shape=(None, 4, 4), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """
    How far poses (n, 4, 4) are from rigid motions (n,): infinity for a mirrored one, NaN for one with a number that is not finite.
    """

class Motion:
    """
    Poses over time: knots, with constant velocity and rotation rate between them.
    """

    def __init__(self, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], poses: Annotated[NDArray[numpy.float64], dict(shape=(None, 4, 4), order='C', device='cpu', writable=False)]) -> None: ...

    def at(self, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
        """Poses (n, 4, 4) at times."""

    def to_world(self, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], vectors: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order='C', device='cpu', writable=False)], directions: bool = False) -> NDArray[numpy.float64]:
        """
        Points (n, 3) of the moving frame, each at its own time, in the frame of the poses; or directions, which are rotated only.
        """

    def to_world_float(self, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], vectors: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], directions: bool = False) -> NDArray[numpy.float32]:
        """
        Points (n, 3) of the moving frame, each at its own time, in the frame of the poses; or directions, which are rotated only.
        """

class Spot(enum.Enum):
    """The shape of a beam's spot."""

    CIRCULAR = 0

    RECTANGULAR = 1

    ELLIPTICAL = 2

class Profile(enum.Enum):
    """How light is distributed over the spot."""

    UNIFORM = 0

    GAUSSIAN = 1

class ReturnMode(enum.Enum):
    """Which echoes of a pulse are reported."""

    FIRST = 0

    LAST = 1

    STRONGEST = 2

    STRONGEST_AND_LAST = 3

    MULTIPLE = 4

class StrongestBy(enum.Enum):
    """What makes an echo the strongest."""

    RAY = 0
    """Its most intense ray."""

    ECHO = 1
    """The light of its whole window."""

class BeamStatus(enum.IntEnum):
    """Why a beam has a return, or has none."""

    RETURN = 0

    NOTHING_HIT = 1

    BELOW_THRESHOLD = 2

    OUT_OF_RANGE = 3

    DROPPED = 4

    EMPTY_AS_RECORDED = 6

    UNKNOWN = 7

class PrimitiveKind(enum.IntEnum):
    """Which kind of primitive sent light back."""

    MESH = 1

    SPLATS = 2

    VOLUMES = 3

class Beam:
    """How one pulse becomes rays."""

    def __init__(self, *, offsets: Annotated[NDArray[numpy.float32], dict(shape=(None, 2), order='C', device='cpu', writable=False)], shares: Annotated[NDArray[numpy.float32], dict(shape=(None,), device='cpu', writable=False)], random: bool, n_rays: int, spot: Spot, profile: Profile, divergence_h: float, divergence_v: float) -> None:
        """
        `offsets` (k, 2): tangents of the rays of a stencil; `shares` (k,): how much of the beam each carries. Both are empty if rays are drawn at `random`. Divergences are full angles in radians.
        """

class Receiver:
    """How the light of a pulse becomes echoes."""

    def __init__(self, *, mode: ReturnMode, max_returns: int, strongest_by: StrongestBy, signal_cutoff: float, threshold: float, range_min: float, range_max: float, falloff_reference: float, separation: float = 0.0, signal_reference: float = 0.0) -> None:
        """
        Lengths in metres. A `falloff_reference` of 0: the intensity does not fall with range. A `signal_reference` of 0: the signal of an echo is its intensity, else that at this range.
        """

class Noise:
    """Errors of direction, range and intensity."""

    def __init__(self, *, range_sigma: float, range_sigma_per_m: float, range_quantum: float, intensity_sigma: float, encoder_step: float, pointing_sigma_h: float, pointing_sigma_v: float) -> None:
        """Metres, radians and relative intensity."""

class SensorCalibration:
    """Errors and gains of lasers, and chance in what is detected."""

    def __init__(self, *, range_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), device='cpu', writable=False)], gain: Annotated[NDArray[numpy.float32], dict(shape=(None,), device='cpu', writable=False)], signal: Annotated[NDArray[numpy.float32], dict(shape=(None,), device='cpu', writable=False)], probability: Annotated[NDArray[numpy.float32], dict(shape=(None,), device='cpu', writable=False)], range_sigma_per_tan: float) -> None:
        """
        `range_bias` in metres and `gain` have one value a ring, or none; `signal` and `probability` (k,) are the detection curve, rising both, or empty. Noise in metres.
        """

class Plan:
    """Beam, receiver and noise of a sensor."""

    def __init__(self, *, beam: Beam, receiver: Receiver, noise: Noise, calibration: SensorCalibration | None = None) -> None: ...

class Firing:
    """The pulses of a sweep, in the order in which they are traced."""

    def __init__(self, *, direction: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], time: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], chunk: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], reported: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)] | None = None, origin: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)] | None = None, ring: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None:
        """
        `direction` (b, 3) and `time` (b,) are those of the beams; `order` (n,) are the rows of the beams to fire, each at most once, and `chunk` (c + 1,) the bounds of chunks of neighbours in it. Beams that are not in `order` are dropped. `reported` (b, 3): directions as the sensor reports them, if other than `direction`; `origin` (b, 3): where pulses begin in the sensor's frame, if not at its origin; `ring` (b,): the laser of each beam, where lasers differ.
        """

def pulse_rays(plan: Plan, firing: Firing, motion: Motion, *, start: float = 0.0, seed: int, index: int) -> tuple[NDArray[numpy.float32], NDArray[numpy.float32]]:
    """
    The rays that `Scene.trace` traces, in its order: origins and directions (n, 3).
    """

class Shape:
    """Triangles or discs in an actor's frame, built once."""

    @staticmethod
    def triangles(triangles: object) -> Shape: ...

    @staticmethod
    def discs(discs: object) -> Shape: ...

class Actor:
    """Shapes in one frame, and the motion of that frame."""

    def __init__(self, *, shapes: list[Shape], motion: Motion, radius: float, instance: int, label: int) -> None:
        """
        `radius`: metres from the origin of the frame to the farthest point. An `instance` of 0 and a `label` of -1 keep those of the shapes.
        """

class ActorScene:
    """The actors of one sweep, each where it is at the time of every ray."""

    def __init__(self, actors: list[Actor], begin: float, end: float, centre: Sequence[float], radius: float) -> None:
        """
        The sweep lasts from `begin` to `end`, seconds. Actors that stay farther than `radius` from `centre` are not traced.
        """

    def present(self) -> NDArray[numpy.int32]:
        """Rows (k,) of the actors that are present in the sweep."""

    def poses(self, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]:
        """
        Poses (k, 4, 4) of the actors that are present, each at its own time, and their linear and angular velocities (k, 3).
        """

    def velocities(self, instance: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], time: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], points: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], sensor: Motion) -> tuple[NDArray[numpy.float32], NDArray[numpy.uint32]]:
        """
        Velocities (n, 3), metres per second, of what returns were measured on, and the number of returns (k,) of each actor that is present. `points` (n, 3) are in the sensor's frame at the time of firing.
        """

CONFIDENCE_FEATURES: int = 10

class ObservedSpace:
    """The voxels that recorded beams crossed."""

    def __init__(self, voxel: float) -> None:
        """`voxel`: side of a voxel, metres."""

    def mark(self, origins: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], *, spread: float = 0.0, threads: int = 0) -> None:
        """
        Add the voxels that beams (n, 3) cross, and those within `spread` radians above and below them.
        """

    def add(self, place: Annotated[NDArray[numpy.int32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], bits: Annotated[NDArray[numpy.uint64], dict(shape=(None, 8), order='C', device='cpu', writable=False)]) -> None:
        """Add blocks: places (n, 3) and bits (n, 8)."""

    def blocks(self) -> tuple[NDArray[numpy.int32], NDArray[numpy.uint64]]:
        """
        Places (n, 3) of the blocks of 8 x 8 x 8 voxels, in order, and their bits (n, 8).
        """

    def follow(self, origins: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], ranges: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], gap: float) -> tuple[NDArray[numpy.float32], NDArray[numpy.float32]]:
        """
        Metres (n,) of each beam that nobody observed, and the range (n,) at which it first leaves observed space for more than `gap`; infinity if it does not.
        """

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""

class Record:
    """What a world knows of how it was recorded, as the tracer takes it."""

    def __init__(self, space: ObservedSpace, gap: float, reach: float, weights: Annotated[NDArray[numpy.float32], dict(shape=(2, 10), order='C', device='cpu', writable=False)]) -> None:
        """
        `gap`: metres of unknown space that a beam may cross; `reach`: how far recorded beams looked; `weights` (2, n) of the confidence.
        """

BEYOND: float = 2.0

class Prototype:
    """Triangles that copies share, built once."""

    def __init__(self, triangles: object, n_copies: int) -> None:
        """`n_copies`: how many there are in the whole world."""

class Scene:
    """Native geometry, built once and traced many times."""

    def __init__(self, *, cell: bool = False) -> None:
        """
        A scene of layers; with `cell`, one for a part of a layer that is put into a divided scene.
        """

    def declare(self, kind: int, *, gathers: bool = False, permeable: bool = False) -> None:
        """
        Declare that a divided scene has a layer of this kind: 1 mesh, 2 splats, 3 volumes.
        """

    def divide(self, boxes: Annotated[NDArray[numpy.float32], dict(shape=(None, 6), order='C', device='cpu', writable=False)]) -> None:
        """
        Divide the scene into cells with these boxes (n, 6): lowest and highest corner.
        """

    def put(self, cell: int, scene: object | None) -> None:
        """
        Set the scene of a cell, or None if it is not at hand. No ray that is being traced may need it.
        """

    def add_triangles(self, triangles: object) -> None: ...

    def add_instances(self, instances: object, prototype: Prototype | None = None) -> None: ...

    def add_discs(self, discs: object, *, group: int = -1) -> None:
        """`group`: the layer of the world that the discs of a cell belong to."""

    def add_volumes(self, volumes: object) -> None: ...

    def commit(self) -> None:
        """
        Build the hierarchy over all that was added; before anything is traced.
        """

    def trace(self, plan: Plan, firing: Firing, motion: Motion, *, start: float = 0.0, seed: int, index: int, threads: int = 0, packet: int = 8, actors: ActorScene | None = None, record: Record | None = None, beyond: bool = True) -> dict[str, NDArray]:
        """
        What a sensor measures with these pulses: columns of returns (n,), `points` (n, 3) in the sensor's frame when it fired, and `beam_status` (b,). `start`: seconds that are added to the times of the firing; `seed` and `index` of the sweep pick the random numbers; `packet`: 1, 8 or 16 rays per Embree call. With a `record` returns have columns on how their primitives were seen, and beams without return have a status for those that look where nothing was recorded. Without `beyond` no beam has the status of one that would have hit something beyond the maximum range: it hit nothing.
        """

    def intersect(self, origins: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], range_max: float, threads: int = 0) -> dict[str, NDArray]:
        """
        Closest hits of rays (n, 3) with unit directions: range in metres, infinity for a miss.
        """

    def predict(self, origins: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], measured: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, *, sigma: float, clutter: float, window: float, slope: float, range_max: float, height: float = 0.0, reach: float | None = None, threads: int = 0) -> dict[str, NDArray]:
        """
        The most likely return of rays (n, 3), without random draws; none from farther than `reach`, metres.
        """

    def raw_floor(self, origins: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], range_max: float, packet: int = 8, threads: int = 0, repeats: int = 3) -> tuple[float, int]:
        """
        Seconds that Embree alone needs for these rays, the best of `repeats`, and how many hit.
        """

class Projection(enum.Enum):
    """How a camera maps directions to pixels."""

    PINHOLE = 0

    PANORAMIC = 1

    PARALLEL = 2

class Camera:
    """
    Where a camera stands and what it sees; its axes are x forward, y left, z up.
    """

    def __init__(self, *, projection: Projection, width: int, height: int, half_across: float, half_up: float, pose: Annotated[NDArray[numpy.float64], dict(shape=(4, 4), order='C', device='cpu', writable=False)]) -> None:
        """
        Half of what it sees: tangents of a pinhole, radians of a panorama, metres of parallel rays. `pose` (4, 4) is that of the camera around the world's origin.
        """

    def rays(self) -> tuple[NDArray[numpy.float32], NDArray[numpy.float32]]:
        """
        Origins and directions (n, 3) of the rays of all pixels, row by row from the upper left.
        """

def view(scene: Scene, camera: Camera, *, range_max: float, actors: ActorScene | None = None, second: float = 0.0, threads: int = 0) -> dict[str, NDArray]:
    """
    What a camera sees, by pixel: `range` (n,) metres along the ray, infinity for a miss, `normal` (n, 3) towards the camera, `reflected`, `label`, `instance` and `kind` (n,). Actors are where they are at `second`.
    """

class KdTree:
    """Points (n, 3), metres, in a k-d tree. Rows are those of the points."""

    @overload
    def __init__(self, points: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], threads: int = 0) -> None: ...

    @overload
    def __init__(self, points: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order='C', device='cpu', writable=False)], threads: int = 0) -> None: ...

    @property
    def step(self) -> float:
        """Metres to which coordinates are rounded."""

    def knn(self, queries: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order='C', device='cpu', writable=False)] | None, k: int, radius: float, threads: int = 0) -> tuple[NDArray[numpy.int32], NDArray[numpy.float32]]:
        """
        Rows and squared distances (m, k) of the nearest points by distance: -1 and infinity where there are fewer.
        """

    def radius_count(self, radius: float, threads: int = 0) -> NDArray[numpy.int32]:
        """How many points (n,) lie within `radius` of each."""

    def mean_radius(self, k: int, stride: int, threads: int = 0) -> float:
        """
        Mean distance to the farthest of the `k` nearest, from every `stride`-th leaf of points.
        """

    def mean_plane_distance(self, k: int, radius: float, stride: int, threads: int = 0) -> float:
        """
        Mean distance of neighbours from the plane of their point, from every `stride`-th leaf of points.
        """

    def pca(self, k: Annotated[NDArray[numpy.int32], dict(shape=(None,), device='cpu', writable=False)], radius: Annotated[NDArray[numpy.float32], dict(shape=(None,), device='cpu', writable=False)], only: Sequence[str], threads: int = 0) -> dict[str, NDArray]:
        """
        The shapes of the neighbourhoods; columns that `only` does not name are empty.
        """

    def grow(self, normal: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], k: Annotated[NDArray[numpy.int32], dict(shape=(None,), device='cpu', writable=False)], radius: Annotated[NDArray[numpy.float32], dict(shape=(None,), device='cpu', writable=False)], bound: Annotated[NDArray[numpy.float32], dict(shape=(None,), device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), device='cpu', writable=False)], alpha: float, beta: float, values: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int = 0) -> dict[str, NDArray]:
        """Splats that grow over the neighbourhoods of their seeds."""

    def join(self, normal: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], kind: Annotated[NDArray[numpy.int32], dict(shape=(None,), device='cpu', writable=False)], missing: Annotated[NDArray[numpy.int32], dict(shape=(None,), device='cpu', writable=False)], k: int, radius: float, beta: float, threads: int = 0) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32]]:
        """
        Rows of sparse points, and of the far neighbour that each is to be joined with.
        """

    def seed_order(self) -> NDArray[numpy.int32]:
        """
        Rows (n,) of the points in the order in which `grow` takes them as seeds.
        """

def in_free_cells(taken: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], points: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], size: float, threads: int = 0) -> NDArray[numpy.int64]:
    """
    Rows of the first of `points` in each cell of side `size` that holds none of `taken`.
    """

def carve(centre: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], normal: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], radius: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], ratio: Annotated[NDArray[numpy.float32], dict(shape=(None,), device='cpu', writable=False)], origin: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], point: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], measured: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], rounds: int, margin: float, margin_per_m: float, radius_min: float, threads: int = 0) -> NDArray[numpy.float32]:
    """
    Radii of discs cut back by the beams from `origin` to `point` that passed them; 0 for those removed.
    """

def tiles_of_beams(origins: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], size: float, margin: float = 0.0, threads: int = 0) -> tuple[NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.int32]]:
    """
    Rows of beams, and x and y of the square tiles of side `size` that each comes nearer to than `margin`.
    """

def beams_over(origins: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], low: Sequence[float], high: Sequence[float], threads: int = 0) -> NDArray[numpy.int64]:
    """
    Rows of the beams that cross the rectangle of the ground from `low` to `high`, both (x, y).
    """

def plane_equations(place: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order='C', device='cpu', writable=False)], raise_: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order='C', device='cpu', writable=False)], along: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order='C', device='cpu', writable=False)], reach: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], when: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ring: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], sweep: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], centre: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order='C', device='cpu', writable=False)], rings: int, row: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], near: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], normal: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order='C', device='cpu', writable=False)], error: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rates: bool) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    Normal equations of returns against the planes of their neighbourhoods: matrix (upper triangle) and slope.
    """

class BeamCounter:
    """How many beams pass volumes, and how many end in them."""

    def __init__(self, volumes: object) -> None: ...

    def add(self, origins: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], has_return: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], slope: float = 0.0, threads: int = 0) -> None:
        """Count further beams, each `slope` wide at 1 m."""

    def passed(self) -> NDArray[numpy.uint32]: ...

    def stopped(self) -> NDArray[numpy.uint32]: ...

    def exposure(self) -> NDArray[numpy.float32]:
        """Mean exposure of the counted beams, metres."""

class ImplicitMethod(enum.Enum):
    """How a surface is fitted to oriented points."""

    IMLS = 0

    RIMLS = 1

def signed_distances(*, cube: Annotated[NDArray[numpy.int32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], part: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order='C', device='cpu', writable=False)], normal: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order='C', device='cpu', writable=False)], side: int, method: ImplicitMethod, reach: float, sigma: float, truncation: float, sigma_normal: float, refits: int, min_points: int) -> tuple[NDArray[numpy.float32], NDArray[numpy.uint8]]:
    """
    Signed distances (side³) at the corners of a tile, in voxels, and which of them are known.
    """

class Purpose(enum.IntEnum):
    """What a random number is for."""

    RANGE_NOISE = 1

    SPOT = 2

    POINTING = 3

    INTENSITY_NOISE = 4

    VOLUMES = 5

    RAYDROP = 6

    DETECTION = 8

def philox(seed: int, sweep: int, beam: int, ray: int, purpose: Purpose) -> tuple[int, int, int, int]:
    """The four random words of one purpose."""

def draw_uniform(seed: int, sweep: int, beams: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], purpose: Purpose) -> NDArray[numpy.float64]:
    """
    A number in (0, 1) for each beam (n,), of one purpose: the first word of its ray 0.
    """

def draw_normals(seed: int, sweep: int, beams: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], ray: int, purpose: Purpose) -> NDArray[numpy.float64]:
    """`normal` of the first word of each beam (n,), many at once."""

def normal(word: int) -> float:
    """The standard normal number of one random word."""

def receive(plan: Plan, light: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], instance: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[BeamStatus, list[tuple[float, float, int, int]]]:
    """
    The status and the echoes (range, intensity, label, instance) of one pulse. `light` (n, 3): range, share of the beam and reflected light of its events.
    """

class BeamStatistics:
    """Sums over the beams that hit or crossed each disc and each volume."""

    def __init__(self, n_discs: int, n_volumes: int, *, offsets: bool = True, rings: bool = False, moments: bool = False) -> None: ...

    def add(self, scene: Scene, origins: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], measured: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], *, sigma: float, clutter: float, slope: float, range_max: float, cosine_min: float, height: float, margin: float, threads: int = 0) -> dict[str, NDArray]:
        """
        Add beams (n,) that are traced in the scene; `measured` is infinity without return. Gives the `log_likelihood` (n,) of each, and the share of it that is `clutter`.
        """

    def ended(self) -> NDArray[numpy.float64]: ...

    def passed(self) -> NDArray[numpy.float64]: ...

    def offset(self) -> NDArray[numpy.float64]: ...

    def weight(self) -> NDArray[numpy.float64]: ...

    def stopped(self) -> NDArray[numpy.float64]: ...

    def let_pass(self) -> NDArray[numpy.float64]: ...

    def exposure(self) -> NDArray[numpy.float64]: ...

    def ended_by_ring(self) -> NDArray[numpy.float64]:
        """
        Beams that ended on each ring of each disc, disc by disc; of `passed_by_ring` those that passed.
        """

    def passed_by_ring(self) -> NDArray[numpy.float64]: ...

    def end_moments(self) -> NDArray[numpy.float64]:
        """
        Sums over the ends in each volume, seen from its mean: x, y, z, xx, xy, xz, yy, yz, zz.
        """

def sin(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """The sine of each value, radians."""

def cos(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """The cosine of each value, radians."""

def tan(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """The tangent of each value, radians."""

def arcsin(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """The angle, radians, of each sine."""

def arctan(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """The angle, radians, of each tangent."""

def exp(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """e to the power of each value."""

def log(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """The natural logarithm of each value."""

def log1p(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """The natural logarithm of one more than each value."""

def arctan2(y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """The angle, radians, of each (x, y)."""

def power(base: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], exponent: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """Each base to its exponent."""

def eigen3(matrices: Annotated[NDArray[numpy.float64], dict(shape=(None, 3, 3), order='C', device='cpu', writable=False)]) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    Eigenvalues (n, 3), descending, and eigenvectors (n, 3, 3), a row each, of symmetric matrices (n, 3, 3) that are positive semidefinite up to rounding.
    """

def solve(matrices: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """
    The x (k, n, m) of A x = b for symmetric positive definite matrices (k, n, n) and right sides (k, n, m).
    """

def count_seen_through(*, points: Annotated[NDArray[numpy.float32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], sweep: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], passed: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')], confirmed: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')], number: int, pose: Annotated[NDArray[numpy.float64], dict(shape=(4, 4), order='C', device='cpu', writable=False)], near: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], far: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], first_row: int, all_rows: int, cell: float, reach: float, margin: float, margin_per_m: float, threads: int = 0) -> None:
    """
    Add 1 to `passed` for every point that the range image of sweep `number` sees through, and to `confirmed` for every one that it confirms. `pose` takes points into the frame of the image.
    """

class Solid:
    """Surfaces that carry or stop a vehicle."""

    def __init__(self, scene: object, origin: Sequence[float], ground: Sequence[int], unlabelled: Sequence[int]) -> None:
        """
        `ground` are the ids of the classes of the ground, `unlabelled` those that stand for no class.
        """

    def strike(self, poses: Annotated[NDArray[numpy.float64], dict(shape=(None, 4, 4), order='C', device='cpu', writable=False)], begin: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order='C', device='cpu', writable=False)], along: Annotated[NDArray[numpy.float64], dict(shape=(None, 3), order='C', device='cpu', writable=False)], length: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], side_on: float) -> tuple[int, list[float], int, int] | None:
        """
        The first of poses (n, 4, 4) at which a ray (r, 3) of the vehicle's frame hits something that is no ground within its length: its number, where in the world, label and instance; None if none does. What has no label is ground where it is hit with a cosine below `side_on`.
        """

    def heights(self, places: Annotated[NDArray[numpy.float64], dict(shape=(None, 2), order='C', device='cpu', writable=False)], near: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, step: float, drop: float, skip: float, upward: float, deepest: int, labelled: bool) -> NDArray[numpy.float64]:
        """
        Height (n,) of the ground below places (n, 2), near heights (n,); NaN where there is none.
        """

def stand_on(wheels: Annotated[NDArray[numpy.float64], dict(shape=(4, 2), order='C', device='cpu', writable=False)], wheelbase: float, track: float, steepest: float, places: Annotated[NDArray[numpy.float64], dict(shape=(None, 2), order='C', device='cpu', writable=False)], cosine: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sine: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], heights: Annotated[NDArray[numpy.float64], dict(shape=(None, 4), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """
    Poses (n, 4, 4) of a vehicle with its wheels (4, 2) at heights (n, 4); NaN where it cannot stand.
    """

def find_contact(vehicle: Motion, box: Annotated[NDArray[numpy.float64], dict(shape=(2, 3), order='C', device='cpu', writable=False)], actor: Motion, actor_box: Annotated[NDArray[numpy.float64], dict(shape=(2, 3), order='C', device='cpu', writable=False)], start: float, end: float) -> tuple[float, float]:
    """
    The second of the first contact of two moving boxes (2, 3), NaN if none, and the least distance before it.
    """

def watch_actors(vehicle: Motion, box: Annotated[NDArray[numpy.float64], dict(shape=(2, 3), order='C', device='cpu', writable=False)], actors: list[Motion], boxes: Annotated[NDArray[numpy.float64], dict(shape=(None, 2, 3), order='C', device='cpu', writable=False)], radii: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, reach: float, near: float, horizon: float) -> list[tuple[float, float, float] | None]:
    """
    Of each actor along the motion of a vehicle: contact and distance as `find_contact` gives them, infinity where it stays farther than `near`, and the time to collision; None if it is not there.
    """

class IntensityTables:
    """
    Distributions of recorded intensities by kind, range and expected intensity.
    """

    def __init__(self, kinds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], range_edges: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], table_of: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], last: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], expected: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], quantiles: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], response: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], shift: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], spread: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], independent: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], next_weight: float, step: float, ceiling: float, reach: float) -> None:
        """
        As `resweep.sensor_scatter.IntensityScatter` has them, rows of fewer knots than the longest filled up, and quantiles at even steps of normal numbers from `-reach` to `reach`.
        """

class RangeTable:
    """Sigma of ranges by range and incidence."""

    def __init__(self, range_edges: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], cosine_limits: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], sigma: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], step: float) -> None:
        """
        The bin of incidence is how many of the `cosine_limits` are not below its cosine.
        """

class LossTable:
    """The chance that a return is lost."""

    def __init__(self, range_edges: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], cosine_limits: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], intensity_edges: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], chance: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)]) -> None:
        """By range, incidence and expected intensity."""

class SweepReturns:
    """Columns of the returns (n,) and of the beams (b,) of a sweep."""

    def __init__(self, beam: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], return_index: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], surface: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], range: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], intensity: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], cosine: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, ring: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], turn: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

def draw_intensities(tables: IntensityTables, returns: SweepReturns, seed: int, sweep: int, gain: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int) -> NDArray[numpy.float32]:
    """
    Intensities (n,) drawn about those of the returns. With the `gain` (n,) of their lasers, these are those of the tables.
    """

def draw_ranges(table: RangeTable, returns: SweepReturns, seed: int, sweep: int, threads: int) -> NDArray[numpy.float32]:
    """Ranges (n,) with noise."""

def draw_losses(table: LossTable, returns: SweepReturns, seed: int, sweep: int, threads: int) -> NDArray[numpy.uint8]:
    """1 for each beam (b,) whose first return is lost, else 0."""
