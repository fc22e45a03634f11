"""Where the lasers of a spinning sensor point, fitted to the points of a log.

A laser at height h on the spin axis with elevation e sees points with z = h + ρ tan e, ρ the horizontal
distance. In the frame of a scan whose motion was compensated, points moved by t + u τ and turned by small
angles that grow with τ, the turn's phase from -½ to ½. All are found together by robust least squares, so
that the motion that blurs the rings of such a scan is found from the rings themselves.

Where points have no times, τ follows from their azimuth as measured, which compensation changed too: by 5° at 4 m
beside a car at 15 m/s. It is found in turn with the motion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resweep import portable
from resweep.pose import Array
from resweep.sensors.infer.find_rings import compute_azimuth_deg

_ITERATIONS = 8
# Priors: motion of a vehicle in a sweep (m), its turning in a sweep, the frame's place (m) and tilt (rad).
_MOTION_SIGMA = np.array([2.0, 2.0, 0.5, 0.03, 0.03, 0.3, 0.3, 0.03, 0.03])
_HEIGHT_SIGMA_M = (0.3, 0.05)  # of a laser about the sensor's origin, then about its neighbours
_STILL = np.array([0.02, 0.02, 0.02, 3e-4, 3e-4, 0.02, 0.02, 3e-4, 3e-4])  # below it there is no motion
_PHASE_STEPS = 3  # each leaves a tenth of the error, at 4 m beside a car at 15 m/s
_POINTS_PER_TERM = 50.0  # errors of neighbouring points are correlated: so many count as one


@dataclass(frozen=True, eq=False)
class Channels:
    """Lasers by ring: ``elevation_rad`` (k,) and ``height_m`` (k,) above the origin, on the axis.

    Rings that no point was seen on have the elevation NaN.
    """

    elevation_rad: Array
    height_m: Array

    def slope(self, ring: Array, level: Array) -> Array:
        """z/ρ that ``ring`` (n,) sees at the horizontal distance ``level`` (n,)."""
        return np.asarray(portable.tan(self.elevation_rad)[ring] + self.height_m[ring] / level)


@dataclass(frozen=True, eq=False)
class RingMotion:
    """How motion compensation moved the points of a scan: ``terms`` are u (3), ω (2), t (2), tilt (2)."""

    terms: Array

    @property
    def is_still(self) -> bool:
        """Whether no motion shows in the points."""
        return bool((np.abs(self.terms) < _STILL).all())

    def shift(self, phase: Array) -> Array:
        """Origin (n, 3) of beams fired at ``phase``, in the scan's frame."""
        shift = phase[:, None] * self.terms[:3]
        shift[:, :2] += self.terms[5:7]
        return np.asarray(shift)

    def turn(self, vectors: Array, phase: Array, sense: float) -> Array:
        """``vectors`` (n, 3) turned by the small rotation at ``phase``, back for ``sense`` -1."""
        angle = sense * (phase[:, None] * self.terms[3:5] + self.terms[7:9])
        x, y, z = vectors.T
        turned: Array = vectors.copy()
        turned[:, 0] += angle[:, 1] * z
        turned[:, 1] -= angle[:, 0] * z
        turned[:, 2] += angle[:, 0] * y - angle[:, 1] * x
        return turned

    def undo(self, points: Array, phase: Array) -> Array:
        """Points (n, 3) as the sensor measured them when it fired."""
        return self.turn(points - self.shift(phase), phase, -1.0)

    def measured_phase(self, points: Array, phase: Array) -> Array:
        """Phase (n,) by the azimuth that points (n, 3) were measured at; ``phase`` is by that which they have."""
        if self.is_still:
            return phase
        azimuth, measured = compute_azimuth_deg(points), phase
        for _ in range(_PHASE_STEPS):
            turned = compute_azimuth_deg(self.undo(points, measured)) - azimuth
            measured = phase + ((turned + 180.0) % 360.0 - 180.0) / 360.0
        return measured


STILL = RingMotion(np.zeros(9))


