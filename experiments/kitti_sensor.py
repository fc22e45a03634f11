"""The lasers of KITTI's HDL-64E, fitted to its recordings: the catalog's kitti-hdl-64e.

KITTI's files hold points as the maker's calibration computed them, rounded to millimetres, and not the calibration.
But it shows in them. The points of a laser lie on a cone: z = v/cos e + ρ tan e gives its elevation e and vertical
offset v. Azimuths come from an encoder of 4,000 counts a turn, so a laser's azimuths lie on a grid of 0.09° once the
horizontal offset h, which turns near points by h/ρ, is taken out: h is where they crowd most. All lasers share the
readings of the encoder, of which a turn uses about half, in a pattern that the motor never repeats: the shift between
the readings of two lasers is the difference of their rotational corrections. Their mean is unknown, and set to zero.

Sweeps 0 to 19 of drive 0051 (not motion-compensated) are used for the fit. Sweeps 20 to 29 and, where they are there,
SemanticKITTI's sequences of another day test it, against the evenly spaced channels of velodyne-hdl-64e. The recordings
are not part of the project: name their folder in RESWEEP_TEST_DATA.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from experiments.presenting import BLUE, GREY, ORANGE, console, figure, main, progress, table
from resweep import load_sensor, open_log
from resweep.sensors import Sensor
from resweep.sensors.infer.beam_grid import estimate_grid
from resweep.sensors.infer.find_rings import find_stored_turns

Array = NDArray[Any]

DATA = Path(os.environ.get("RESWEEP_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
DRIVE, OTHER_DAYS = "kitti_raw_0051_30", ("00", "04", "05")
FITTED, EVEN = "kitti-hdl-64e", "velodyne-hdl-64e"
LASERS, COUNTS = 64, 4000
COUNT_DEG = 360.0 / COUNTS
FIRING_S = 48e-6  # of velodyne-hdl-64e-s2
NEAR_M = 3.0  # nearer points, rounded to millimetres, blur the azimuth
OFFSETS_M = np.arange(-0.06, 0.0605, 0.001)
SHIFTS = np.arange(-240, 241)  # counts: ±21.6°
ITERATIONS = 10
DRAWN = 4000  # points of a laser that tell its horizontal offset


@dataclass(frozen=True, eq=False)
class Scan:
    """Points (n, 3) of one sweep and the laser (n,) of each, from 0 at the top, where KITTI begins."""

    points: Array
    laser: Array

    @property
    def level(self) -> Array:
        """Horizontal distance (n,)."""
        return np.hypot(self.points[:, 0], self.points[:, 1])

    @property
    def azimuth_deg(self) -> Array:
        """Azimuth (n,) counter-clockwise from +x."""
        return np.asarray(np.degrees(np.arctan2(self.points[:, 1], self.points[:, 0])))


@dataclass(frozen=True, eq=False)
class Lasers:
    """What the fit finds of each laser (64,), angles in degrees, offsets in metres."""

    elevation: Array
    vertical: Array
    horizontal: Array
    phase: Array
    rotation: Array


def read_scans(numbers: range) -> list[Scan]:
    """Sweeps of the drive in which every laser is seen."""
    files = sorted((DATA / DRIVE / "velodyne_points" / "data").glob("*.bin"))
    scans = []
    for file in files[numbers.start : numbers.stop]:
        points = np.fromfile(file, "<f4").reshape(-1, 4)[:, :3].astype(np.float64)
        laser = find_stored_turns(points)
        if laser is not None and laser.max() + 1 == LASERS:
            scans.append(Scan(points, laser))
    return scans


def fit_lasers(scans: list[Scan]) -> Lasers:
    """The lasers from scans that are not motion-compensated."""
    points, laser = np.concatenate([s.points for s in scans]), np.concatenate([s.laser for s in scans])
    cloud = Scan(points, laser)
    all_levels, all_azimuths = cloud.level, cloud.azimuth_deg
    far = all_levels > NEAR_M
    rows = []
    for number in progress(range(LASERS), "fitting lasers"):
        own = far & (laser == number)
        level, azimuth = all_levels[own], all_azimuths[own]
        slope, height = fit_line(level, points[own, 2])
        elevation = np.arctan(slope)
        some = slice(None, None, max(1, len(level) // DRAWN))
        horizontal = OFFSETS_M[int(np.argmax([abs(crowding(azimuth[some], level[some], h)) for h in OFFSETS_M]))]
        phase = np.angle(crowding(azimuth, level, horizontal)) / (2 * np.pi) * COUNT_DEG
        rows.append((np.degrees(elevation), height * np.cos(elevation), horizontal, phase))
    elevation, vertical, horizontal, phase = np.array(rows).T
    used = [read_encoder(scan, horizontal, phase) for scan in scans]
    shift = np.array(
        [find_shift([u[number] for u in used], [u[LASERS // 2] for u in used]) for number in range(LASERS)]
    )
    rotation = phase + COUNT_DEG * shift
    return Lasers(elevation, vertical, horizontal, phase, rotation - rotation.mean())


def fit_line(level: Array, z: Array) -> tuple[float, float]:
    """Slope and height of the line z = height + slope · level, whatever a few points do."""
    design, weight = np.stack([level, np.ones_like(level)], axis=1), np.ones_like(z)
    found = np.zeros(2)
    for _ in range(ITERATIONS):
        found = np.linalg.lstsq(design * weight[:, None], z * weight, rcond=None)[0]
        residual = z - design @ found
        spread = 1.48 * np.median(np.abs(residual)) + 1e-4
        weight = 1 / np.sqrt(1 + (residual / (2 * spread)) ** 2)
    return float(found[0]), float(found[1])


def crowding(azimuth_deg: Array, level: Array, horizontal_m: float) -> complex:
    """How much azimuths lie on the encoder's grid, with the offset taken out: length 1 if all do, angle the phase."""
    beam = azimuth_deg - np.degrees(np.arcsin(horizontal_m / level))
    return complex(np.exp(2j * np.pi * beam / COUNT_DEG).mean())


