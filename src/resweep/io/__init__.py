"""Reading and writing: sweeps, logs and poses in the formats of the field.

One module per format; `FORMATS` is the table of them.
"""

from __future__ import annotations

from resweep.io.clouds.writing.write_cloud import write_cloud
from resweep.io.datasets.nuscenes.merge import merge_nuscenes
from resweep.io.format import FRAMES, Format
from resweep.io.log_writer import write_log
from resweep.io.logs import open_log
from resweep.io.poses import load_poses, write_poses
from resweep.io.registry import FORMATS
from resweep.io.sweeps import load_sweep, write_sweep

__all__ = [
    "FORMATS",
    "FRAMES",
    "Format",
    "load_poses",
    "load_sweep",
    "merge_nuscenes",
    "open_log",
    "write_cloud",
    "write_log",
    "write_poses",
    "write_sweep",
]
