"""The benchmarks run, and tell what they promise to tell."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from resweep.errors import ResweepError

ROOT = Path(__file__).resolve().parents[2]

SLOW = ("build", "peers", "cluster", "learned", "memory", "streaming", "view", "dataset", "volumes", "perception")
KEYS = {
    "build": ["sweeps_per_s_4", "unlabelled_ratio"],
    "floor": [
        f"{place}_{rays}_{key}"
        for place in ("terrain", "courtyard")
        for rays in ("1ray", "9rays")
        for key in ("ratio", "sweeps_per_s", "floor_sweeps_per_s")
    ],
    "courtyard": ["realtime_factor", "triangles", "rays_per_pulse", "pulses_per_sweep", "rss_gb"],
    "memory": ["courtyard_gb", "root_gb", "courtyard_triangles", "root_triangles", "courtyard_build_s", "root_build_s"],
    "splat_trace": ["realtime_factor", "floor_ratio", "realtime_factor_depth5", "tracing_share"],
    "render": ["triangles_frames_per_s", "triangles_floor_ratio", "splats_frames_per_s", "splats_floor_ratio"],
    "view": ["choose_s", "write_s", "sent_mb", "shown", "live_ms_velodyne-hdl-32e"],
    "volumes": ["realtime_factor", "floor_ratio", "hybrid_realtime_factor", "beams_per_s"],
    "actors": ["realtime_factor", "realtime_factor_depth5", "cpu_ms", "update_ms", "update_exponent"],
    "dataset": ["ratio_to_simulator", "dataset_sweeps_per_s", "simulator_sweeps_per_s", "mb_per_sweep"],
    "streaming": ["ratio", "ratio_with_loading", "short_gb", "long_gb", "memory_growth"],
    "cluster": ["efficiency_2_workers", "simulate_ratio_2_workers", "dataset_ratio_2_workers"],
    "grassland": ["beams_per_hectare", "volumes_per_hectare", "beams_per_core_s", "bytes_per_volume"],
    "perception": ["train_detector_s", "detect_sweeps_per_s", "segment_sweeps_per_s"],
    "learned": ["drop_sweeps_per_s", "train_s", "share_of_budget"],
    "growth": ["triangles", "sweep_s", "threads", "threads_sweep_s"],
    "peers": [
        f"{key}_{rays}"
        for key in ("speedup_open3d", "speedup_open3d_prepared", "speedup_trimesh")
        for rays in ("1ray", "9rays")
    ]
    + [
        f"{place}_{rays}_ratio_mitsuba{order}"
        for place in ("terrain", "vegetation")
        for rays in ("1ray", "9rays")
        for order in ("", "_fired")
    ],
}


@pytest.fixture
def few_pulses(load: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function: gives a benchmark an HDL-64E with a tenth of its pulses, and a dataset of few sweeps.

    The figures of a fast run say nothing of speed, so their rays need not be many.
    """
    whole = load("places").hdl64

    def few(rays: int) -> Any:
        return whole(rays).with_(**{"pattern.laser_rate_hz": 25_000})

    def change(benchmark: ModuleType) -> ModuleType:
        for name, value in {"hdl64": few, "FAST": 4}.items():
            if hasattr(benchmark, name):
                monkeypatch.setattr(benchmark, name, value)
        return benchmark

    return change


