"""The blind sectors of a sensor, found in the tiles around some of its sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from resweep.build.refine.beams import EMPTY_RANGE_M
from resweep.build.refine.blind_sectors import BlindSectors
from resweep.build.tiles.layers import join_layers
from resweep.build.tiles.units import TileTask
from resweep.calibration import Calibration
from resweep.log import Log
from resweep.map.accumulate import find_mappable
from resweep.map.beams import extract_beams
from resweep.map.store.part import Ground
from resweep.simulate.scene import native_scene
from resweep.worlds import World
from resweep.worlds.load import load_world

_MOST_SWEEPS = 12
_NEAR_M = 30.0  # within which the tiles around a sweep are read


def estimate_blind_sectors(
    log: Log, ground: Ground, tasks: Sequence[TileTask], calibration: Calibration
) -> Calibration:
    """The calibration with the blind sectors of the log's sensor, as up to 12 sweeps show them in the built tiles.

    What beams meet beyond the tiles near a sweep is not counted.
    """
    sectors = BlindSectors()
    for at in np.unique(np.linspace(0, len(log) - 1, min(len(log), _MOST_SWEEPS)).astype(int)).tolist():
        sweep = log[at]
        place = (sweep.pose[:3, 3] - ground.origin)[None]
        near = [task.part for task in tasks if task.part.is_dir() and task.tile.reaches(place, _NEAR_M)[0]]
        if not near:
            continue
        layers = join_layers([load_world(part).layers for part in near])
        beams = extract_beams(sweep, ground.origin, find_mappable(sweep, ground.config, ground.labels), EMPTY_RANGE_M)
        sectors.add(sweep, beams, native_scene(World(layers)), ground.slope, EMPTY_RANGE_M)
    return replace(calibration, blind=sectors.find_shares())
