"""Writing logs as ROS 2 bags.

On ``/points`` are PointCloud2 messages in the layout ``points``: one of the drivers' (`layouts`), or ``resweep``, the
default: x y z intensity ring ``timestamp`` (absolute seconds) return_index label instance. A cloud is stamped when
its first beam is fired, as Velodyne's, Hesai's and Livox's drivers do, so times from the stamp are never negative. (In
the default layout, motion-compensated clouds are stamped at the time of their pose.) Points are in the order of time
in the drivers' layouts. ``livox`` also writes Livox's own message on ``/livox/lidar``.

Where poses are known, ``/odom`` and ``/tf`` have the pose at each stamp, ``/imu`` an ideal inertial sensor at 200 Hz.
``/tf_static`` has the mounts of the sensors. The motion through each sweep of raw points is on ``/resweep/motion`` as a
Path of its stamp; a sweep without is motion-compensated. Boxes and empty beams have no place.

ROS takes a stamp of zero for none. A log that begins at or before zero is therefore moved to begin at 1000 s. The
drivers' layouts have intensities from 0 to 255; larger ones are clipped there, as the sensors' saturate. The shift of
times and the factor of intensities are noted in the bag's ``custom_data``, and undone when it is read.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from resweep.errors import OutputError, ResweepError, nearest_names
from resweep.io.points.columns import check_finite, express_points, has_point_times
from resweep.io.ros.imu import RATE_HZ, SmoothMotion
from resweep.io.ros.notes import SCALE_KEY, SHIFT_KEY
from resweep.io.ros.point_layouts import LAYOUTS, POINTS, RESWEEP, BagCloud, pack_layout, pack_resweep
from resweep.io.ros.topics import Topics
from resweep.log import Log
from resweep.optional import require
from resweep.pose import Array, Trajectory
from resweep.sweep import Sweep

STORAGES = ("mcap", "sqlite3")
EPOCH_S = 1000.0  # where a log begins in the bag that begins at or before zero, to the second
_DRIVER_MAX = 255.0  # of the intensities that drivers give
_VERSION = 9  # of the bag's metadata, that of ROS 2 Jazzy


def write_log(
    log: Log,
    sweeps: Iterable[Sweep],
    folder: Path,
    frame: str = "sensor",
    storage: str = "mcap",
    points: str = RESWEEP,
) -> None:
    """Fill ``folder`` with a bag; ``storage`` is one of `STORAGES`, ``points`` one of `POINTS`."""
    for name, given, known in (("storage", storage, STORAGES), ("points", points, POINTS)):
        if given not in known:
            raise ResweepError(f"{name} '{given}': {nearest_names(given, known)}")
    if frame == "world":
        raise ResweepError("a ROS bag keeps points in the sensor's frame; write frame='deskewed', or another format")
    rosbag2 = require("rosbags.rosbag2", "writing ROS bags")
    plugin = rosbag2.StoragePlugin[storage.upper()]
    # The library creates the folder itself, so the bag is written inside and moved up.
    bag = folder / "drive"
    with rosbag2.Writer(bag, version=_VERSION, storage_plugin=plugin) as writer:
        drive = _BagDraft(log, frame, points, Topics(writer, log.poses_known, points == "livox"))
        for at, sweep in enumerate(sweeps):
            drive.add(at, sweep)
        drive.finish()
        for key, value in ((SHIFT_KEY, drive.shift), (SCALE_KEY, drive.scale)):
            writer.set_custom_data(key, repr(value))
    for file in bag.iterdir():
        file.rename(folder / file.name)
    bag.rmdir()


@dataclass(frozen=True, eq=False)
class _StampedSweep:
    """A sweep with its stamp in seconds of the log, its pose then, and its point times, None where unknown."""

    sweep: Sweep
    stamp: float
    pose: Array
    times: Array | None


class _BagDraft:
    """A log on its way into the topics of a bag, sweep by sweep."""

    def __init__(self, log: Log, frame: str, points: str, topics: Topics) -> None:
        self.log, self.frame, self.points, self.topics = log, frame, points, topics
        self.shift = 0.0
        self.scale = 1.0 if points == RESWEEP else _DRIVER_MAX / (log.full_scale or 1.0)
        self._ringed = True
        self._smooth = SmoothMotion(log.trajectory)
        self._moves = bool(np.abs(log.poses - log.poses[:1]).max() > 1e-6)
        self._imu_start, self._imu_count = 0.0, 0
        self._last = 0.0

    def add(self, at: int, sweep: Sweep) -> None:
        """The next sweep with all that belongs to its time."""
        stamped = self._stamp(at, sweep)
        if at == 0:
            self._begin(stamped)
        time = stamped.stamp + self.shift
        self._write_imu(stamped.stamp)
        if self.log.poses_known:
            self.topics.pose(time, stamped.pose, self._smooth.at(np.array([stamped.stamp])))
        if sweep.trajectory is not None and self.frame == "sensor":
            motion = sweep.trajectory
            self.topics.motion(time, Trajectory(motion.times + self.shift, motion.poses))
        cloud = self._make_cloud(stamped)
        layout = LAYOUTS.get(self.points)
        self.topics.cloud(time, pack_resweep(cloud) if layout is None else pack_layout(layout, cloud))
        if self.points == "livox":
            self.topics.livox(time, cloud)
        self._last = max(stamped.stamp, float(stamped.times.max(initial=0.0)) if stamped.times is not None else 0.0)

    def finish(self) -> None:
        """The inertial measurements up to the last point."""
        self._write_imu(self._last + 1 / RATE_HZ)

    def _stamp(self, at: int, sweep: Sweep) -> _StampedSweep:
        known = has_point_times(sweep) and not (self.frame == "deskewed" and self.points != RESWEEP)
        times = sweep.time if known else None
        if times is None and self.points != RESWEEP and LAYOUTS[self.points].times_needed:
            why = "motion-compensated points have one time" if self.frame == "deskewed" else "its points have no times"
            raise OutputError(
                f"log '{self.log.name}': {why} (sweep {at}), and points='{self.points}' cannot be written without; "
                "choose another layout"
            )
        stamp, pose = float(self.log.times[at]), self.log.poses[at]
        raw = sweep.trajectory is not None or self.points != RESWEEP
        if times is not None and sweep.n_beams and self.frame == "sensor" and raw:
            stamp = float(sweep.beam_time.min())
            if sweep.trajectory is not None and stamp != sweep.timestamp and sweep.trajectory.covers(stamp, stamp):
                pose = sweep.trajectory.at(stamp)
        return _StampedSweep(sweep, stamp, pose, times)

    def _begin(self, first: _StampedSweep) -> None:
        sweep = first.sweep
        if first.stamp <= 0:
            self.shift = EPOCH_S - float(np.floor(first.stamp))
        self._imu_start = first.stamp
        self.topics.mounts(first.stamp + self.shift)
        if self.points == RESWEEP:
            return
        single = self.log.sensor is not None and self.log.sensor.n_channels == 1
        self._ringed = single or sweep.n_beams < 2 or bool(np.ptp(sweep.beam_ring) > 0)
        if first.times is not None and sweep.trajectory is None and self._moves:
            warnings.warn(
                f"log '{self.log.name}': its points seem motion-compensated, but have times: programs that undo the "
                "motion would do it again; frame='deskewed' leaves the times out",
                stacklevel=2,
            )

    def _make_cloud(self, stamped: _StampedSweep) -> BagCloud:
        sweep, times = stamped.sweep, stamped.times
        points = express_points(sweep, self.frame)
        check_finite(points, "ROS bag")
        rows: Array | slice = slice(None)
        if times is not None and self.points != RESWEEP and (np.diff(times) < 0).any():
            rows = np.argsort(times, kind="stable")  # LIO-SAM takes the last point for the latest
        return BagCloud(
            stamped.stamp + self.shift,
            points[rows],
            (sweep.intensity if self.points == RESWEEP else self._put_on_255(sweep.intensity))[rows],
            sweep.range[rows],
            sweep.return_index[rows],
            None if times is None else times[rows] + self.shift,
            sweep.ring[rows] if self._ringed else None,
            {"label": sweep.label[rows], "instance": sweep.instance[rows]},
        )

    def _put_on_255(self, intensity: Array) -> Array:
        """Intensities (n,) as drivers give them: 255 is the full scale of the log, and the most."""
        return np.clip(intensity * np.float32(self.scale), 0, _DRIVER_MAX)

    def _write_imu(self, until: float) -> None:
        """The inertial measurements that are due by a time of the log."""
        if not self.log.poses_known:
            return
        count = int(np.floor((until - self._imu_start) * RATE_HZ + 1e-6)) + 1
        times = self._imu_start + np.arange(self._imu_count, count) / RATE_HZ
        if len(times):
            self.topics.imu(times + self.shift, self._smooth.at(times))
            self._imu_count = count
