"""A sensor of your own, as YAML: what it fires, and what it sees in a street.

python examples/03_own_sensor.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import resweep as rs
from resweep.pose import from_xyz_rpy
from resweep.scenes import street
from resweep.sensors import fire
from resweep.sensors.pattern_plot import plot_sensor

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)

# The unit is in every field name. A misspelt field is an error that names the nearest known one.
SPEC = """
name: bumper-5
title: Five planes ahead, denser in the middle
range_min_m: 0.5
range_max_m: 90
wavelength_nm: 905
rotation_rate_hz: 25
pattern:
  kind: spinning
  azimuth_min_deg: -60
  azimuth_max_deg: 60
  azimuth_resolution_deg: 0.25
  channels:
    elevation_deg: [-6, -1.5, 0, 1.5, 6]
beam: {spot: elliptical, divergence_h_rad: 0.002, divergence_v_rad: 0.008}
receiver: {mode: strongest-and-last, range_noise_sigma_m: 0.015, range_quantisation_m: 0.005}
"""
(folder / "bumper-5.yaml").write_text(SPEC)

sensor = rs.load_sensor(folder / "bumper-5.yaml")
firing = fire(sensor)
print(
    f"{sensor.name}: {len(firing)} pulses a sweep on {sensor.n_channels} planes, {sensor.sweep_period_s * 1e3:.0f} ms"
)

sweep = rs.Simulator(street(seed=3), sensor, seed=1).sweep(from_xyz_rpy(z=0.9))
twice = np.bincount(sweep.beam, minlength=sweep.n_beams) == 2
print(f"{len(sweep):,} returns; {twice.sum()} beams gave two, the strongest and the last")
for ring, elevation in enumerate(sensor.elevations_deg):
    ranges = sweep.range[sweep.ring == ring]
    print(f"  plane at {elevation:+.1f}°: {len(ranges):4} returns, median range {np.median(ranges):.1f} m")

plot_sensor(sensor, folder / "bumper-5.png")
print(f"wrote {folder / 'bumper-5.png'}")
