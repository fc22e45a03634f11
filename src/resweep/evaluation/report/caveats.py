"""What a reader of the figures must know about how they were measured."""

from __future__ import annotations

from collections.abc import Sequence

from resweep.evaluation.compare.pairs import PairFacts
from resweep.labels import LabelSet

_MAX_APART_M = 0.5
_MIN_MATCHED = 0.9  # a smaller share of matched beams is warned of
_AT_M = 20.0  # the range at which angles between beams are given in centimetres
WARNING = "Warning: "  # what the lines begin with that a reader must not miss


class Caveats:
    """Collects how the pairs of two logs were compared, and what was unusual, as whole sentences.

    ``n_pairs`` of ``n_sim`` and ``n_real`` sweeps are compared; with ``same_frame``, as if from the same place.
    ``without_beams`` are the sides ("simulated", "real") whose beams are unknown.
    """

    def __init__(
        self, n_sim: int, n_real: int, n_pairs: int, same_frame: bool, without_beams: Sequence[str] = ()
    ) -> None:
        self._without_beams = tuple(without_beams)
        self._how: dict[str, int] = {}
        self._layouts: set[str] = set()
        self._apart_m = 0.0
        self._beams = self._matched = self.left_out = 0
        self._returns = {"real": 0, "simulated": 0}
        self._between_rad = 0.0
        self._all_returned = {"real": True, "simulated": True}
        self._same_frame = same_frame
        self._counts = (n_sim, n_real, n_pairs)

    def add(self, pair: PairFacts) -> None:
        """Take one pair into account."""
        self._how[pair.how] = self._how.get(pair.how, 0) + 1
        self._layouts.add(pair.layout)
        self._beams += pair.beams[1]
        self._matched += pair.matched
        self.left_out += pair.left_out
        self._between_rad = max(self._between_rad, pair.between_rad)
        for at, side in enumerate(("simulated", "real")):
            self._all_returned[side] &= pair.all_returned[at]
            self._returns[side] += pair.returned[at]
        self._apart_m = max(self._apart_m, pair.apart_m)

    def lines(self) -> list[str]:
        """The caveats, one sentence each."""
        n_sim, n_real, n_pairs = self._counts
        lines = self._warnings()
        if n_sim != n_real:
            lines.append(f"{n_pairs} of {n_sim} simulated and {n_real} real sweeps were paired by nearest timestamp.")
        if self._without_beams:
            return lines + self._frames()
        if self.left_out:
            beams = self._beams + self.left_out
            lines.append(
                f"{self.left_out:,} of {beams:,} recorded beams are left out, as they returned from what no map holds "
                "(moving, outliers, the vehicle itself)."
            )
        matched = ", ".join(f"{how} ({count} of {n_pairs} sweeps)" for how, count in self._how.items())
        lines.append(f"Beams were matched by {matched}.")
        lines.append(f"Range images are {', '.join(sorted(self._layouts))}.")
        for side, metric in (("real", "return_precision"), ("simulated", "return_recall")):
            if self._all_returned[side]:
                lines.append(f"The {side} sweeps keep no beam without return, so {metric} cannot be below 1.")
        return lines + self._frames()

    def _frames(self) -> list[str]:
        """In which frame clouds were compared, and how far apart the sweeps are."""
        _, n_real, _ = self._counts
        lines = []
        if self._same_frame:
            lines.append(
                "The poses of a log are unknown: sweeps were compared in the sensor's frame, as if from the same place."
            )
            if n_real > 1:
                lines.append("Without poses the real sweeps make no cloud: there is no c2c_m, see c2c_sweep_m.")
        if self._apart_m > _MAX_APART_M and not self._without_beams:
            lines.append(
                f"Paired sweeps are up to {self._apart_m:.2f} m apart: beam-by-beam figures then compare different "
                "views, cloud figures remain valid."
            )
        return lines

    def _warnings(self) -> list[str]:
        """What makes figures mean something else than their names say."""
        lines = [
            f"{WARNING}no beam of the {side} sweeps returned, so there is nothing to compare; "
            "check the poses that they were taken from."
            for side, count in self._returns.items()
            if count == 0
        ]
        if self._without_beams:
            sides = " and ".join(self._without_beams)
            lines.append(
                f"{WARNING}sensor position unknown ({sides} side), so beams are unknown: there are no figures of "
                "range, returns, intensity and image, only distances between clouds."
            )
        elif self._beams and self._matched < _MIN_MATCHED * self._beams:
            between_cm = 100 * _AT_M * self._between_rad
            lines.append(
                f"{WARNING}only {self._matched / self._beams:.0%} of the real beams have a simulated counterpart, and "
                f"those lie up to {between_cm:.1f} cm apart at {_AT_M:g} m (median of a sweep). Figures of range, "
                "returns, intensity and image are of these pairs alone, and hold the difference between two firing "
                "patterns besides that between world and reality; so do distances between two sweeps. Simulate with "
                "the sensor 'recorded' to compare the log's own beams."
            )
        return lines


def label_lines(sim: LabelSet, real: LabelSet, used: LabelSet, thin: tuple[int, ...], lost: list[str]) -> list[str]:
    """What to know about labels: the vocabularies of both sides, the one ``used``, and what is ``lost`` in it."""
    lines = []
    if not used.known:
        which = "" if thin else "; which are thin is unknown, so there is no thin_c2c_m"
        lines.append(f"The vocabulary of the labels is unknown: classes are called by their number{which}.")
    else:
        lines.append(f"Classes are those of {used.title or used.name}.")
        if not thin:
            lines.append(f"{used.title or used.name} has no class of thin structures, so there is no thin_c2c_m.")
    if sim.known and real.known and not sim.same_as(real):
        without = f"; without counterpart, and unlabelled now: {', '.join(lost)}" if lost else ""
        lines.append(f"Simulated labels were mapped from {sim.name} to {real.name}{without}.")
    elif sim.known != real.known and "none" not in (sim.name, real.name):
        which = "real" if sim.known else "simulated"
        lines.append(f"The vocabulary of the {which} labels is unknown: ids were compared as numbers.")
    return lines