def fit_channels(
    scans: list[tuple[Array, Array, Array]], n_rings: int, timed: list[bool]
) -> tuple[Channels, list[RingMotion]]:
    """Channels and each scan's motion from scans of (points (n, 3), ring (n,), phase (n,)).

    Phases are by the times of the points where a scan is ``timed``, else by their azimuths.
    """
    motions = [STILL for _ in scans]
    elevation, height = np.zeros(n_rings), np.zeros(n_rings)
    spread = np.inf
    for iteration in range(_ITERATIONS):
        total = _Normal(n_rings, len(scans))
        for at, (points, ring, phase) in enumerate(scans):
            if not timed[at]:
                phase = motions[at].measured_phase(points, phase)
            slope, level, columns = _make_design(motions[at].undo(points, phase), phase)
            weight = np.ones(len(ring))
            if iteration:
                error = (slope - portable.tan(elevation)[ring] - height[ring] / level) / (1.0 + slope**2)
                spread = _measure_spread(error)
                weight = 1.0 / (1.0 + (error / (2.0 * spread)) ** 2)
            total.add(at, slope, level, columns, ring, weight)
        sigma = spread if np.isfinite(spread) else 0.01
        prior = np.zeros(n_rings) if iteration < _ITERATIONS // 2 else _smooth(height, total.height_share(sigma))
        width = _HEIGHT_SIGMA_M[int(iteration >= _ITERATIONS // 2)]
        tangent, height, steps = total.solve(sigma, prior, width, np.stack([motion.terms for motion in motions]))
        elevation = portable.arctan(tangent)
        motions = [RingMotion(motion.terms + step) for motion, step in zip(motions, steps, strict=True)]
    seen = np.bincount(np.concatenate([ring for _, ring, _ in scans]), minlength=n_rings) > 0
    return Channels(np.where(seen, elevation, np.nan), height), motions


def fit_motion(channels: Channels, points: Array, ring: Array, phase: Array, *, timed: bool) -> RingMotion:
    """The motion compensated in a scan of known ``channels``; `STILL` where there is none to be seen.

    Phases are by the times of the points if the scan is ``timed``, else by their azimuths.
    """
    terms = np.zeros(9)
    if len(points) < 200:
        return STILL
    for _ in range(4):
        now = phase if timed else RingMotion(terms).measured_phase(points, phase)
        slope, level, columns = _make_design(RingMotion(terms).undo(points, now), now)
        square = 1.0 + slope**2
        error = (slope - channels.slope(ring, level)) / square
        spread = _measure_spread(error)
        weight = 1.0 / (1.0 + (error / (2.0 * spread)) ** 2)
        columns = columns / square[:, None]
        prior = np.diag(_POINTS_PER_TERM * (spread / _MOTION_SIGMA) ** 2)
        left = portable.matmul(columns.T, columns * weight[:, None]) + prior
        terms = terms + portable.solve(left, portable.matmul(columns.T, weight * error) - portable.matmul(prior, terms))
    motion = RingMotion(terms)
    return STILL if motion.is_still else motion


def _measure_spread(error: Array) -> float:
    return max(1.48 * float(np.median(np.abs(error))), 1e-6)


def _smooth(height: Array, share: Array) -> Array:
    """Mean height of the nearest rings, each counted by how well its own points show it (``share``)."""
    apart = np.abs(np.arange(len(height))[:, None] - np.arange(len(height)))
    weight = portable.exp(-apart / 2.0) * share
    return np.asarray(portable.matmul(weight, height) / np.maximum(weight.sum(axis=1), 1e-12))


def _make_design(points: Array, phase: Array) -> tuple[Array, Array, Array]:
    """z/ρ and ρ of points, and how z/ρ changes with each of the nine motion terms (n, 9)."""
    level = np.maximum(np.hypot(points[:, 0], points[:, 1]), 0.1)
    slope, cos, sin = points[:, 2] / level, points[:, 0] / level, points[:, 1] / level
    square = 1.0 + slope**2
    x, y, roll, pitch = -slope * cos / level, -slope * sin / level, sin * square, -cos * square
    columns = np.stack([x * phase, y * phase, phase / level, roll * phase, pitch * phase, x, y, roll, pitch], axis=1)
    return slope, level, columns


class _Normal:
    """Normal equations of two unknowns a ring and nine a scan, solved ring by ring (Schur complement)."""

    def __init__(self, n_rings: int, n_scans: int) -> None:
        self.ring = np.zeros((n_rings, 2, 2))
        self.ring_right = np.zeros((n_rings, 2))
        self.cross = np.zeros((n_rings, 2, 9 * n_scans))
        self.motion = np.zeros((9 * n_scans, 9 * n_scans))
        self.motion_right = np.zeros(9 * n_scans)

    def add(self, scan: int, slope: Array, level: Array, columns: Array, ring: Array, weight: Array) -> None:
        count = len(self.ring)
        scaled = weight / (1.0 + slope**2) ** 2  # residuals count as angles

        def summed(values: Array) -> Array:
            return np.bincount(ring, values * scaled, minlength=count)

        near = 1.0 / level
        self.ring[:, 0, 0] += summed(np.ones(len(ring)))
        self.ring[:, 0, 1] += summed(near)
        self.ring[:, 1, 1] += summed(near**2)
        self.ring_right += np.stack([summed(slope), summed(slope * near)], axis=1)
        part = slice(9 * scan, 9 * scan + 9)
        for at in range(9):
            self.cross[:, 0, 9 * scan + at] += summed(columns[:, at])
            self.cross[:, 1, 9 * scan + at] += summed(columns[:, at] * near)
        self.motion[part, part] += portable.matmul(columns.T, columns * scaled[:, None])
        self.motion_right[part] += portable.matmul(columns.T, scaled * slope)

    def height_share(self, sigma: float) -> Array:
        """How far the points show each ring's height (k,): 0 where all are at one distance, to 1."""
        count, near, square = self.ring[:, 0, 0] + 1e-9, self.ring[:, 0, 1], self.ring[:, 1, 1]
        shown = np.maximum(square - near**2 / count, 0.0)
        return np.asarray(shown / (shown + _POINTS_PER_TERM * sigma**2 / _HEIGHT_SIGMA_M[1] ** 2) + 1e-9)

    def solve(self, sigma: float, height: Array, height_sigma: float, motion: Array) -> tuple[Array, Array, Array]:
        """tan e and h of each ring, and the steps (scans, 9) that the motions take."""
        scale = _POINTS_PER_TERM * sigma**2
        ring, right = self.ring.copy(), self.ring_right.copy()
        ring[:, 1, 0] = ring[:, 0, 1]
        ring[:, 0, 0] += 1e-9
        ring[:, 1, 1] += scale / height_sigma**2
        right[:, 1] += height * scale / height_sigma**2
        prior = np.tile(scale / _MOTION_SIGMA**2, len(motion))
        solved = portable.solve(ring, np.concatenate([right[:, :, None], self.cross], axis=2))
        left = self.motion + np.diag(prior) - np.einsum("kim,kin->mn", self.cross, solved[:, :, 1:])
        step = portable.solve(
            left, self.motion_right - prior * motion.reshape(-1) - np.einsum("kim,ki->m", self.cross, solved[:, :, 0])
        )
        channels = solved[:, :, 0] - portable.matmul(solved[:, :, 1:], step)
        return channels[:, 0], channels[:, 1], step.reshape(-1, 9)
