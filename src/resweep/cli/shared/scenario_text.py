"""What ``resweep scenario`` prints: the ego and the actors of a scenario, one a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from resweep.scenario import Scenario
    from resweep.scenario.spec import ActorSpec, EgoSpec


def print_scenario(chosen: Scenario, file: str) -> None:
    """Print what a scenario, read from ``file``, has in it."""
    lasts = "as long as the ego moves" if chosen.duration_s is None else f"{chosen.duration_s:g} s"
    actors = "1 actor" if len(chosen.actors) == 1 else f"{len(chosen.actors)} actors"
    typer.echo(f"{file}: scenario '{chosen.name}' with {actors}, {lasts}, seed {chosen.seed}")
    typer.echo(f"  ego: {_describe_motion(chosen.ego)}")
    for actor in chosen.actors:
        what = actor.asset or actor.category or (actor.cad.file if actor.cad else "as recorded")
        starts = f", from {actor.start_s:g} s" if actor.start_s else ""
        if actor.start_within_m is not None:
            starts = f", once the ego is within {actor.start_within_m:g} m"
        typer.echo(f"  {actor.name}: {what}, {_describe_motion(actor)}{starts}")


def _describe_motion(item: EgoSpec | ActorSpec) -> str:
    (kind,) = item.kinds()
    if kind in ("poses", "log", "track"):
        return f"follows the {kind} {getattr(item, kind) if kind != 'track' else getattr(item, kind).id}"
    path = item.path()
    if kind == "at":
        x, y = path.places[0, :2]
        return f"stands at {x:g}, {y:g} m"
    speeds = item.speed_mps if isinstance(item.speed_mps, tuple) else (item.speed_mps or 0.0,)
    pace = f" at {min(speeds):g} to {max(speeds):g} m/s" if max(speeds) > min(speeds) else f" at {speeds[0]:g} m/s"
    return f"{kind} of {len(getattr(item, kind))} points{pace if item.speed_mps else ''}, {path.end:.1f} s"
