"""Bad specs are refused with one line that names the field; changes make validated copies."""

from __future__ import annotations

from typing import Any

import pytest

from resweep.errors import ResweepError
from resweep.sensors import Beam, Block, Prism, Raster, Receiver, Rosette, Sensor, Spinning, TwoBlock, load_sensor

VLP = load_sensor("velodyne-vlp-16")

BAD = {
    "milliradians": ({"beam.divergence_h_rad": 3.3}, r"beam\.divergence_h_rad: 3\.3 .*mrad.*give radians"),
    "degrees": ({"beam.divergence_v_rad": 0.18}, r"beam\.divergence_v_rad: .*degrees"),
    "negative divergence": ({"beam.divergence_h_rad": -0.001}, r"beam\.divergence_h_rad: .*greater than or equal to 0"),
    "round beam, two widths": ({"beam.spot": "circular"}, r"beam\.spot: circular.*differ"),
    "unknown spot": ({"beam.spot": "square"}, r"beam\.spot: 'square' is not one of 'circular'"),
    "no ray": ({"beam.rays": "random", "beam.n_rays": 0}, r"beam\.n_rays: "),
    "too many rays": ({"beam.n_rays": 5000}, r"beam\.n_rays: "),
    "unknown key": ({"beam.divergence_h": 0.003}, r"beam\.divergence_h: unknown key; did you mean 'divergence_h_rad'"),
    "unknown key deep": (
        {"pattern.channels.elevation_degrees": [0]},
        r"pattern\.channels\.elevation_degrees: unknown key; did you mean 'elevation_deg'",
    ),
    "unknown key on top": ({"range_max": 10}, r"range_max: unknown key; did you mean 'range_max_m'"),
    "unknown part": ({"beem.spot": "circular"}, r"beem: no such part; did you mean 'beam'"),
    "part that is a value": ({"name.x": 1}, r"name: is a value"),
    "metres of wavelength": ({"wavelength_nm": 9.05e-7}, r"wavelength_nm: .*looks like metres"),
    "micrometres of wavelength": ({"wavelength_nm": 0.905}, r"wavelength_nm: .*looks like micrometres"),
    "negative wavelength": ({"wavelength_nm": -905}, r"wavelength_nm: "),
    "min above max": ({"range_min_m": 200}, r"range_min_m: 200 is not below range_max_m 100"),
    "millimetres of range": ({"range_max_m": 100_000}, r"range_max_m: .*less than or equal to 10000"),
    "negative range": ({"range_min_m": -1}, r"range_min_m: "),
    "nan": ({"range_max_m": float("nan")}, r"range_max_m: .*finite"),
    "words for numbers": ({"range_max_m": "far"}, r"range_max_m: .*number.*'far'"),
    "unknown mode": ({"receiver.mode": "best"}, r"receiver\.mode: 'best' is not one of 'first'"),
    "returns of a mode": ({"receiver.max_returns": 3}, r"receiver\.max_returns: 3, but mode 'strongest' gives 1"),
    "too many returns": ({"receiver.mode": "multiple", "receiver.max_returns": 17}, r"receiver\.max_returns: "),
    "no cutoff": ({"receiver.signal_cutoff_m": 0}, r"receiver\.signal_cutoff_m: "),
    "noise in millimetres": ({"receiver.range_noise_sigma_m": 20}, r"receiver\.range_noise_sigma_m: "),
    "encoder in counts": ({"pointing.encoder_step_rad": 4000}, r"pointing\.encoder_step_rad: "),
    "rate outside limits": ({"rotation_rate_hz": 50}, r"rotation_rate_hz: 50 Hz is outside .*5 to 20 Hz"),
    "rate limits swapped": (
        {"rotation_rate_min_hz": 20, "rotation_rate_max_hz": 5},
        r"rotation_rate_min_hz: 20 is above rotation_rate_max_hz 5",
    ),
    "no rate": ({"rotation_rate_hz": None}, r"rotation_rate_hz: missing"),
    "elevation beyond 90": (
        {"pattern.channels.elevation_deg": [95.0] * 16},
        r"pattern\.channels\.elevation_deg\[0\]: .*90, got 95",
    ),
    "lengths differ": (
        {"pattern.channels.firing_time_s": [0.0, 1e-6]},
        r"pattern\.channels\.firing_time_s: has 2 values for 16 channels",
    ),
    "microseconds": (
        {"pattern.channels.firing_time_s": [2.304 * i for i in range(16)]},
        r"pattern\.channels\.firing_time_s: .*microseconds",
    ),
    "no channel": (
        {"pattern.channels.elevation_deg": [], "pattern.channels.firing_time_s": None},
        r"pattern\.channels\.elevation_deg: is empty",
    ),
    "list and range": (
        {"pattern.channels.elevation_min_deg": -10},
        r"pattern\.channels\.elevation_deg: given both",
    ),
    "two steps": ({"pattern.azimuth_resolution_deg": 0.2}, r"pattern\.azimuth_resolution_deg: give either"),
    "no step": ({"pattern.firing_period_s": None}, r"pattern\.azimuth_resolution_deg: give either"),
    "period in microseconds": ({"pattern.firing_period_s": 55.296}, r"pattern\.firing_period_s: .*microseconds"),
    "azimuth swapped": (
        {"pattern.azimuth_min_deg": 10, "pattern.azimuth_max_deg": -10},
        r"pattern\.azimuth_min_deg: 10 is above",
    ),
    "more than a turn": ({"pattern.azimuth_min_deg": -200}, r"pattern\.azimuth_max_deg: more than 360°"),
    "unknown pattern": ({"pattern.kind": "spining"}, r"pattern: unknown kind 'spining'; did you mean 'spinning'"),
    "unknown direction": ({"pattern.direction": "left"}, r"pattern\.direction: 'left' is not one of"),
    "empty name": ({"name": ""}, r"name: "),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_value_is_refused_by_field_in_one_line(case: str) -> None:
    changes, message = BAD[case]
    with pytest.raises(ResweepError, match=message) as error:
        VLP.with_(**changes)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Beam(divergence_h_rad=5, divergence_v_rad=0), "divergence_h_rad: .*radians"),
        (lambda: Beam(divergence_h_rad=0.001), "divergence_v_rad: missing"),
        (lambda: Block(elevation_min_deg=5, elevation_max_deg=1, elevation_resolution_deg=1), "elevation_min_deg: 5"),
        (lambda: Block(elevation_min_deg=5), "elevation_deg: give the list"),
        (lambda: Block(elevation_deg=[0], azimuth_offset_deg=[0, 1]), "azimuth_offset_deg: has 2 values for 1"),
        (lambda: Spinning(azimuth_resolution_deg=1), "channels: missing"),
        (
            lambda: TwoBlock(upper=Block(elevation_deg=[1]), lower=Block(elevation_deg=[-2, -1])),
            "lower: has 2 channels",
        ),
        (lambda: TwoBlock(upper=Block(elevation_deg=[-1]), lower=Block(elevation_deg=[1])), "lower: reaches above"),
        (lambda: Rosette(points_per_second=1e5, frame_s=0.1, prisms=()), "prisms: "),
        (lambda: Rosette(points_per_second=1e5, frame_s=1e-6, prisms=[_prism(10)]), "frame_s: is too short"),
        (lambda: Rosette(points_per_second=1e8, frame_s=1, prisms=[_prism(10)]), "frame_s: gives more than"),
        (lambda: Rosette(points_per_second=1e5, frame_s=0.1, prisms=[_prism(50), _prism(40)]), "prisms: together"),
        (lambda: _raster(elevation_max_deg=-60), "elevation_min_deg: -40 is above"),
        (lambda: _raster(elevation_resolution_deg=1e-4), "elevation_resolution_deg: gives .* pulses"),
    ],
)
def test_a_bad_part_is_refused_on_its_own(make: Any, message: str) -> None:
    with pytest.raises(ResweepError, match=message):
        make()


