"""A campaign: mutants of every reader, in batches of a process each, and the table of what became of them."""

from __future__ import annotations

import json
import math
import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.readers import READERS
from tests.fuzz.worker import make_mutant

OUTCOMES = ("read", "error", "nonsense", "traceback", "hang", "memory", "crash")
TITLES = ("clean read", "clear error", "nonsense", "traceback", "hang", "memory", "crash")
CLEAN = OUTCOMES[:2]
BATCH = 300
_WALL_S = 120.0  # without a word from a worker, whose own limit is in processor time; machines may be busy
_WORKER = "tests.fuzz.worker"
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Finding:
    """A mutant that was neither read nor refused in one clear error."""

    reader: str
    seed: int
    number: int
    outcome: str
    detail: str
    files: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What ``--replay`` takes."""
        return f"{self.reader}:{self.seed}:{self.number}"

    @property
    def last_line(self) -> str:
        """What is most telling of the detail."""
        return (self.detail.strip().splitlines() or [""])[-1][:200]


@dataclass
class Result:
    """How often each outcome occurred, by reader, and the findings."""

    seed: int
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def mutants(self) -> int:
        """How many mutants were tried."""
        return sum(counts.total() for counts in self.counts.values())

    def table(self) -> str:
        """Readers by outcomes, as text."""
        rows = [["reader", *TITLES]]
        rows += [[name, *(str(counts[item] or "·") for item in OUTCOMES)] for name, counts in self.counts.items()]
        total = sum(self.counts.values(), Counter[str]())
        rows.append([f"all {self.mutants}", *(str(total[item] or "·") for item in OUTCOMES)])
        width = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
        return "\n".join(
            f"{row[0]:<{width[0]}}  "
            + "  ".join(f"{cell:>{wide}}" for cell, wide in zip(row[1:], width[1:], strict=True))
            for row in rows
        )

    def to_json(self) -> str:
        """One JSON object."""
        findings = [{**vars(item), "files": list(item.files)} for item in self.findings]
        counts = {name: {item: found[item] for item in OUTCOMES} for name, found in self.counts.items()}
        return json.dumps({"seed": self.seed, "mutants": self.mutants, "readers": counts, "findings": findings})


Job = tuple[str, int, int]  # a reader, its first mutant, and how many


def run_campaign(
    mutants: int, seed: int, names: Iterable[str] = (), jobs: int = 1, report: Callable[[str], None] | None = None
) -> Result:
    """Try at least ``mutants`` mutants of the readers by their shares; ``report`` gets a line about each batch.

    A batch is a process. It is long enough to be worth its start, and short enough that a reader which crashes
    holds up few others.
    """
    chosen = list(names) or list(READERS)
    total = sum(READERS[name].share for name in chosen)
    counts = {name: math.ceil(mutants * READERS[name].share / total) for name in chosen}
    batches: list[list[Job]] = [[]]
    for job in ((name, at, min(BATCH, counts[name] - at)) for name in chosen for at in range(0, counts[name], BATCH)):
        if sum(count for _, _, count in batches[-1]) + job[2] > BATCH:
            batches.append([])
        batches[-1].append(job)
    result = Result(seed, {name: Counter() for name in chosen})
    with ThreadPoolExecutor(jobs) as pool:
        for found in pool.map(lambda batch: run_batch(seed, batch), batches):
            for item in found:
                result.counts[item.reader][item.outcome] += 1
            bad = [item for item in found if item.outcome not in CLEAN]
            result.findings += bad
            if report is not None:
                for item in bad:
                    report(f"{item.outcome}: {item.name}: {item.last_line}")
                report(f"{result.mutants} mutants, {len(result.findings)} findings; {found[-1].reader} done")
    return result


def run_batch(seed: int, jobs: list[Job]) -> list[Finding]:
    """The outcomes of some mutants; a worker that ends before its time is replaced."""
    found: list[Finding] = []
    while jobs:
        made = _run_worker(seed, jobs)
        found += made
        jobs = _leave_out(jobs, len(made))
    return found


def _leave_out(jobs: list[Job], done: int) -> list[Job]:
    """The jobs without their first ``done`` mutants."""
    left: list[Job] = []
    for name, first, count in jobs:
        step = min(done, count)
        done -= step
        if step < count:
            left.append((name, first + step, count - step))
    return left


def _run_worker(seed: int, jobs: list[Job]) -> list[Finding]:
    """What one worker found; its last mutant is a crash or a hang if it did not end by itself."""
    alone = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MALLOC_ARENA_MAX"), "1")
    args = [sys.executable, "-m", _WORKER, str(seed), json.dumps(jobs)]
    with tempfile.TemporaryDirectory(prefix="fuzz-") as place, tempfile.TemporaryFile() as errors:
        environment = {**os.environ, **alone, "TMPDIR": place, "PYTHONFAULTHANDLER": "1"}
        worker = subprocess.Popen(
            args, cwd=_ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
        )
        try:
            found, begun, silent = _listen(worker, seed)
        finally:
            worker.kill()
            worker.wait()
        errors.seek(0)
        said = errors.read().decode(errors="replace")[-3000:]
    if begun is not None:
        outcome, detail = ("hang", "no answer") if silent else ("crash", f"status {worker.returncode}: {said}")
        found.append(Finding(*begun, outcome, detail))
    elif len(found) < sum(count for _, _, count in jobs):
        raise RuntimeError(f"the sample after {len(found)} mutants of {jobs} cannot be read:\n{said}")
    return found


def _listen(worker: subprocess.Popen[bytes], seed: int) -> tuple[list[Finding], tuple[str, int, int] | None, bool]:
    """The outcomes that a worker tells, the mutant it began and did not end, and whether it fell silent."""
    assert worker.stdout is not None
    found: list[Finding] = []
    begun: tuple[str, int, int] | None = None
    buffer = b""
    while True:
        ready, _, _ = select.select([worker.stdout], [], [], _WALL_S)
        if not ready:
            return found, begun, True
        block = os.read(worker.stdout.fileno(), 1 << 16)
        if not block:
            worker.wait(30)
            return found, begun, False
        *lines, buffer = (buffer + block).split(b"\n")
        for line in lines:
            if not line.startswith(b'{"reader"'):
                continue  # what a library prints
            record = json.loads(line)
            begun = (record["reader"], seed, record["begin"]) if "begin" in record else None
            if begun is None:
                made = (
                    record["reader"],
                    seed,
                    record["end"],
                    record["outcome"],
                    record["detail"],
                    tuple(record["files"]),
                )
                found.append(Finding(*made))


def keep(finding: Finding, folder: Path) -> Path:
    """Write the mutant of a finding to a folder, and what became of it beside."""
    target = folder / finding.name.replace(":", "-")
    shutil.rmtree(target, ignore_errors=True)
    reader = READERS[finding.reader]
    with tempfile.TemporaryDirectory(prefix="fuzz-") as place:
        sample = Path(place) / "sample"
        sample.mkdir()
        reader.make(sample)
        make_mutant(reader, finding.seed, finding.number, sample, target)
    (folder / f"{target.name}.txt").write_text(f"{finding.outcome}\n{', '.join(finding.files)}\n\n{finding.detail}\n")
    return target
