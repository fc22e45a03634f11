"""Pairs of sweeps that were compared: their sums, and the report of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import resweep
from resweep.evaluation.compare.accumulated_clouds import AccumulatedClouds, count_points
from resweep.evaluation.compare.breakdown import Breakdown
from resweep.evaluation.compare.pair import Pair, sum_recorded
from resweep.evaluation.compare.pairs import (
    Comparison,
    PairResult,
    compare_at,
    find_full_scales,
    find_range_max,
    hold_sweep,
)
from resweep.evaluation.compare.recorded import KEPT_BYTES, KeptClouds, RecordedCloud
from resweep.evaluation.metrics.metrics import METRICS
from resweep.evaluation.metrics.sums import MetricSums, Values
from resweep.evaluation.report.caveats import Caveats, label_lines
from resweep.evaluation.report.report import Report
from resweep.label_mapping import map_labels
from resweep.labels import NO_LABELS
from resweep.log import Log
from resweep.map_filter import MapFilter
from resweep.memory import find_spare_memory
from resweep.work import Workers, is_here, map_batches

WORST = 3  # pairs that a report shows
BEAM_BYTES = 750  # that a beam of a pair takes while it is compared: both sweeps, images and nearest points


class PairTotals:
    """Pairs compared so far: their sums, and where the errors are."""

    def __init__(
        self,
        sim: Log,
        real: Log,
        recorded: Log | None,
        n_pairs: int,
        thin: Iterable[int] | None,
        range_max_m: float | None,
        threads: int,
        memory: int,
        left_out: MapFilter | None = None,
    ) -> None:
        self.given, self.sim, self.real, self.recorded = sim.labels, sim, real, recorded or real
        self.seen: set[int] = set()
        self.labels = real.labels
        self.thin = self.labels.thin if thin is None else tuple(int(label) for label in thin)
        self.range_max_m, self.threads, self.memory, self.left_out = range_max_m, threads, memory, left_out
        self.accumulate = False
        self.same_frame = not (sim.poses_known and real.poses_known)
        self.total = MetricSums()
        self.pairs: list[tuple[int, int, MetricSums]] = []
        self.accumulated: AccumulatedClouds | None = None
        self.beams_known = sim.beams_known and real.beams_known
        unknown = [side for side, log in (("simulated", sim), ("real", real)) if not log.beams_known]
        self.caveats = Caveats(len(sim), len(real), n_pairs, self.same_frame, unknown)
        self.breakdown = Breakdown()
        self.comparison: Comparison | None = None
        self.full_scales: tuple[float | None, float | None] = (1.0, 1.0)
        self.cloud: RecordedCloud | None = None
        self.kept = KeptClouds()

    @property
    def is_own(self) -> bool:
        """Whether the real sweeps, as they are compared, are the recorded cloud."""
        return self.recorded is self.real and self.left_out is None

    @property
    def gathers(self) -> bool:
        """Whether the recorded cloud has to be gathered: one recorded sweep is that cloud itself."""
        return not self.same_frame and (len(self.recorded) > 1 or self.recorded is not self.real)

    def _divide_memory(self, beams: int, at_real: int) -> None:
        """Make room for clouds, from the first pair: what its ``beams`` take is not left for them."""
        spare = find_spare_memory(self.memory, BEAM_BYTES * beams, "comparing a pair of sweeps")
        clouds = spare // (2 if self.accumulate else 1)
        if self.gathers:
            self.cloud = RecordedCloud(self.real.poses[0][:3, 3], self.threads, count_points(clouds))
            self.kept = KeptClouds(clouds // 4 // KEPT_BYTES)
        if self.accumulate:
            # The frame of the first real pose keeps float32 exact in any world.
            self.accumulated = AccumulatedClouds(self.real.poses[at_real], self.threads, clouds)

    def compare_pairs(
        self,
        pairs: list[tuple[int, int]],
        tolerance_rad: float | None,
        workers: Workers,
        on_pair: Callable[[int, int], None] | None,
    ) -> None:
        """Compare all pairs, each a task of its own or a part of one."""
        sim, real = self.sim[pairs[0][0]], self.real[pairs[0][1]]
        self._divide_memory(sim.n_beams + real.n_beams, pairs[0][1])
        if self.range_max_m is None:
            self.range_max_m = find_range_max(self.sim, sim, self.real, real)
        given, here = self.given, is_here(workers)
        self.full_scales = find_full_scales(self.sim, self.real)
        self.comparison = Comparison(
            hold_sweep(self.sim, pairs[0][0], sim) if here else self.sim,
            hold_sweep(self.real, pairs[0][1], real) if here else self.real,
            self.labels,
            maps=given.known and self.labels.known and not given.same_as(self.labels),
            range_max_m=self.range_max_m,
            same_frame=self.same_frame,
            beams_known=self.beams_known,
            tolerance_rad=tolerance_rad,
            threads=self.threads,
            left_out=self.left_out,
            keeps_sim=self.gathers,
            keeps_real=self.gathers and self.is_own,
            keeps_frame=self.accumulate,
            keeps_pair=False,
            full_scales=self.full_scales,
        )
        del sim, real
        results = map_batches(workers, partial(compare_at, self.comparison), pairs, "comparing", show=False)
        for done, (numbers, compared) in enumerate(zip(pairs, results, strict=True), start=1):
            self._add(*numbers, compared)
            if on_pair is not None:
                on_pair(done, len(pairs))

    def _add(self, at_sim: int, at_real: int, compared: PairResult) -> None:
        """Take in one pair."""
        sums = compared.sums
        self.caveats.add(compared.facts)
        self.seen.update(compared.seen)
        self.breakdown.add(compared.breakdown)
        self.total.take_errors(sums)
        self.pairs.append((at_sim, at_real, sums))
        if self.cloud is not None:
            assert compared.sim is not None
            self.kept.append(*compared.sim)
            if compared.real is not None:
                self.cloud.add_points(*compared.real)
        if self.accumulated is not None:
            assert compared.in_frame is not None
            self.accumulated.add(*compared.in_frame)

    def _find_worst(self) -> list[int]:
        """The rows of the pairs with the largest c2c_sweep_m, worst first."""
        totals = [sums.totals for _, _, sums in self.pairs]
        errors = [each["c2c_sweep"] / each["c2c_sweep_n"] if each["c2c_sweep_n"] else 0.0 for each in totals]
        return sorted(range(len(errors)), key=lambda row: -errors[row])[:WORST]

    def compare_with_recorded(self) -> None:
        """Add the distances of all pairs to the whole recorded cloud, and the sums of all pairs to the total."""
        if self.cloud is not None:
            gathered = {at_real for _, at_real, _ in self.pairs} if self.is_own else set()
            for at in range(len(self.recorded)):
                if at not in gathered:
                    self.cloud.add(self.recorded[at])
            for batch in self.kept.batches(self.cloud.max_points // 2):
                sum_recorded([sums for _, _, sums in self.pairs[batch.first :]], batch, self.cloud)
        for _, _, sums in self.pairs:
            if self.cloud is None and len(self.recorded) == 1:
                sums.copy_distances("c2c_sweep", "c2c")
            self.total.add(sums)

    def report(self, known: Values) -> Report:
        """The report of all pairs, with figures that the caller knew."""
        assert self.range_max_m is not None
        assert self.comparison is not None
        whole = replace(self.comparison, keeps_pair=True)
        numbers = [pair[:2] for pair in self.pairs]

        def load_pair(row: int) -> Pair:
            """The sweeps of a row compared again, with all that pictures need."""
            pair = compare_at(whole, numbers[row]).pair
            assert pair is not None
            return pair

        values = {**self.total.metrics(self.thin, self.range_max_m), **known}
        lost = map_labels(self.given, self.labels).lost_names(np.array(sorted(self.seen))) if self.seen else []
        real = self.labels if self._labelled("real") else NO_LABELS
        labels = self.given if real is NO_LABELS and self.given.known else self.labels
        thin = self.thin or labels.thin
        lines = label_lines(self.given, real, labels, thin, lost) if self._labelled("real", "sim") else []
        return Report(
            metrics={name: values[name] for name in METRICS if name in values},
            per_sweep=[self._row(*pair) for pair in self.pairs],
            per_class=self.total.per_class(labels),
            per_range=self.breakdown.by_range(),
            range_errors=self.total.error_curves(),
            returns=self.total.count_returns(),
            ground=self.breakdown.ground(),
            calibration=self.breakdown.calibration(),
            notes=[*self.caveats.lines(), *self._describe_intensity(), *lines],
            settings={
                "resweep": resweep.__version__,
                "sim": _make_title(self.sim),
                "real": _make_title(self.real),
                "sweeps": len(self.pairs),
                "range_max_m": self.range_max_m,
                "labels": labels.name,
                "labels_title": labels.title,
                "unlabelled_labels": list(labels.unlabelled) if labels.known else [0],
                "thin_labels": list(self.thin),
                "worst_rows": self._find_worst(),
                "beams_left_out": self.caveats.left_out,
                "intensity_scales": list(self.full_scales),
                "noise": str(self.sim.meta.get("noise", "unknown")),
            },
            load_pair=load_pair,
        )

    def _describe_intensity(self) -> list[str]:
        """What intensities were divided by, where that is not 1."""
        sides = zip(("simulated", "real"), (self.sim, self.real), self.full_scales, strict=True)
        return [
            f"Intensities of the {side} log are compared as shares of {scale:g}, their full scale"
            + ("." if log.intensity_scale is not None else ", as its intensities show.")
            for side, log, scale in sides
            if scale not in (None, 1.0)
        ]

    def _labelled(self, *sides: str) -> bool:
        """Whether any return of the sides ("sim", "real") is labelled."""
        found = [label for label, sums in self.total.classes.items() if any(sums[side] for side in sides)]
        return bool(self.labels.is_labelled(np.array(found, np.int64)).any())

    def _row(self, at_sim: int, at_real: int, sums: MetricSums) -> dict[str, Any]:
        assert self.range_max_m is not None
        place = {"sim": at_sim, "real": at_real, "time_s": float(self.real.times[at_real])}
        return {**place, **sums.metrics(self.thin, self.range_max_m)}


def _make_title(log: Log) -> str:
    names = dict.fromkeys(part for part in (log.name, log.sensor_name) if part)
    return " · ".join(names) or "sweep"
