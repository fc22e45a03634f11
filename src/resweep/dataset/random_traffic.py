"""Random traffic: actors on lanes, without collisions."""

from __future__ import annotations

from typing import Any

import numpy as np

from resweep.dataset.dataset_plan import DatasetPlan, RunPlan
from resweep.errors import ResweepError
from resweep.scenario import Bank, Scenario
from resweep.scenario.ground import find_ground
from resweep.scenario.spec import ActorSpec
from resweep.worlds import World

_TRIES = 6  # candidates for each actor that is wanted


def add_traffic(plan: DatasetPlan, run: RunPlan, world: World, bank: Bank) -> Scenario:
    """The scenario of a run with the plan's traffic added; the same for the same seed and variant."""
    traffic = plan.traffic
    if traffic is None:
        return run.scenario
    rng = np.random.default_rng([plan.seed, run.number, 0x74726166])
    wanted = int(rng.integers(traffic.count[0], traffic.count[1] + 1))
    candidates = [_draw_actor(plan, rng, bank, f"traffic {at}") for at in range(_TRIES * wanted)]
    scenario = _add_actors(run.scenario, candidates)
    ground = find_ground(world)
    actors = scenario.make_actors(ground, bank)
    clashes: dict[str, set[str]] = {}
    for found in scenario.find_overlaps(ground, actors):
        clashes.setdefault(found.actor, set()).add(found.other or "world")
        clashes.setdefault(found.other, set()).add(found.actor)
    kept = {"world", "ego", *(spec.name for spec in run.scenario.actors)}
    chosen: list[ActorSpec] = []
    for spec in candidates:
        if len(chosen) < wanted and not clashes.get(spec.name, set()) & kept:
            kept.add(spec.name)
            chosen.append(spec)
    if len(chosen) < traffic.count[0]:
        raise ResweepError(
            f"traffic.count: only {len(chosen)} of {wanted} actors fit on the lanes of run {run.number} without "
            "running into something; give more or longer lanes, or fewer actors"
        )
    return _add_actors(run.scenario, chosen)


def _draw_actor(plan: DatasetPlan, rng: np.random.Generator, bank: Bank, name: str) -> ActorSpec:
    traffic = plan.traffic
    assert traffic is not None
    lane = traffic.lanes[int(rng.integers(len(traffic.lanes)))]
    length = float(np.linalg.norm(np.diff(np.array(lane)[:, :2], axis=0), axis=1).sum())
    names = bank.by_category(traffic.categories[int(rng.integers(len(traffic.categories)))])
    return ActorSpec(
        name=name,
        asset=str(names[int(rng.integers(len(names)))]),
        lane=lane,
        begin_m=float(rng.uniform(0.0, 0.9 * length)),
        speed_mps=float(rng.uniform(*traffic.speed_mps)),
    )


def _add_actors(scenario: Scenario, more: list[ActorSpec]) -> Scenario:
    given: dict[str, Any] = scenario.model_dump(exclude_unset=True)
    return Scenario(**{**given, "actors": [*scenario.actors, *more]})
