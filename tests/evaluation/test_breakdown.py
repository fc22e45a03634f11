"""Where errors are: by range, on the ground, by stated confidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from resweep import Log, Sweep
from resweep.evaluation import evaluate
from resweep.evaluation.compare.breakdown import Breakdown
from resweep.pose import from_xyz_rpy

MakeSweep = Callable[..., Sweep]
BEAMS = 720


def test_figures_by_range_are_those_of_the_beams_in_it(make_sweep: MakeSweep) -> None:
    at = np.arange(BEAMS)
    real = np.where(at < 360, 8.0, 25.0)
    sim = np.where(at < 360, 8.05, 25.5)
    real[:10] = np.nan  # only simulated, at 8.05 m
    sim[360:396] = np.nan  # a tenth of the far ones are missing
    near, far = evaluate(make_sweep(sim), make_sweep(real)).per_range
    assert (near["from_m"], near["to_m"], near["beams"], near["surplus"]) == (5.0, 10.0, 350, 10)
    assert near["range_mean_m"] == pytest.approx(0.05, abs=1e-5)
    assert near["recovered_0.10m"] == 1.0
    assert (far["from_m"], far["to_m"], far["beams"], far["surplus"]) == (20.0, 30.0, 360, 0)
    assert far["range_mean_m"] == pytest.approx(0.5, abs=1e-5)
    assert far["recovered_0.10m"] == 0.0
    assert far["return_recall"] == pytest.approx(0.9)


def test_beams_are_counted_by_what_returned(make_sweep: MakeSweep) -> None:
    real, sim = np.full(BEAMS, 20.0), np.full(BEAMS, 20.0)
    real[:30], sim[20:70] = np.nan, np.nan
    report = evaluate(make_sweep(sim), make_sweep(real))
    assert report.returns == {"both": 650, "missing": 40, "surplus": 20, "neither": 10}


def test_the_ground_shows_where_ranges_are_wrong(make_sweep: MakeSweep) -> None:
    real = make_sweep(20.0, pose=from_xyz_rpy(512_300.0, 5_412_300.0, 50.0))
    left = real.beam_direction[:, 1] > 1e-6
    sim = make_sweep(np.where(left, 21.0, 20.0), pose=real.pose)
    ground = evaluate(sim, real).ground
    y, beams, right = (np.array(ground[name]) for name in ("y_m", "beams", "right"))
    assert beams.sum() == BEAMS
    assert not right[y >= 5_412_301].any()
    assert (right == beams)[y < 5_412_299].all()


def test_cells_are_joined_until_they_are_few() -> None:
    made = Breakdown(cells={(x, y): np.array([4.0, 1.0]) for x in range(-40, 40) for y in range(40)})
    ground = made.ground(cells_max=250)
    assert ground["cell_m"] == 4.0
    assert len(ground["x_m"]) == 200
    assert sum(ground["beams"]) == 4 * 3200
    assert sum(ground["right"]) == 3200
    assert min(ground["x_m"]) == -40.0


def test_stated_confidence_is_held_against_the_truth(make_sweep: MakeSweep, rng: np.random.Generator) -> None:
    stated = rng.uniform(0, 1, BEAMS)
    right = rng.uniform(0, 1, BEAMS) < stated
    sim = make_sweep(np.where(right, 20.0, 21.0))
    sim = replace(sim, extra={**sim.extra, "confidence": stated.astype(np.float32)})
    rows = evaluate(sim, make_sweep(20.0)).calibration
    assert sum(row["returns"] for row in rows) == BEAMS
    for row in rows:
        spread = np.sqrt(row["confidence"] * (1 - row["confidence"]) / row["returns"])
        assert abs(row["right"] - row["confidence"]) < 4 * spread + 0.03
    assert evaluate(make_sweep(20.0), make_sweep(20.0)).calibration == []


def test_sweeps_add_up(make_sweep: MakeSweep) -> None:
    pairs = [(20.05, 20.0), (7.5, 7.0)]
    logs = [Log.from_sweeps([make_sweep(pair[side]) for pair in pairs]) for side in (0, 1)]
    both = evaluate(*logs)
    single = [evaluate(make_sweep(sim), make_sweep(real)) for sim, real in pairs]
    assert both.per_range == [*single[1].per_range, *single[0].per_range]
    assert both.returns["both"] == sum(report.returns["both"] for report in single)
