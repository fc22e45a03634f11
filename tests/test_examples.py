"""The examples run as they stand, and what they print is true."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import resweep as rs

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

Run = Callable[[str], str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the example of that name as a script, writing into ``tmp_path``; gives what it printed."""

    def once(name: str) -> str:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [name, str(tmp_path)])
        runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
        return capsys.readouterr().out

    return once


def figures(pattern: str, text: str) -> list[float]:
    """The numbers that the groups of ``pattern`` caught in ``text``."""
    found = re.search(pattern, text)
    assert found, f"{pattern!r} is not in:\n{text}"
    return [float(group.replace(",", "")) for group in found.groups()]


def test_every_example_is_run_here():
    tests = Path(__file__).read_text()
    assert EXAMPLES
    assert [path.stem for path in EXAMPLES if f'run("{path.stem}")' not in tests] == []


def test_world(run: Run, tmp_path: Path):
    text = run("01_world")
    (primitives,) = figures(r"([\d,]+) primitives from 5 sweeps", text)
    median_cm, near = figures(r"median range error ([\d.]+) cm, ([\d.]+) % within 10 cm", text)
    assert median_cm < 3.0
    assert near > 80.0
    assert rs.load_world(tmp_path / "street.world").n_primitives == primitives > 10_000
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_wall(run: Run, tmp_path: Path):
    text = run("02_wall")
    on_wall, x, spread = figures(r"([\d,]+) of them from the wall[^§]*x = ([\d.]+) m, spread ([\d.]+) m", text)
    sigma = rs.load_sensor("velodyne-vlp-16").receiver.range_noise_sigma_m
    assert x == pytest.approx(10.0, abs=4 * sigma / np.sqrt(on_wall) + 5e-4)  # the print rounds to a millimetre
    assert spread <= sigma * 1.1  # noise along the beam, which x sees at an angle
    assert len(rs.load_sweep(tmp_path / "wall.pcd")) < rs.load_sweep(tmp_path / "wall.sweep").n_beams == 28928


def test_return_modes(run: Run, tmp_path: Path):
    run("02_wall")
    rows = [line.split(",") for line in (tmp_path / "returns.csv").read_text().splitlines()[1:]]
    ranges = {(plate, mode): [float(r) for r in found.split(" and ")] for plate, mode, found, _ in rows}
    wall, plate = pytest.approx(10.0, abs=0.01), pytest.approx(5.0, abs=0.01)
    assert ranges["5.0", "first"] == [plate]
    assert ranges["5.0", "last"] == [wall]
    assert ranges["5.0", "strongest"] == [wall]  # it reflects twice as much
    assert ranges["5.0", "multiple"] == [plate, wall]
    for mode in ("first", "last", "strongest", "multiple"):  # half the rays at 9.5 m, half at 10 m, averaged
        assert ranges["9.5", mode] == [pytest.approx(9.75, abs=0.25 * 4 / np.sqrt(512))]


def test_own_sensor(run: Run, tmp_path: Path):
    text = run("03_own_sensor")
    pulses, planes, period_ms = figures(r"(\d+) pulses a sweep on (\d+) planes, (\d+) ms", text)
    assert (pulses, planes, period_ms) == (5 * 481, 5, 40)
    returned, twice = figures(r"([\d,]+) returns; (\d+) beams gave two", text)
    assert 0 < twice < returned - twice <= pulses
    assert (tmp_path / "bumper-5.png").stat().st_size > 10_000


def test_vegetation(run: Run, tmp_path: Path):
    text = run("04_vegetation")
    shares = {}
    for rays in ("single", "nine"):
        plant, beams, through = figures(rf"{rays}: ([\d,]+) of ([\d,]+) beams .*?; ([\d,]+) of those", text)
        shares[rays] = plant / beams, through / plant
    assert shares["single"][1] == 0.0  # one ray ends where it hits
    assert shares["nine"][1] > 0.5
    assert shares["nine"][0] > 2 * shares["single"][0]  # a wide beam touches more blades
    assert rs.load_sweep(tmp_path / "courtyard.laz").return_index.max() >= 1


def test_drive(run: Run, tmp_path: Path):
    text = run("05_drive")
    as_fired, deskewed = figures(r"([\d.]+) m rms as fired, ([\d.]+) m rms deskewed", text)
    assert deskewed <= rs.load_sensor("velodyne-vlp-16").receiver.range_noise_sigma_m
    assert as_fired > 10 * deskewed
    assert "world coordinates: True" in text
    assert len(rs.open_log(tmp_path / "sequences/00")) == len(rs.open_log(tmp_path / "drive-las")) == 10


def test_own_mesh(run: Run):
    text = run("06_own_mesh")
    seen = {name: figures(rf"{name}: +([\d,]+) returns, mean intensity ([\d.]+)", text) for name in ("facade", "sign")}
    assert seen["facade"][0] > seen["sign"][0] > 0
    assert seen["sign"][1] == pytest.approx(0.6 + 2.0, rel=0.05)  # diffuse and retro, nearly square on
    assert seen["facade"][1] < 0.35 + 1e-6  # no brighter than its reflectance
    assert re.search(r"car: .*instances \[1, 2, 3\]", text)
    assert re.search(r"sign: .*instances \[9\]", text)


def test_picture(run: Run, tmp_path: Path):
    text = run("07_picture")
    ground, behind = figures(r"slice: ([\d,]+) returns from the ground, (\d+) from behind the wall", text)
    assert ground > 100
    assert behind == 0
    assert (tmp_path / "meadow.png").stat().st_size > 100_000


def test_traffic(run: Run, tmp_path: Path):
    text = run("08_traffic")
    for name, speed in (("hatchback", 9.0), ("saloon", 6.0), ("suv", 4.0)):
        (measured,) = figures(rf"{name}: .*?, ([\d.]+) m/s", text)
        assert measured == pytest.approx(speed, rel=0.02)
    assert "runs into actor" in text
    assert len(rs.open_log(tmp_path / "traffic")) == 5


def test_replay(run: Run, tmp_path: Path):
    text = run("09_replay")
    for name in ("car", "bus"):
        returns, percent = figures(rf"{name} \d+: ([\d,]+) returns replayed, (\d+)% of them in the recorded box", text)
        assert returns > 30
        assert percent > 95
    recorded, replayed = figures(r"([\d,]+) returns recorded, ([\d,]+) replayed by velodyne-hdl-32e", text)
    assert replayed > 1.5 * recorded  # twice the channels
    assert len(rs.open_log(tmp_path / "replayed")) == len(rs.open_log(tmp_path / "record")) == 5


@pytest.mark.slow
def test_loop(run: Run):
    text = run("11_loop")
    driven, left = figures(r"time: ([\d.]+) m driven, ([\d.]+) m left to the van", text)
    assert 0.5 < left < 12.0
    assert driven + left < 20.0
    assert figures(r"(\d+) sweeps of the roof, (\d+) of the nose", text) == [40, 150]
    assert "replayed to the same states: True" in text


def test_socket(run: Run):
    length, sweeps = figures(r"time after ([\d.]+) m, (\d+) sweeps", run("10_socket"))
    assert (length, sweeps) == (8.0, 10)
