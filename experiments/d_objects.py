"""D, 3.2: objects cut out of a drive, each step of the method measured against the car they were cut from.

D shows its object bank but no figures of it. Here a known car is driven past an HDL-64E, with boxes that are off by
centimetres and a degree. The surfels of each variant are compared with the true car: after the rigid motion
that fits them best, as boxes that are off leave the frame of the object itself off, which is reported apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.car_drives import DRIVES, recorded, true_car
from experiments.presenting import BLUE, GREY, ORANGE, console, figure, main, progress, table
from experiments.range_models import Array
from resweep import Asset, Splats, World
from resweep.neighbours import Neighbours
from resweep.objects.bank_building import build_bank
from resweep.objects.coloured_icp import make_target, register
from resweep.objects.config import IcpConfig, ObjectConfig
from resweep.pose import from_xyz_rpy, transform
from resweep.simulate.scene import make_native_scene
from resweep.voxels import find_first_in_voxels
from resweep.worlds.layers.triangles import sample_faces

SHIFT_M, TURN_DEG = 0.06, 1.0  # how far boxes are off
NEAR_M = 0.1  # within which the true surface counts as covered, and a traced ray as right
FREE_M = 50.0
CLAIM = "mirroring gives a more complete shape; colour ICP refines it and accounts for errors in alignment"

VARIANTS: dict[str, ObjectConfig] = {
    "boxes alone": ObjectConfig(icp=None, mirror="never"),
    "mirrored": ObjectConfig(icp=None, mirror="always"),
    "ICP, geometry": ObjectConfig(icp=IcpConfig(geometric_share=1.0), mirror="never"),
    "coloured ICP": ObjectConfig(mirror="never"),
    "coloured ICP, mirrored": ObjectConfig(),
}

QUICK = ("boxes alone", "coloured ICP", "coloured ICP, mirrored")


def views(pitch_m: float, step_deg: float) -> tuple[Array, Array]:
    """Rays (n, 3) level and from above, from all sides, ``pitch_m`` apart: they sample the outside of the car."""
    across, up = np.meshgrid(np.arange(-2.6, 2.6, pitch_m), np.arange(0.05, 2.2, pitch_m), indexing="ij")
    plane = np.stack([np.full(across.size, 6.0), across.ravel(), up.ravel()], axis=1)
    origins, directions = [], []
    for pitch_deg in (2.0, 15.0):
        for yaw in np.radians(np.arange(0.0, 360.0, step_deg)):
            T = from_xyz_rpy(yaw=yaw, pitch=-np.radians(pitch_deg))
            origins.append(transform(T, plane))
            directions.append(np.broadcast_to(-T[:3, 0], plane.shape))
    return np.concatenate(origins).astype(np.float32), np.concatenate(directions).astype(np.float32)


def traced(layer: Any, origins: Array, directions: Array) -> Array:
    """Ranges (n,) to a layer, infinite where a ray meets nothing."""
    hits = make_native_scene(World([layer])).intersect(
        np.ascontiguousarray(origins), np.ascontiguousarray(directions), FREE_M
    )
    return np.asarray(hits["range"], np.float64)


class Truth:
    """The car itself: points all over it, and what rays from around it meet."""

    def __init__(self, fast: bool = False) -> None:
        self.mesh = true_car()
        self.surface = sample_faces(self.mesh.corners, 100_000 if fast else 400_000)
        self.origins, self.directions = views(0.1, 30.0) if fast else views(0.05, 15.0)
        self.ranges = traced(self.mesh, self.origins, self.directions)
        hit = np.isfinite(self.ranges)
        seen = self.origins[hit] + self.directions[hit] * self.ranges[hit, None].astype(np.float32)
        self.outside = seen[find_first_in_voxels(seen, 0.03)].astype(np.float64)

    def judge(self, asset: Asset) -> dict[str, float]:
        """How far an asset's surfels are from the car, how much of it they cover, and what rays meet of them."""
        splats = asset.layers[0]
        assert isinstance(splats, Splats)
        T = self._fitted(splats.centre.astype(np.float64))
        fitted = splats.moved(T)
        distance = _nearest(self.surface, fitted.centre)
        gap = _nearest(fitted.centre, self.outside)
        ranges = traced(fitted, self.origins, self.directions)
        both = np.isfinite(ranges) & np.isfinite(self.ranges)
        off = np.abs(ranges[both] - self.ranges[both])
        due = np.isfinite(self.ranges).sum()
        return {
            "points": asset.n_points,
            "surfels": len(splats),
            "error_median_m": float(np.median(distance)),
            "error_95_m": float(np.quantile(distance, 0.95)),
            "complete": float((gap < NEAR_M).mean()),
            "rays_right": float((off < NEAR_M).sum() / due),
            "rays_error_m": float(np.median(off)),
            "rays_false": float(
                (np.isfinite(ranges) & ~np.isfinite(self.ranges)).sum() / np.isfinite(self.ranges).sum()
            ),
            "frame_shift_m": float(np.linalg.norm(T[:3, 3])),
        }

    def _fitted(self, points: Array) -> Array:
        config = IcpConfig(geometric_share=1.0, normal_radius_m=0.08, iterations=20)
        rows = find_first_in_voxels(self.surface, 0.02)
        target = make_target(self.surface[rows], np.zeros(len(rows)), config)
        assert target is not None
        T = np.eye(4)
        for reach in (0.3, 0.15, 0.1):
            T = register(points, np.zeros(len(points)), None, target, T, np.full(6, 0.3), reach, config)
        return T