def read_encoder(scan: Scan, horizontal: Array, phase: Array) -> Array:
    """Which readings of the encoder have a return of each laser, (64, 4000) bool."""
    far = scan.level > NEAR_M
    laser = scan.laser[far]
    beam = scan.azimuth_deg[far] - np.degrees(np.arcsin(horizontal[laser] / scan.level[far])) - phase[laser]
    used = np.zeros((LASERS, COUNTS), bool)
    used[laser, np.round(beam / COUNT_DEG).astype(int) % COUNTS] = True
    return used


def find_shift(own: list[Array], other: list[Array]) -> int:
    """Counts by which one laser's readings are ahead of the other's, over several scans."""
    # The number of readings that both have, for every shift at once: a circular correlation.
    spectra = [np.fft.rfft(a) * np.fft.rfft(b).conj() for a, b in zip(own, other, strict=True)]
    scores = np.fft.irfft(np.sum(spectra, axis=0), COUNTS)
    return int(SHIFTS[int(np.argmax(scores[SHIFTS]))])


def make_sensor(lasers: Lasers, rate_hz: float) -> Sensor:
    """The S2 with these lasers, the lowest first."""
    order = np.argsort(lasers.elevation)
    block = {
        "elevation_deg": np.round(lasers.elevation[order], 3).tolist(),
        "azimuth_offset_deg": np.round(lasers.rotation[order], 3).tolist(),
        "vertical_offset_m": np.round(lasers.vertical[order], 4).tolist(),
        "horizontal_offset_m": np.round(lasers.horizontal[order], 3).tolist(),
    }
    return load_sensor("velodyne-hdl-64e-s2").with_(
        name=FITTED, rotation_rate_hz=round(rate_hz, 2), **{"pattern.channels": block}
    )


