"""The benchmark of building splats runs on a drive that is what it says, and tells what it promises."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.neighbours import Neighbours


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2]))
    from benchmarks import splat_build

    return splat_build


def test_more_points_are_a_longer_drive(benchmark: ModuleType) -> None:
    short, long = benchmark.drive(60_000), benchmark.drive(400_000)
    assert len(short) == 60_000
    assert len(long) == 400_000
    assert np.ptp(long.sensor[:, 0]) > np.ptp(short.sensor[:, 0])
    assert len(np.unique(long.label)) >= 5
    assert long.range_m.min() > benchmark.EGO_M - 0.1


def test_open3d_gives_the_normals_that_ours_are_measured_against(benchmark: ModuleType) -> None:
    pytest.importorskip("open3d", reason="needs pip install 'resweep[bench]'", exc_type=ImportError)
    points = benchmark.drive(30_000).points
    ours = Neighbours(points).pca(benchmark.K)
    flat = ours.eigenvalues[:, 2] < 0.5 * ours.eigenvalues[:, 1]
    cosine = np.abs(np.einsum("ni,ni->n", benchmark.open3d_normals(points), ours.normal))
    assert np.quantile(cosine[flat], 0.01) > 0.999


@pytest.mark.slow
def test_a_fast_run_gives_positive_figures_and_tables(benchmark: ModuleType) -> None:
    pytest.importorskip("open3d", reason="needs pip install 'resweep[bench]'", exc_type=ImportError)
    result = benchmark.run(True, 0)
    ratios = [f"{who}ratio_to_open3d_normals" for who in ("", "normals_", "default_", "paper_c_")]
    keys = (*ratios, "processor_ratio_to_open3d_normals", "mb_per_million_points")
    assert all(math.isfinite(result[key]) and result[key] > 0 for key in keys)
    assert len(result["points"]) == len(result["points_build_s"]) == len(result["points_mb_per_million"]) >= 3
    assert set(result["steps_s"]) == {*benchmark.STEPS, "rest"}
    assert all(seconds > 0 for seconds in result["steps_s"].values())
    assert sum(result["steps_s"].values()) == pytest.approx(result["points_build_s"][-1])
    assert json.loads(json.dumps(result)) == result
    assert all(table.row_count > 0 for table in benchmark.tables(result))


def test_no_open3d_is_reported_with_the_command_that_installs_it(
    benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "open3d", None)
    with pytest.raises(ResweepError, match=r"pip install 'resweep\[bench\]'"):
        benchmark.run(True, 0)