def _nearest(points: Array, queries: Array) -> Array:
    return np.sqrt(Neighbours(np.asarray(points, np.float64)).knn(np.asarray(queries, np.float64), 1).distance2[:, 0])


def run(fast: bool = False, seed: int = 3) -> dict[str, Any]:
    """Record each drive and build the car from it in every variant; ``fast`` takes one drive and few sweeps."""
    truth = Truth(fast)
    drives = DRIVES[1:2] if fast else DRIVES
    rows: dict[str, dict[str, dict[str, float]]] = {}
    shown: dict[str, Array] = {}
    for drive in progress(drives, "drives"):
        log = recorded(drive, range(19, 23) if fast else range(30), SHIFT_M, TURN_DEG, seed)
        rows[drive.name] = {}
        for name, config in VARIANTS.items():
            if fast and name not in QUICK:
                continue
            asset = next(iter(build_bank(log, config).values()))
            rows[drive.name][name] = truth.judge(asset)
            shown[name] = asset.layers[0].centres
    return {"box_shift_m": SHIFT_M, "box_turn_deg": TURN_DEG, "drives": rows, "paper": CLAIM, "_shown": shown}


def show(result: dict[str, Any]) -> None:
    """Print a row for each drive and variant, and whether the paper's claim holds."""
    made = table(
        f"A known car, boxes off by {100 * SHIFT_M:g} cm and {TURN_DEG:g}° (standard deviations)",
        "drive", "variant", "returns", "surfels", "error,\nmedian", "error,\n95 %", "covered", "rays\nright",
        "rays'\nerror", "rays\nfalse", "frame\noff",
    )  # fmt: skip
    for drive, variants in result["drives"].items():
        for name, row in variants.items():
            made.add_row(
                drive,
                name,
                f"{row['points']:,}",
                f"{row['surfels']:,}",
                f"{100 * row['error_median_m']:.1f} cm",
                f"{100 * row['error_95_m']:.1f} cm",
                f"{row['complete']:.0%}",
                f"{row['rays_right']:.0%}",
                f"{100 * row['rays_error_m']:.1f} cm",
                f"{row['rays_false']:.1%}",
                f"{100 * row['frame_shift_m']:.1f} cm",
            )
    console.print(made)
    console.print(f"Covered: of what is seen of the car from around it, within {100 * NEAR_M:g} cm of a surfel.")
    console.print(f"Paper: {CLAIM}. Here: {_in_words(result)}")


def _in_words(result: dict[str, Any]) -> str:
    better = [rows["coloured ICP"]["error_median_m"] < rows["boxes alone"]["error_median_m"] for rows in _rows(result)]
    fuller = [rows["coloured ICP, mirrored"]["complete"] > rows["coloured ICP"]["complete"] for rows in _rows(result)]
    return f"ICP lowers the error in {sum(better)} of {len(better)} drives, mirroring covers more in {sum(fuller)}."


def _rows(result: dict[str, Any]) -> list[dict[str, dict[str, float]]]:
    return list(result["drives"].values())


def draw(result: dict[str, Any]) -> Figure:
    """The last drive's surfels from above and from the side, variant by variant, over the true outline."""
    names = [name for name in VARIANTS if name in result["_shown"]]
    made, axes = figure(3.0 * len(names), 4.6, 2, len(names), sharex=True)
    mesh = true_car()
    outline = sample_faces(mesh.corners, 20_000)
    for column, name in enumerate(names):
        centre = result["_shown"][name]
        for axis, (x, y) in zip(axes[:, column], ((0, 1), (0, 2)), strict=True):
            axis.plot(outline[:, x], outline[:, y], ",", color=GREY, alpha=0.4)
            axis.plot(centre[:, x], centre[:, y], ".", markersize=1.2, color=BLUE if column < 3 else ORANGE)
            axis.set_aspect("equal")
        axes[0, column].set_title(name, fontsize=9)
    axes[0, 0].set_ylabel("y (m)", fontsize=8)
    axes[1, 0].set_ylabel("z (m)", fontsize=8)
    return made


if __name__ == "__main__":
    main("d_objects", "Objects cut out of a drive (D, 3.2).", run, show, draw)
