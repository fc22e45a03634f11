"""Every sensor of the catalog loads, survives a round trip and holds the papers' figures."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.sensors import Sensor, load_sensor, sensor_names

EXPECTED = {
    *("sick-lms-291-s05", "riegl-vz-400", "livox-avia", "livox-mid-360"),
    *(f"velodyne-{model}" for model in ("vlp-16", "vlp-32c", "hdl-32e", "hdl-64e", "vls-128")),
    *("velodyne-hdl-64e-s2", "velodyne-hdl-64e-s3", "kitti-hdl-64e"),
    *(f"ouster-{model}-{n}" for model in ("os0", "os1", "os2") for n in (32, 64, 128)),
    *(f"hesai-{model}" for model in ("pandar64", "xt32", "pandar128")),
}


def test_the_catalog_holds_every_promised_sensor() -> None:
    assert set(sensor_names()) == EXPECTED
    assert sensor_names() == sorted(sensor_names())


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_sensor_survives_a_round_trip_through_yaml(name: str, tmp_path: Path) -> None:
    sensor = load_sensor(name)
    assert sensor.name == name
    path = tmp_path / "copy.yaml"
    path.write_text(sensor.to_yaml(), encoding="utf-8")
    assert load_sensor(path) == sensor
    assert load_sensor(str(path)) == sensor
    assert hash(load_sensor(path)) == hash(sensor)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_sensor_is_described_and_noisy(name: str) -> None:
    sensor = load_sensor(name)
    assert sensor.title
    assert sensor.sources
    assert sensor.receiver.range_noise_sigma_m > 0
    assert sensor.beam.divergence_h_rad > 0
    text = resources.files("resweep.sensors").joinpath("catalog").joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    assert text.count("#") >= 8, "every figure, or group of figures, states its source in a comment"


def test_hdl_32e_is_that_of_table_2() -> None:
    sensor = load_sensor("velodyne-hdl-32e")
    assert (sensor.range_min_m, sensor.range_max_m) == (1.0, 70.0)
    assert (sensor.beam.spot, sensor.beam.divergence_h_rad, sensor.beam.divergence_v_rad) == (
        "rectangular",
        0.0033,
        0.0007,
    )
    assert sensor.receiver.signal_cutoff_m == 1.0
    elevations = np.array(sensor.elevations_deg)
    np.testing.assert_allclose(elevations[[0, -1]], [-30.6623, 10.67], atol=0.02)
    np.testing.assert_allclose(np.diff(elevations), 1.3333, atol=0.02)


def test_lms_291_is_that_of_table_3() -> None:
    sensor = load_sensor("sick-lms-291-s05")
    assert (sensor.range_max_m, sensor.receiver.signal_cutoff_m, sensor.receiver.mode) == (80.0, 1.6, "first")
    assert (sensor.beam.spot, sensor.beam.divergence_h_rad) == ("circular", 0.0129)
    assert (sensor.pattern.azimuth_min_deg, sensor.pattern.azimuth_max_deg) == (-50, 50)


def test_hdl_64e_is_that_of_table_4() -> None:
    sensor = load_sensor("velodyne-hdl-64e")
    assert (sensor.range_min_m, sensor.range_max_m, sensor.receiver.mode) == (1.0, 100.0, "strongest")
    assert (sensor.beam.spot, sensor.beam.divergence_h_rad, sensor.beam.divergence_v_rad) == (
        "rectangular",
        0.0033,
        0.0007,
    )
    elevations = np.array(sensor.elevations_deg)
    assert len(elevations) == 64
    np.testing.assert_allclose(elevations[[0, 31, 32, 63]], [-24.8, -11.6127, -11.1873, 2.0], atol=1e-9)


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("velodyne-hdl-64", "velodyne-hdl-64e"),
        ("vlp16", "velodyne-vlp-16"),
        ("livox-mid360", "livox-mid-360"),
        ("ouster-os1", "ouster-os1-"),
    ],
)
def test_unknown_name_suggests_the_nearest(name: str, suggestion: str) -> None:
    with pytest.raises(ResweepError) as error:
        load_sensor(name)
    assert suggestion in str(error.value)
    assert "\n" not in str(error.value)


def test_catalog_names_are_not_case_sensitive() -> None:
    assert load_sensor("Velodyne-VLP-16") == load_sensor("velodyne-vlp-16")


def test_missing_broken_and_empty_files_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(ResweepError, match=r"absent\.yaml.*no such"):
        load_sensor(tmp_path / "absent.yaml")
    broken = tmp_path / "broken.yaml"
    broken.write_text("name: a\nbeam: [1, 2\n", encoding="utf-8")
    with pytest.raises(ResweepError, match=r"broken\.yaml.*line \d+.*YAML"):
        load_sensor(broken)
    for text in ("", "- 1\n- 2\n", "just words\n", "1: 2\n"):
        (tmp_path / "odd.yaml").write_text(text, encoding="utf-8")
        with pytest.raises(ResweepError, match=r"odd\.yaml"):
            load_sensor(tmp_path / "odd.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(ResweepError, match=r"binary\.yaml"):
        load_sensor(tmp_path / "binary.yaml")


def test_an_error_in_a_file_names_file_and_field(tmp_path: Path) -> None:
    text = load_sensor("velodyne-vlp-16").to_yaml().replace("divergence_h_rad: 0.003", "divergence_h_rad: 3.3")
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ResweepError, match=r"mine\.yaml: beam\.divergence_h_rad: 3\.3 .*mrad.*radians"):
        load_sensor(path)


def test_a_sensor_is_frozen() -> None:
    sensor = load_sensor("velodyne-vlp-16")
    with pytest.raises(ValueError, match="frozen"):
        sensor.range_max_m = 5.0  # type: ignore[misc]
    assert isinstance(sensor, Sensor)