def _prism(deflection_deg: float) -> Prism:
    return Prism(rate_hz=10, deflection_deg=deflection_deg)


def _raster(**changes: Any) -> Raster:
    fields = {"azimuth_resolution_deg": 1, "elevation_min_deg": -40, "elevation_max_deg": 60}
    fields |= {"elevation_resolution_deg": 1, "pulse_rate_hz": 1e5, "line_rate_max_hz": 100, **changes}
    return Raster(**fields)  # type: ignore[arg-type]


def test_pace_of_a_rosette_is_its_own() -> None:
    with pytest.raises(ResweepError, match="rotation_rate_hz: a rosette pattern sets its own pace"):
        load_sensor("livox-avia").with_(rotation_rate_hz=5)


def test_with_changes_a_copy_deeply_and_leaves_the_original() -> None:
    changed = VLP.with_(
        rotation_rate_hz=5, **{"beam.rays": "single", "pattern.channels.azimuth_offset_deg": [1.0] * 16}
    )
    assert (changed.rotation_rate_hz, changed.beam.rays, changed.sweep_period_s) == (5, "single", 0.2)
    assert changed.pattern.channels.azimuth_offset_deg == (1.0,) * 16
    assert VLP.beam.rays == "nine"
    assert load_sensor("velodyne-vlp-16") == VLP
    assert changed != VLP
    assert VLP.with_(beam=Beam(divergence_h_rad=0.001, divergence_v_rad=0.001)).beam.divergence_h_rad == 0.001


