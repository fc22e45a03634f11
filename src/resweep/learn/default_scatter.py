"""What a simulated sweep has by default, by the tables of its world, and whether a learned model improves on that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from resweep.learn.scores import find_cut, score_drops, score_intensity
from resweep.pose import Array
from resweep.sensor_scatter import find_incidence
from resweep.simulate import Retracer
from resweep.simulate.beam_channels import VOLUMES
from resweep.simulate.world_noise import IntensityDraw, lose_beams, scatter_range
from resweep.sweep import Sweep

if TYPE_CHECKING:
    from resweep.learn.beam_pairs import BeamPair

_AGAIN = 2**33  # added to the number of a sweep: what is drawn a second time


@dataclass(frozen=True, eq=False)
class DefaultScatter:
    """The first returns of a simulated sweep as its world scatters them, by beam (b,), 0 where nothing returned.

    ``range`` and ``intensity`` are drawn, ``intensity_again`` once more, independently. ``returned`` marks the beams
    that are not lost, beyond blind sectors, and ``chance`` is that of a loss.
    """

    range: Array
    intensity: Array
    intensity_again: Array
    returned: Array
    chance: Array


COLUMNS = tuple(DefaultScatter.__dataclass_fields__)


def draw_default(retracer: Retracer, simulated: Sweep, recorded: Sweep, index: int) -> DefaultScatter | None:
    """What is drawn by default of a sweep that was ``simulated`` without it; None if its world knows no scatter.

    Intensities are those without gains, and returns still have the columns of what they hit.
    """
    known = None if retracer.calibration is None else retracer.calibration.scatter
    if known is None or known.drops is None or known.intensity is None:
        return None
    seed, threads = retracer.tracer.seed, retracer.tracer.threads
    gain, draw = retracer.find_gain(simulated.ring, recorded), IntensityDraw(known.intensity)
    first, second = (
        draw.scatter(simulated, gain, seed=seed, index=number, threads=threads) for number in (index, index + _AGAIN)
    )
    if known.range is not None:
        first = scatter_range(first, known.range, seed=seed, index=index, threads=threads)
    left = np.zeros(simulated.n_beams, bool)
    left[lose_beams(simulated, known.drops, seed=seed, index=index, threads=threads).beam] = True
    rows = np.flatnonzero(simulated.return_index == 0)
    chance = known.drops.find_probability(
        simulated.range[rows],
        find_incidence(simulated.extra["cosine"][rows]),
        simulated.intensity[rows],
        simulated.extra["primitive"][rows] != VOLUMES,
    )
    return DefaultScatter(
        range=_spread(simulated, rows, first.range[rows]),
        intensity=_spread(simulated, rows, first.intensity[rows]),
        intensity_again=_spread(simulated, rows, second.intensity[rows]),
        returned=left,
        chance=_spread(simulated, rows, chance),
    )


def _spread(sweep: Sweep, rows: Array, values: Array) -> Array:
    """The values of some of the returns by beam (b,), 0 for others."""
    found = np.zeros(sweep.n_beams, np.float32)
    found[sweep.beam[rows]] = values
    return found


def find_drop_chance(pair: BeamPair) -> Array:
    """The chance (b,) that a return is lost by default: by a blind sector, or else by the table."""
    assert pair.default is not None
    return np.asarray(1.0 - (1.0 - pair.blind) * (1.0 - pair.default.chance))


def score_default(pairs: Sequence[BeamPair], task: str) -> dict[str, float]:
    """Scores of the default on pairs, of drops or intensities; none if a pair has no default.

    The cut is chosen on the same pairs, as that of a model is.
    """
    if not pairs or any(pair.default is None for pair in pairs):
        return {}
    if task == "drop":
        chance = np.concatenate([find_drop_chance(pair)[pair.chosen] for pair in pairs])
        dropped = np.concatenate([pair.dropped for pair in pairs])
        values = np.concatenate([pair.channels.values[pair.chosen] for pair in pairs])
        return _round(score_drops(chance, dropped, find_cut(chance, dropped), values))
    draws = [(pair.default.intensity, pair.default.intensity_again) for pair in pairs if pair.default is not None]
    return _round(score_draws(pairs, draws))


def score_draws(pairs: Sequence[BeamPair], draws: Sequence[tuple[Array, Array]]) -> dict[str, float]:
    """Scores of intensities that were drawn twice for each beam (b,) of pairs, where both sides returned.

    ``intensity_crps`` is the continuous ranked probability score, E |X - y| - E |X - X'| / 2, of the two draws.
    """
    rows = [pair.chosen[pair.returned[pair.chosen]] for pair in pairs]
    one, two = (np.concatenate([draw[at][own] for draw, own in zip(draws, rows, strict=True)]) for at in (0, 1))
    true = np.concatenate([pair.intensity[own] for pair, own in zip(pairs, rows, strict=True)])
    if not len(true):
        return {}
    off = (np.abs(one - true) + np.abs(two - true)).mean(dtype=np.float64) / 2
    crps = float(off - np.abs(one - two).mean(dtype=np.float64) / 2)
    return {"intensity_crps": crps, "intensity_js": score_intensity(one, true)["intensity_js"]}


def _round(scores: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 5) for name, value in scores.items()}
