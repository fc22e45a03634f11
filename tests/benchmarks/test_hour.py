"""The verdict on an hour of simulation: what leaks is said to grow, what does not is flat."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.hour import FLAT, GROWS, UNKNOWN, WAYS, judge, run, tables, watch

SAME = [{"files": 9, "threads": 1}]


def notes(mb_per_hour: float, minutes: float, noise_mb: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    times = np.arange(0.0, 60.0 * minutes, 1.0)
    noise = np.random.default_rng(1).normal(0.0, noise_mb, len(times))
    return times, 200.0 + mb_per_hour * times / 3600.0 + noise


@pytest.mark.parametrize(
    ("mb_per_hour", "minutes", "verdict"),
    [(0.0, 60, FLAT), (30.0, 60, GROWS), (-20.0, 60, FLAT), (200.0, 5, UNKNOWN), (0.0, 0.5, UNKNOWN)],
)
def test_a_slope_is_found_with_its_interval(mb_per_hour: float, minutes: float, verdict: str) -> None:
    times, memory = notes(mb_per_hour, minutes)
    found = judge(times, memory, SAME * len(times))
    assert found["verdict"] == verdict
    if minutes == 60:
        assert found["mb_per_hour_low"] < mb_per_hour < found["mb_per_hour_high"]
        assert found["mb_per_hour_high"] - found["mb_per_hour_low"] < 3.0


def test_files_that_stay_open_are_growth() -> None:
    times, memory = notes(0.0, 10)
    others = [{"files": 9 + at // 100} for at in range(len(times))]
    found = judge(times, memory, others)
    assert found["verdict"] == GROWS
    assert found["grown"]["files"] > 0


def test_a_leak_shows_in_resident_memory(tmp_path: Path) -> None:
    kept = []

    def leak() -> Iterator[int]:
        while True:
            kept.append(mmap.mmap(-1, 2_000_000))  # new pages, where the heap of a long run has free ones
            kept[-1].write(b"1" * 2_000_000)
            yield 1

    found = watch(leak(), 0.5, tmp_path)
    assert found["mb_per_hour_low"] > 100.0


@pytest.mark.slow
def test_a_short_run_simulates_in_both_ways_and_leaves_nothing() -> None:
    result = run(0.05)
    for way in WAYS:
        assert result[f"{way}_sweeps"] > 0
        assert result[f"{way}_grown"]["leftovers"] == 0
    assert result["verdict"] in (UNKNOWN, GROWS)  # never flat in a few seconds
    assert tables(result)[0].row_count == len(WAYS)