def _figures(result: dict[str, Any], keys: list[str]) -> list[float]:
    values = [result[key] for key in keys]
    return [figure for value in values for figure in (value if isinstance(value, list) else [value])]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in KEYS],
)
def test_a_fast_run_gives_positive_figures_and_tables(name: str, load: Any, few_pulses: Any) -> None:
    if name == "peers":
        try:
            load("report").optional("open3d")
            load("mitsuba_rays").open_mitsuba()
        except ResweepError:
            pytest.skip("needs pip install 'resweep[bench]'")
    benchmark = few_pulses(load(name))
    result = benchmark.run(True) if name == "build" else benchmark.run(True, 0)  # a build chooses its threads itself
    assert all(math.isfinite(figure) and figure > 0 for figure in _figures(result, KEYS[name]))
    assert result["benchmark"] == name
    assert result["cores"] >= 1
    assert result["cpu"]
    assert {"resweep", "numpy", "embree"} <= set(result["versions"])
    assert json.loads(json.dumps(result)) == result
    assert all(table.row_count > 0 for table in benchmark.tables(result))
    if name == "peers":
        # The comparison is of the same work only if the answers are the same.
        agreements = [value for key, value in result.items() if "agreement" in key]
        assert len(agreements) == 8
        assert min(agreements) > 0.99


def test_the_last_line_is_one_json_object() -> None:
    command = [sys.executable, "-m", "benchmarks.growth", "--fast", "--json", "--threads", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["benchmark"] == "growth"
    assert len(result["triangles"]) == len(result["sweep_s"]) >= 3


def test_the_floor_traces_the_rays_of_the_sweep(load: Any) -> None:
    places, floor = load("places"), load("floor")
    mesh, poses = places.terrain_with_boxes(True)
    sim = floor.Simulator(floor.World([mesh]), places.hdl64(9), seed=1)
    origins, directions = sim.rays(poses[0])
    assert len(origins) == len(directions) == 9 * sim.sweep(poses[0]).n_beams
    hits = {sim.scene.raw_floor(origins, directions, sim.sensor.range_max_m, packet, 1, 1)[1] for packet in (1, 8, 16)}
    # A ray through an edge may differ by the packet's rounding.
    assert max(hits) - min(hits) <= 1e-4 * len(origins)
    assert min(hits) > 0.3 * len(origins)


def test_every_contender_takes_its_turn_in_every_round(load: Any) -> None:
    turns: list[str] = []

    def contender(name: str, seconds: float) -> Any:
        return lambda: (turns.append(name), seconds)[1]

    report = load("report")
    seconds = report.interleaved({"a": contender("a", 1.0), "b": contender("b", 4.0)}, 3)
    assert seconds == {"a": [1.0] * 3, "b": [4.0] * 3}
    assert turns == ["a", "b", "b", "a", "a", "b", "b", "a"]
    assert report.paired_ratio(seconds["b"], seconds["a"]) == 4.0


def test_the_second_run_of_a_steady_contender_counts(load: Any) -> None:
    taken = iter([9.0, 1.0, 8.0, 2.0])
    assert load("report").interleaved({"a": lambda: next(taken)}, 2, warm_up=False, steady=True) == {"a": [1.0, 2.0]}


def test_a_measured_process_reports_its_own_memory(load: Any) -> None:
    # A large parent must not show in the figures of a child, as it does in ru_maxrss.
    ballast = bytearray(600_000_000)
    ballast[::4096] = b"x" * len(ballast[::4096])
    figures = load("report").measured_apart("memory", "measure('courtyard', True, 1)", "the courtyard")
    assert 0.05 < figures["gb"] < 0.5


def test_no_open3d_is_reported_with_the_command_that_installs_it(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "open3d", None)
    with pytest.raises(ResweepError, match=r"pip install 'resweep\[bench\]'"):
        load("peers").run(True, 0)


def test_no_llvm_is_reported_with_what_installs_it(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Mitsuba:
        @staticmethod
        def set_variant(name: str) -> None:
            raise ImportError(f"no LLVM for {name}")

    monkeypatch.setitem(sys.modules, "mitsuba", Mitsuba())
    with pytest.raises(ResweepError, match=r"llvm_ad_rgb does not start .*apt-get install libllvm14"):
        load("mitsuba_rays").open_mitsuba()


def test_a_failed_benchmark_prints_one_line_and_fails(
    load: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "open3d", None)
    peers, report = load("peers"), load("report")
    assert report.main(peers.run, peers.tables, peers.__doc__, ["--fast", "--json"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
