"""What a sensor does beyond its data sheet: lasers that differ, chance in detection, returns too near to separate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, kstest

from resweep import _core
from resweep.errors import ResweepError
from resweep.sensors import Detection, Lasers, Sensor
from resweep.simulate import Simulator
from resweep.simulate.philox import Purpose, uniform, words
from resweep.simulate.scene import make_native_plan
from resweep.sweep import BeamStatus, Sweep
from resweep.worlds import World
from tests.reference.beam import Events, measure, receive

LASERS = Lasers(range_bias_m=(0.05, 0.0, -0.03), intensity_gain=(0.5, 1.0, 2.0))
CURVE = Detection(signal=(0.1, 0.5, 1.0), probability=(0.05, 0.6, 0.9))


def sweep_of_wall(sensor: Sensor, make_wall: Any, **attributes: Any) -> Sweep:
    wall = make_wall(**{"reflectance": 0.5, **attributes})
    return Simulator(World([wall]), sensor, seed=5).sweep(np.eye(4), index=3)


def test_absent_character_changes_no_byte(make_sensor: Any, make_wall: Any) -> None:
    """A curve that detects everything, equal lasers: the long way gives the bytes of the short one."""
    plain = make_sensor(receiver__range_noise_sigma_m=0.02, receiver__range_quantisation_m=0.002, beam__rays="nine")
    sure = Detection(signal=(0.0, 1.0), probability=(1.0, 1.0))
    short, long = (sweep_of_wall(sensor, make_wall) for sensor in (plain, plain.with_(**{"receiver.detection": sure})))
    np.testing.assert_array_equal(short.beam_status, long.beam_status)
    np.testing.assert_allclose(short.range, long.range, atol=2e-6)
    assert make_native_plan(plain) is not None


def test_lasers_and_slanted_noise_against_the_reference(make_sensor: Any, make_wall: Any) -> None:
    sensor = make_sensor(
        lasers=LASERS, receiver__range_noise_sigma_m=0.01, receiver__range_noise_per_tan_m=0.02, range_max_m=60.0
    )
    clean = sweep_of_wall(make_sensor(range_max_m=60.0), make_wall)
    sweep = sweep_of_wall(sensor, make_wall)
    np.testing.assert_array_equal(sweep.beam, clean.beam)
    cosine = clean.beam_direction[clean.beam, 0].astype(np.float64)  # the wall faces the sensor
    expected = measure(
        sensor, clean.range.astype("f8"), clean.intensity, clean.beam, clean.return_index, 5, 3, clean.ring, cosine
    )
    np.testing.assert_allclose(sweep.range, expected[0], atol=2e-5)
    np.testing.assert_allclose(sweep.intensity, expected[1], atol=1e-6)


def test_biased_ranges_are_rounded(make_sensor: Any, make_wall: Any) -> None:
    sensor = make_sensor(lasers=Lasers(range_bias_m=(0.013, 0.013, 0.013)), receiver__range_quantisation_m=0.01)
    ranges = sweep_of_wall(sensor, make_wall).range.astype(np.float64)
    np.testing.assert_allclose(ranges, np.round(ranges, 2), atol=1e-5)


def test_detection_is_drawn_from_the_curve(make_sensor: Any, make_wall: Any) -> None:
    """Each beam is lost exactly where the draw of its own is above the curve, and the share is binomial."""
    sensor = make_sensor(tuple(np.linspace(-20, 20, 41)), 0.5, receiver__detection=CURVE)
    clean = sweep_of_wall(make_sensor(tuple(np.linspace(-20, 20, 41)), 0.5), make_wall)
    sweep = sweep_of_wall(sensor, make_wall)
    chance = np.interp(clean.intensity * (10.0 / clean.range) ** 2, CURVE.signal, CURVE.probability)
    draw = uniform(words(5, 3, clean.beam, 0, Purpose.DETECTION)[:, 0])
    returned = np.isin(clean.beam, sweep.beam)
    sure = np.abs(draw - chance) > 1e-5
    np.testing.assert_array_equal(returned[sure], (draw <= chance)[sure])
    assert (sweep.beam_status[clean.beam[~returned]] == BeamStatus.BELOW_THRESHOLD).all()
    bright = chance > 0.3
    low, high = binom.interval(0.9999, int(bright.sum()), float(chance[bright].mean()))
    assert low <= returned[bright].sum() <= high
    assert kstest(draw, "uniform").pvalue > 1e-3


def test_detection_by_reported_intensity_that_falls(make_sensor: Any, make_wall: Any) -> None:
    """Where the reported intensity falls with range it is the signal itself."""
    step = Detection(signal=(0.1, 0.1001), probability=(0.0, 1.0))
    sensor = make_sensor(receiver__detection=step, receiver__intensity_falloff="range-squared")
    sweep = sweep_of_wall(sensor, make_wall)
    assert 0 < len(sweep.range) < len(sweep_of_wall(make_sensor(), make_wall).range)
    assert sweep.intensity.min() > 0.1


@pytest.mark.parametrize("mode", ["first", "last", "strongest", "strongest-and-last", "multiple"])
def test_receiver_with_a_curve_against_the_reference(make_sensor: Any, mode: str) -> None:
    """The next echo counts where one is lost; returns too near to each other are one."""
    rng = np.random.default_rng(11)
    counts = set()
    for case in range(200):
        sensor = make_sensor(
            receiver__mode=mode,
            receiver__return_separation_m=float(rng.choice([0.0, 3.0])),
            receiver__signal_cutoff_m=1.0,
        )
        count = int(rng.integers(1, 12))
        events = Events(
            range=rng.uniform(3.0, 20.0, count).astype("f4"),
            share=np.full(count, 1.0 / count, "f4"),
            reflected=rng.uniform(0.1, 1, count).astype("f4"),
            label=np.zeros(count, "i4"),
            instance=np.zeros(count, "i4"),
        )
        light = np.ascontiguousarray(np.stack([events.range, events.share, events.reflected], axis=1))
        status, echoes = _core.receive(make_native_plan(sensor), light, events.label, events.instance)
        expected_status, expected = receive(sensor, events)
        assert (status, len(echoes)) == (expected_status, len(expected)), case
        np.testing.assert_allclose([echo[0] for echo in echoes], [echo.range for echo in expected], atol=1e-5)
        counts.add(len(echoes))
    assert counts == ({1, 2} if mode == "strongest-and-last" else {1, 2, 3, 4} if mode == "multiple" else {1})


def test_same_bytes_whatever_the_threads(make_sensor: Any, make_wall: Any) -> None:
    sensor = make_sensor(receiver__detection=CURVE, lasers=LASERS, receiver__range_noise_per_tan_m=0.01)
    world = World([make_wall(reflectance=0.5)])
    one, two = (Simulator(world, sensor, seed=2, threads=threads).sweep(np.eye(4)) for threads in (1, 2))
    assert one.range.tobytes() == two.range.tobytes()
    assert one.beam_status.tobytes() == two.beam_status.tobytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lasers": {"range_bias_m": [0.0, 0.1]}}, r"lasers.range_bias_m.*2 values for 3 rings"),
        ({"receiver__detection": {"signal": [0.5, 0.1], "probability": [0, 1]}}, r"signal.*must rise"),
        ({"receiver__detection": {"signal": [0.1, 0.5], "probability": [1, 0]}}, r"probability.*must not fall"),
        ({"receiver__detection": {"signal": [0.1, 0.5], "probability": [0, 0.5, 1]}}, r"3 values for 2 signals"),
    ],
)
def test_wrong_character(make_sensor: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ResweepError, match=message):
        make_sensor(**changes)


def test_yaml_round_trip(make_sensor: Any, tmp_path: Any) -> None:
    from resweep.sensors import load_sensor

    sensor = make_sensor(receiver__detection=CURVE, lasers=LASERS, receiver__return_separation_m=0.7)
    path = tmp_path / "own.yaml"
    path.write_text(sensor.to_yaml())
    assert load_sensor(str(path)) == sensor
