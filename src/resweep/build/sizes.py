"""How large a build is, and the tiles that it is divided into so that it fits into memory."""

from __future__ import annotations

from resweep.build.settings.base import BuildConfig
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.memory import format_memory

TILE_M = 50.0  # side of a tile where none is given; chosen by hand
MIN_TILE_M, MAX_TILE_M = 2.0, 10_000.0  # of a given one; chosen by hand
# A log of more points is built by tiles, however much memory there is, so that most bounds give the same bytes. Fitting
# takes about `POINT_BYTES` for each point (30 sweeps of KITTI raw 0051, 3.6 million points, took 2.4 GB in one piece).
WHOLE_POINTS = 3_000_000
BASE_BYTES = 700 * 10**6  # an interpreter with the libraries and one batch of sweeps, an estimate on the safe side
POINT_BYTES = 700  # by that measurement
AT_ONCE = 2  # tiles in one process: while one of them waits for the disk or for Python, the other computes
MAX_SQUARE_POINTS = 1_800_000  # that are fitted at once, however much memory there is; chosen by hand
MIN_SQUARE_POINTS = 200_000  # that must fit into memory, or a build is refused; chosen by hand


def choose_tiles(
    log: Log, config: BuildConfig, tile_m: float | None, bound: int, at_rest: bool, reasons: dict[str, str]
) -> tuple[float | None, int]:
    """The side of the tiles, None for one tile, and how many points are fitted at once."""
    points = count_points(log)
    need = count_bytes(points)
    if at_rest:
        return None, MAX_SQUARE_POINTS
    if not config.can_be_tiled:
        if tile_m is not None:
            raise ResweepError(
                "tile_m: this method needs the whole map in one piece; leave it out, or take a method that builds by "
                "tiles, such as hybrid or splats"
            )
        if need > bound:
            raise ResweepError(_too_large(log, points, need, bound))
        reasons["tile_m"] = "this method needs the whole map in one piece"
        return None, MAX_SQUARE_POINTS
    if tile_m is None and points <= WHOLE_POINTS and need <= bound:
        reasons["tile_m"] = f"about {points:,} points are built in one piece"
        return None, MAX_SQUARE_POINTS
    reasons["tile_m"] = "as given" if tile_m is not None else f"about {points:,} points"
    return tile_m or TILE_M, _count_square_points(bound)


def count_points(log: Log) -> int:
    """The points of a log, about, by its first sweep."""
    return len(log) * max(len(log[0]), 1)


def count_bytes(points: int) -> int:
    """Bytes that a build takes which holds so many points in memory, about."""
    return BASE_BYTES + points * POINT_BYTES


def _count_square_points(bound: int) -> int:
    """The most points of a square that fit into ``bound`` bytes; an error if hardly any do.

    It does not depend on the number of workers, so that these change no byte.
    """
    max_points = min(MAX_SQUARE_POINTS, (bound - BASE_BYTES) // (AT_ONCE * POINT_BYTES))
    if max_points < MIN_SQUARE_POINTS:
        need = BASE_BYTES + AT_ONCE * MIN_SQUARE_POINTS * POINT_BYTES
        raise ResweepError(
            f"memory: {format_memory(bound)} is too little for one tile; give at least {format_memory(need)}"
        )
    return int(max_points)


def check_workers(tile_m: float | None, square_points: int, workers: int, bound: int) -> None:
    """Raise if so many workers, each with a tile at a time, take more memory than they may."""
    together = workers * count_bytes(square_points)
    if workers > 1 and tile_m is not None and bound < together:
        raise ResweepError(
            f"memory: {format_memory(bound)} is too little for {workers} workers, which take up to "
            f"{format_memory(together)}; give that much, or fewer workers"
        )


def _too_large(log: Log, points: int, need: int, bound: int) -> str:
    less = "build from fewer sweeps" if log.cloud == "no" else "build from the part of it within bounds"
    return (
        f"log '{log.name}': this method holds all of its about {points:,} points in memory, which takes about "
        f"{format_memory(need)} of the {format_memory(bound)} allowed; {less}, allow more, or take a method that "
        "builds by tiles, such as hybrid or splats"
    )