def measure_rate(scans: list[Scan], lasers: Lasers) -> float:
    """Turns a second, from the readings of the encoder that a turn uses and the period of a firing."""
    counts = []
    for scan in scans:
        used = read_encoder(scan, lasers.horizontal, lasers.rotation)
        counts.append(int((used.sum(axis=0) >= LASERS // 4).sum()))  # a reading that is not used has strays at most
    return 1 / (float(np.median(counts)) * FIRING_S)


def measure_lasers(scans: list[Scan], sensor: Sensor) -> dict[str, float]:
    """How far points lie from the cone of their laser, RMS degrees, and how many lasers agree on the encoder.

    ``same_reading`` is the share of returns whose reading of the encoder most lasers have, with the corrections of the
    sensor; half of all readings would agree by chance.
    """
    elevation, vertical, horizontal, rotation = list_lasers(sensor)
    errors, agreed = [], []
    for scan in scans:
        far = scan.level > NEAR_M
        level, laser, z = scan.level[far], scan.laser[far], scan.points[far, 2]
        slope = np.tan(np.radians(elevation))[laser] + vertical[laser] / np.cos(np.radians(elevation[laser])) / level
        errors.append(np.degrees(np.arctan2(z, level) - np.arctan(slope)))
        used = read_encoder(scan, horizontal, rotation)
        common = used.sum(axis=0) >= 0.6 * used.sum() / (COUNTS / 2)
        agreed.append(float((used & common).sum() / used.sum()))
    return {
        "elevation_rms_deg": float(np.sqrt(np.mean(np.concatenate(errors) ** 2))),
        "same_reading": float(np.mean(agreed)),
    }


def list_lasers(sensor: Sensor) -> tuple[Array, Array, Array, Array]:
    """Elevation, vertical, horizontal offset and rotational correction of a sensor's lasers, the top one first."""
    pattern = sensor.pattern.model_dump()
    blocks = [pattern["channels"]] if "channels" in pattern else [pattern["lower"], pattern["upper"]]
    zeros = [0.0] * (LASERS // len(blocks))
    names = ("vertical_offset_m", "horizontal_offset_m", "azimuth_offset_deg")
    columns = [np.concatenate([block[name] or zeros for block in blocks]) for name in names]
    listed = [block["elevation_deg"] for block in blocks]
    elevation = np.array(sensor.elevations_deg) if None in listed else np.concatenate(listed)
    order = np.argsort(-elevation)
    return elevation[order], columns[0][order], columns[1][order], columns[2][order]


def measure_other_days(sensor: Sensor, sequence: str) -> float | None:
    """RMS degrees between a sensor's beams at 10 m and those that `estimate_grid` finds in a SemanticKITTI sequence."""
    path = DATA / "semantickitti_mini" / "sequences" / sequence
    if not path.is_dir():
        return None
    grid = estimate_grid(open_log(path, empty_beams=False))
    elevation, vertical, _, _ = list_lasers(sensor)
    slope = np.tan(np.radians(elevation)) + vertical / np.cos(np.radians(elevation)) / 10.0
    found = grid.channels.slope(np.arange(LASERS)[::-1], np.full(LASERS, 10.0))
    seen = np.isfinite(found)
    return float(np.sqrt(np.mean(np.degrees(np.arctan(found[seen]) - np.arctan(slope[seen])) ** 2)))


def run(fast: bool = False) -> dict[str, Any]:
    """The fitted sensor, and how it and the evenly spaced one fit sweeps that were not used."""
    scans = read_scans(range(0, 4 if fast else 20))
    if not scans:
        return {"skipped": f"{DRIVE} is not there"}
    lasers = fit_lasers(scans)
    sensor = make_sensor(lasers, measure_rate(scans, lasers))
    held_out = read_scans(range(20, 22 if fast else 30))
    result: dict[str, Any] = {"fitted_on": len(scans), "tested_on": len(held_out), "yaml": sensor.to_yaml()}
    for name, chosen in ((FITTED, sensor), (EVEN, load_sensor(EVEN))):
        found: dict[str, Any] = measure_lasers(held_out, chosen)
        for sequence in OTHER_DAYS[: 1 if fast else None]:
            found[f"semantickitti_{sequence}_rms_deg"] = measure_other_days(chosen, sequence)
        result[name] = found
    return {**result, "_sensor": sensor}


def show(result: dict[str, Any]) -> None:
    """Print the sensor's YAML and the errors."""
    if "skipped" in result:
        console.print(f"skipped, {result['skipped']}; set RESWEEP_TEST_DATA to the folder of recordings.")
        return
    console.print(result["yaml"], markup=False, soft_wrap=True)
    made = table(
        f"FittedModel on {result['fitted_on']} sweeps, tested on {result['tested_on']} others", "figure", FITTED, EVEN
    )
    for key, value in result[FITTED].items():
        other = result[EVEN][key]
        made.add_row(key, *("-" if number is None else f"{number:.4f}" for number in (value, other)))
    console.print(made)


def draw(result: dict[str, Any]) -> Figure:
    """Where each laser points and sits, and where evenly spaced ones would."""
    made, axes = figure(9, 3.2, columns=3)
    if "skipped" in result:
        return made
    even, fitted = list_lasers(load_sensor(EVEN)), list_lasers(result["_sensor"])
    titles = ("elevation, °", "vertical offset, m", "rotational correction, °")
    for axis, title, at in zip(axes[0], titles, (0, 1, 3), strict=True):
        axis.plot(even[at], color=GREY, linewidth=1, label=EVEN)
        axis.plot(fitted[at], ".", color=BLUE if at else ORANGE, markersize=3, label=FITTED)
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("laser, from the top", fontsize=8)
    axes[0, 0].legend(fontsize=7)
    return made


if __name__ == "__main__":
    main("kitti_sensor", __doc__.splitlines()[0], run, show, draw)
