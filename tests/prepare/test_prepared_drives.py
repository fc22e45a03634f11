"""One preparation for all: whatever takes a recording corrects the motion within its sweeps, drive by drive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import resweep as rs
from resweep.build import SurfelConfig
from resweep.build.recordings import join_recordings
from resweep.calibrate.sensor import fit_sensor
from resweep.log import Log
from resweep.objects import bank_building
from resweep.sensors.infer.inferred_drive import prepare_drive
from tests.sensors.yard import Spin, two_blocks


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """A drive of which compensation left a tenth of the motion in its points, as KITTI's layout keeps it."""
    log = Spin(*two_blocks(), n_columns=480, drive_m=0.7).log(5, 0.9)
    folder = tmp_path_factory.mktemp("prepared") / "00"
    rs.write_log(replace(log, poses_known=True, times_known=True), folder, format="semantickitti", progress=False)
    return rs.open_log(folder)


@pytest.mark.parametrize("join", [rs.join, lambda logs: join_recordings(logs, SurfelConfig(), align=False)[0]])
def test_joined_drives_are_prepared_each_by_itself(drive: Log, join: Callable[[list[Log]], Log]) -> None:
    whole = prepare_drive(drive)
    joined = join([drive[:1], drive[3:]])
    assert joined.prepared
    assert prepare_drive(joined) is joined
    for sweep, number in zip(joined, (0, 3, 4), strict=True):
        assert sweep.trajectory is not None
        np.testing.assert_array_equal(sweep.deskewed(), whole[number].deskewed())
    assert np.abs(joined[0].deskewed() - drive[0].deskewed()).max() > 0.01


class StopHereError(Exception):
    pass


@pytest.mark.parametrize(
    ("module", "name", "call"),
    [
        (bank_building, "find_objects", rs.build_bank),
        (fit_sensor, "_choose", lambda log: fit_sensor.fit_figures(log, rs.load_sensor("velodyne-hdl-64e"))),
    ],
)
def test_objects_and_sensors_are_found_in_a_prepared_drive(
    drive: Log, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, call: Callable[[Log], object]
) -> None:
    def stop(log: Log, *rest: object) -> None:
        assert log.prepared
        raise StopHereError

    monkeypatch.setattr(module, name, stop)
    with pytest.raises(StopHereError):
        call(drive)
