"""A log driven again in a world: by its own beams, or by another sensor at its times and poses."""

from __future__ import annotations

from collections.abc import Sequence

from resweep.log import Log
from resweep.scenario import Actor
from resweep.sensors import Sensor, load_sensor
from resweep.simulate.realism import RealismModel
from resweep.simulate.retrace import Retracer
from resweep.simulate.simulator import Simulator
from resweep.worlds import StreamedWorld, World

RECORDED = "recorded"  # in place of a sensor: the beams of the log itself


def resimulate(
    log: Log,
    world: World | StreamedWorld,
    sensor: Sensor | str = RECORDED,
    *,
    actors: Sequence[Actor] = (),
    realism: RealismModel | None = None,
    noise: bool = True,
    seed: int = 0,
    threads: int = 0,
) -> Log:
    """The drive of a log in ``world``, computed as it is read: as many sweeps, at the same times and poses.

    ``recorded`` fires the log's own beams, empty ones included, each at its own time (`Retracer.for_log`): compared
    with the log, beam by beam, this shows what the world gets right. They scatter as the recording did.
    Any other ``sensor`` fires its own pattern with its own noise (`Simulator.run_like`). The same ``seed`` gives the
    same bytes.
    ``realism`` is a learned model of the sensor (`resweep.load_realism`). Without ``noise`` sweeps are the mean.

    Example: ``rs.evaluate(rs.resimulate(log, world), log)``
    """
    if realism is not None:
        realism.check_scale(log.intensity_scale)
    if sensor == RECORDED:
        return Retracer.for_log(
            world, log, actors=actors, realism=realism, noise=noise, seed=seed, threads=threads
        ).run(log)
    chosen = load_sensor(sensor) if isinstance(sensor, str) else sensor
    return Simulator(world, chosen, actors=actors, realism=realism, noise=noise, seed=seed, threads=threads).run_like(
        log
    )
