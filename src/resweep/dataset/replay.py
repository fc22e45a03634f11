"""A recorded drive with its traffic, swept again by any sensor (D, 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from resweep.log import Log
from resweep.objects import build_bank
from resweep.scenario import Bank
from resweep.scenario.replay_actors import find_sweep_starts, replay_actors
from resweep.sensors import Sensor, fire, load_sensor
from resweep.sensors.infer.inferred_drive import prepare_drive
from resweep.simulate import Simulator
from resweep.simulate.realism import RealismModel
from resweep.simulate.simulated_drive import SimulatedDrive
from resweep.worlds import StreamedWorld, World


@dataclass(frozen=True, eq=False)
class Replay:
    """A recorded drive, swept again.

    ``log`` pairs up with ``recorded``, sweep by sweep, and is computed as it is read. ``tracks`` gives the recorded
    track of each instance; ``left_out`` counts, by category, the recorded objects for which the bank has no asset.
    """

    log: Log
    recorded: Log
    tracks: Mapping[int, int]
    left_out: Mapping[str, int]


def replay(
    log: Log,
    world: World | StreamedWorld,
    sensor: Sensor | str,
    *,
    bank: Bank | None = None,
    realism: RealismModel | None = None,
    noise: bool = True,
    seed: int = 0,
    sweeps: int | None = None,
    world_name: str | None = None,
) -> Replay:
    """The drive of a log in ``world`` with another ``sensor``: its poses, and its annotated objects as moving actors.

    Objects come from ``bank`` (default: one built from the log itself). Each sweep has its middle when the recorded
    one had. ``sweeps`` takes only the first so many. The same ``seed`` gives the same bytes. ``world_name`` is where
    other processes read the world, if they are to share the work. ``realism`` is a learned model of the sensor;
    without ``noise`` sweeps are the mean.

    Example: ``again = rs.replay(log, rs.load_world("0051.world"), "velodyne-vlp-16").log``
    """
    recorded = prepare_drive(log)[:sweeps]
    recorded.require_poses("it cannot be replayed")
    chosen = load_sensor(sensor) if isinstance(sensor, str) else sensor
    found = replay_actors(recorded, world, build_bank(recorded) if bank is None else bank)
    duration = float(fire(chosen).time[-1])
    starts = find_sweep_starts(recorded, duration)
    moves = len(recorded) > 1
    motion = recorded.trajectory.extended(duration + chosen.sweep_period_s) if moves else recorded.poses
    if world_name is None:
        simulator = Simulator(world, chosen, actors=found.actors, realism=realism, noise=noise, seed=seed)
        drive = simulator.run(motion, starts=starts)
    else:
        how: dict[str, Any] = {"actors": tuple(found.actors), "realism": realism, "noise": noise, "seed": seed}
        plan = SimulatedDrive(world_name, chosen, motion=motion, starts=starts, **how)
        drive = plan.run(world)
    source = str(log.meta.get("path", log.name))
    tracks = {str(instance): track for instance, track in found.tracks.items()}
    drive = replace(drive, meta={**drive.meta, "replay_of": source, "tracks": tracks})
    return Replay(drive, recorded, found.tracks, found.left_out)
