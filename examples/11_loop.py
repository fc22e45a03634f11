"""A closed loop: a car with two LiDARs and an autonomy of one function drives down a street and stops in time.

The run is a log: `resweep info`, `view` and `evaluate` read it, and it can be driven once more by its commands.
"""

import tempfile
from pathlib import Path

import resweep as rs
from resweep.drive import Observation

world = rs.scenes.street(seed=0)
rig = rs.drive.Rig(
    lidars=(
        rs.drive.LidarMount(name="roof", sensor="velodyne-vlp-16", position_m=(1.3, 0.0, 1.75)),
        rs.drive.LidarMount(name="nose", sensor="sick-lms-291-s05", position_m=(3.6, 0.0, 0.6)),
    ),
    gps={"sigma_m": 0.5, "outage_share": 0.1},  # the compass and the wheel odometry keep their defaults
    imu={},
)
scenario = rs.Scenario(
    ego={"lane": [[-50, -1.3], [50, -1.3]], "speed_mps": 8},
    actors=[{"name": "van", "asset": "van", "at": [-28, -1.3]}],
    duration_s=4.0,
)


def autonomy(observation: Observation) -> tuple[float, float]:
    """Brake for whatever the flat LiDAR on the nose sees within 12 m ahead; else keep the speed."""
    for scan in observation.scans["nose"]:
        x, y, _ = scan.points.T
        if ((x < 12) & (abs(y) < 1)).sum() > 2:
            return (-5.0, 0.0)
    return (0.0, 0.0)


with tempfile.TemporaryDirectory() as folder:
    loop = rs.drive.Loop(world, "passenger-car", rig, autonomy, scenario=scenario, seed=7)
    run = loop.run(Path(folder) / "run")
    van = run.actors["van"]
    print(f"{run.outcome}: {run.path_m:.1f} m driven, {van.min_distance_m:.1f} m left to the van")
    print(f"{len(run.logs['roof'])} sweeps of the roof, {len(run.logs['nose'])} of the nose")
    again = loop.replay(Path(folder) / "run")
    print("replayed to the same states:", (again.states == run.states).all())