def test_returns_follow_the_mode_unless_given() -> None:
    assert Receiver(mode="first").max_returns == 1
    assert VLP.with_(**{"receiver.mode": "strongest-and-last"}).receiver.max_returns == 2
    assert VLP.with_(**{"receiver.mode": "multiple"}).receiver.max_returns > 2
    assert VLP.with_(**{"receiver.mode": "multiple", "receiver.max_returns": 16}).receiver.max_returns == 16


def test_a_step_may_be_given_either_way() -> None:
    by_angle = VLP.with_(**{"pattern.firing_period_s": None, "pattern.azimuth_resolution_deg": 0.2})
    assert by_angle.pattern.azimuth_step_deg(10) == by_angle.pattern.azimuth_step_deg(20) == 0.2
    assert VLP.pattern.azimuth_step_deg(20) == pytest.approx(360 * 20 * 55.296e-6)


def test_equal_values_make_equal_sensors_however_written() -> None:
    data = VLP.model_dump(exclude_none=True)
    assert Sensor(**data) == VLP
    listed = Block(elevation_deg=[-1, 0, 1])
    spread = Block(elevation_min_deg=-1, elevation_max_deg=1, elevation_resolution_deg=1)
    assert listed.elevations_deg == spread.elevations_deg


def test_the_beam_slope_is_the_width_at_one_metre_of_any_spec() -> None:
    own = load_sensor("velodyne-hdl-32e").with_(
        name="my-lidar", **{"beam.spot": "elliptical", "beam.divergence_h_rad": 0.004, "beam.divergence_v_rad": 0.001}
    )
    assert own.beam_slope == pytest.approx(0.002)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"elevation_resolution_deg": 1e-9}, "gives 3e\\+10 channels, 4096 at most"),
        ({"elevation_resolution_deg": 1e-300}, "channels, 4096 at most"),
        ({"azimuth_resolution_deg": 1e-9}, "make more than 1000000 of a turn"),
    ],
)
def test_patterns_without_end(change: dict[str, float], message: str) -> None:
    from resweep.sensors.firing import fire

    block = {"elevation_min_deg": -15.0, "elevation_max_deg": 15.0, "elevation_resolution_deg": 2.0}
    pattern = {"kind": "spinning", "azimuth_resolution_deg": 0.2}
    pattern.update({key: value for key, value in change.items() if key in pattern})
    block.update({key: value for key, value in change.items() if key in block})
    with pytest.raises(ResweepError, match=message):
        fire(load_sensor("velodyne-vlp-16").with_(pattern={**pattern, "channels": block}))
