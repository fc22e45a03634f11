"""One beam, half on a plate and half on the wall behind it: what each return mode reports.

python examples/06_returns.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import resweep as rs
from resweep.scenes import box

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)

WALL_M = 10.0
PLATE, WALL = 1, 2
BEAM = {
    "pattern.azimuth_min_deg": 0.0,  # a single pulse, along x
    "pattern.azimuth_max_deg": 0.0,
    "beam.rays": "random",
    "beam.n_rays": 512,
    "receiver.signal_cutoff_m": 1.0,
    "receiver.range_noise_sigma_m": 0.0,
    "receiver.range_quantisation_m": 0.0,
}


def place(plate_m: float) -> rs.World:
    """A plate whose edge cuts the beam in half, ``plate_m`` away, before a wall at 10 m that reflects more."""
    plate = box((0.01, 4.0, 4.0), (plate_m + 0.005, 2.0, -2.0), reflectance=0.3, label=PLATE)
    return rs.World([plate, box((0.2, 20.0, 20.0), (WALL_M + 0.1, 0.0, -10.0), reflectance=0.6, label=WALL)])


lines = ["plate_m,mode,ranges_m,intensities"]
for plate_m, why in (
    (5.0, "5 m before the wall: two echoes"),
    (9.5, "0.5 m before it: less than the cutoff, one echo"),
):
    print(f"plate at {plate_m} m, {why}")
    world = place(plate_m)
    for mode in ("first", "last", "strongest", "strongest-and-last", "multiple"):
        sensor = rs.load_sensor("sick-lms-291-s05").with_(**BEAM, **{"receiver.mode": mode})
        sweep = rs.Simulator(world, sensor, seed=1).sweep(np.eye(4))
        ranges = " and ".join(f"{value:.2f}" for value in sweep.range)
        shares = " and ".join(f"{value:.2f}" for value in sweep.intensity)
        print(f"  {mode:>18}: {ranges} m, intensity {shares}")
        lines.append(f"{plate_m},{mode},{ranges},{shares}")

(folder / "returns.csv").write_text("\n".join(lines) + "\n")
print(f"wrote {folder / 'returns.csv'}")
