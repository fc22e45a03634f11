"""Return modes on two walls that share one beam (B 3.2.3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from resweep.simulate import Simulator
from resweep.worlds import World

FORWARD = 180  # the column that looks along x, counter-clockwise from -180° in steps of 1°


@pytest.fixture
def echoes(make_sensor: Any, make_wall: Any) -> Any:
    """Measure straight ahead: a near wall that three of the nine rays meet, a far one behind for six."""

    def measure(far: float = 12.0, near_reflectance: float = 0.9, far_reflectance: float = 0.5, **changes: Any) -> list:
        receiver = {f"receiver__{name}": value for name, value in changes.items()}
        sensor = make_sensor((0.0,), beam__rays="nine", **receiver)
        near_wall = make_wall(10.0, y=(0.001, 5.0), reflectance=near_reflectance, label=1, instance=11)
        far_wall = make_wall(far, reflectance=far_reflectance, label=2, instance=12)
        sweep = Simulator(World([near_wall, far_wall]), sensor).sweep(np.eye(4))
        mine = np.flatnonzero(sweep.beam_column[sweep.beam] == FORWARD)
        assert sweep.return_index[mine].tolist() == list(range(len(mine)))
        columns = (sweep.range, sweep.intensity, sweep.label, sweep.instance)
        return [tuple(column[row].item() for column in columns) for row in mine]

    return measure


NEAR = (pytest.approx(10.0, abs=1e-4), pytest.approx(3 / 9 * 0.9, abs=1e-4), 1, 11)
FAR = (pytest.approx(12.0, abs=1e-4), pytest.approx(6 / 9 * 0.5, abs=1e-4), 2, 12)


@pytest.mark.parametrize(
    ("receiver", "expected"),
    [
        ({"mode": "first"}, [NEAR]),
        ({"mode": "last"}, [FAR]),
        ({"mode": "strongest"}, [NEAR]),  # the most intense ray is on the near wall
        ({"mode": "strongest", "strongest_by": "echo"}, [FAR]),  # most light comes from the far one
        ({"mode": "strongest-and-last"}, [NEAR, FAR]),
        ({"mode": "strongest-and-last", "strongest_by": "echo"}, [FAR]),
        ({"mode": "multiple"}, [NEAR, FAR]),
        ({"mode": "multiple", "max_returns": 1}, [FAR]),  # the weaker one is dropped
    ],
)
def test_each_mode_reports_its_echoes(echoes: Any, receiver: dict, expected: list) -> None:
    assert echoes(**receiver) == expected


@pytest.mark.parametrize("mode", ["first", "last", "multiple", "strongest-and-last"])
def test_echoes_nearer_than_the_cutoff_are_one(echoes: Any, mode: str) -> None:
    (echo,) = echoes(far=10.45, mode=mode, signal_cutoff_m=1.0)
    assert echo[0] == pytest.approx((3 * 10.0 + 6 * 10.45) / 9, abs=1e-4)
    assert echo[1] == pytest.approx(3 / 9 * 0.9 + 6 / 9 * 0.5, abs=1e-4)


def test_the_cutoff_separates(echoes: Any) -> None:
    assert len(echoes(far=10.8, mode="multiple", signal_cutoff_m=1.0)) == 1
    assert len(echoes(far=10.8, mode="multiple", signal_cutoff_m=0.5)) == 2


def test_the_strongest_window_is_centred_on_its_ray(echoes: Any) -> None:
    # Walls 0.8 m apart: within a cutoff of 1 m, but beyond half of it on either side.
    assert echoes(far=10.8, mode="strongest", signal_cutoff_m=1.0) == [NEAR]
    (echo,) = echoes(far=10.8, mode="strongest", signal_cutoff_m=2.0)
    assert echo[0] == pytest.approx((3 * 10.0 + 6 * 10.8) / 9, abs=1e-4)


@pytest.mark.parametrize(("near_reflectance", "winner"), [(0.9, (2, 12)), (1.0, (1, 11))])
def test_label_and_instance_are_those_of_most_light(echoes: Any, near_reflectance: float, winner: tuple) -> None:
    far_reflectance = 0.49 if winner == (1, 11) else 0.5
    (echo,) = echoes(
        far=10.3, near_reflectance=near_reflectance, far_reflectance=far_reflectance, mode="first", signal_cutoff_m=1.0
    )
    assert echo[2:] == winner


def test_an_echo_below_the_threshold_is_skipped(echoes: Any) -> None:
    assert echoes(mode="first", detection_threshold=0.32) == [FAR]
    assert echoes(mode="last", far_reflectance=0.4, detection_threshold=0.28) == [NEAR]
    assert echoes(mode="multiple", detection_threshold=0.32) == [FAR]
    assert echoes(mode="first", detection_threshold=0.5) == []


def test_a_beam_returns_although_its_axis_hits_nothing(make_sensor: Any, make_wall: Any) -> None:
    sensor = make_sensor((0.0,), beam__rays="nine")
    sweep = Simulator(World([make_wall(10.0, y=(0.001, 5.0))]), sensor).sweep(np.eye(4))
    row = np.flatnonzero(sweep.beam_column[sweep.beam] == FORWARD)
    assert sweep.intensity[row] == pytest.approx(3 / 9 * 0.5, abs=1e-4)
