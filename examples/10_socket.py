"""An autonomy in another process: a loop that listens, and a client that drives it over a socket.

The client is a thread here so that the example runs by itself. In earnest it is another program, in any language: the
messages are described in docs/drive.md.
"""

import threading

import resweep as rs
from resweep.drive import Observation
from resweep.drive.autonomy.sockets import serve

world = rs.scenes.street(seed=0)
link = rs.drive.SocketAutonomy()  # any free port; give port=5555 for a fixed one


def drive(observation: Observation) -> tuple[float, float]:
    """Keep the speed and straight on; brake for anything within 12 m ahead in the lane."""
    for scan in observation.scans["lidar"]:
        x, y, z = scan.points.T
        if ((x > 3) & (x < 12) & (abs(y) < 1) & (z > -1.3)).sum() > 3:
            return (-5.0, 0.0)
    return (0.0, 0.0)


client = threading.Thread(target=serve, args=(drive, *link.address))
client.start()
config = rs.drive.LoopConfig(duration_s=1.0)
run = rs.drive.Loop(
    world, "passenger-car", "velodyne-vlp-16", link, start=(-50, -1.3, 0), speed_mps=8, config=config
).run()
client.join()
link.close()
print(f"{run.outcome} after {run.path_m:.1f} m, {len(run.log)} sweeps")
