"""Runs mutants in this process, within limits of time and memory, and prints a line for each.

Started by `tests.fuzz.campaign`: a process that crashes or hangs takes no other mutant along.
"""

from __future__ import annotations

import json
import random
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from types import FrameType

from resweep.errors import ResweepError, SettingsError
from tests.fuzz.mutate import mutate
from tests.fuzz.reader import Reader
from tests.fuzz.readers import READERS
from tests.fuzz.sanity import NonsenseError

SECONDS = 5.0  # of processor time for one mutant of a few kilobytes
MEMORY_BYTES = 1 << 30  # of address space beyond what the libraries take
_LINE_MAX = 1000  # characters of an error that is still one clear line
_LINES_MAX = 21  # of an error that has one for each wrong field


class Hang(BaseException):
    """A mutant took too long."""


def _raise_hang(signum: int, frame: FrameType | None) -> None:
    raise Hang


def make_mutant(reader: Reader, seed: int, number: int, sample: Path, target: Path) -> list[str]:
    """Fill ``target`` with a mutant of the sample; gives the names of the changed files."""
    rng = random.Random(f"{seed}/{reader.name}/{number}")
    shutil.copytree(sample, target)
    if reader.damage is not None:
        return reader.damage(target, rng)
    files = sorted(file for file in target.rglob("*") if file.is_file())
    top = min(len(file.parts) for file in files)
    if rng.random() < 0.4:  # the files at the top say what the others mean
        files = [file for file in files if len(file.parts) == top]
    chosen = rng.sample(files, min(len(files), rng.choice((1, 1, 1, 1, 2))))
    for file in chosen:
        file.write_bytes(mutate(file.read_bytes(), file.relative_to(target).as_posix(), rng))
    return [str(file.relative_to(target)) for file in chosen]


def classify(error: BaseException | None) -> tuple[str, str]:
    """The outcome of a mutant, and what to print of it."""
    if error is None:
        return "read", ""
    if isinstance(error, NonsenseError):
        return "nonsense", str(error)
    if isinstance(error, Hang):
        return "hang", "".join(traceback.format_tb(error.__traceback__)[-3:])
    chain: BaseException | None = error
    seen: set[int] = set()
    while chain is not None and id(chain) not in seen:
        seen.add(id(chain))
        if isinstance(chain, MemoryError) or "bad_alloc" in str(chain):
            return "memory", "".join(traceback.format_exception(chain)[-4:])
        chain = chain.__cause__ or chain.__context__
    lines = str(error).split("\n")
    few = len(lines) <= (_LINES_MAX if isinstance(error, SettingsError) else 1)
    if isinstance(error, ResweepError) and few and all(0 < len(line) <= _LINE_MAX for line in lines):
        return "error", str(error)
    return "traceback", "".join(traceback.format_exception(error)[-6:])


def run(reader: Reader, path: Path) -> tuple[str, str]:
    """Read one mutant."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        reader.read(path)
    except (Exception, Hang) as error:
        signal.setitimer(signal.ITIMER_PROF, 0)
        return classify(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "read", ""


def limit_memory(extra: int | None) -> None:
    """Allow ``extra`` bytes of address space beyond what this process has now, or any number."""
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    if extra is None:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    now = pages * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + extra, most))


def main(seed: int, jobs: list[tuple[str, int, int]]) -> None:
    """Print one JSON line before and one after each mutant of ``jobs``: readers, first mutants and how many."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, _raise_hang)
    for name, first, count in jobs:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as place:
            _run_job(READERS[name], seed, range(first, first + count), Path(place))


def _run_job(reader: Reader, seed: int, numbers: range, place: Path) -> None:
    limit_memory(None)
    sample, target = place / "sample", place / "mutant"
    sample.mkdir()
    opened = reader.make(sample).relative_to(sample)
    reader.read(sample / opened)  # the sample itself is good, and every library is loaded
    limit_memory(MEMORY_BYTES)
    for number in numbers:
        print(json.dumps({"reader": reader.name, "begin": number}), flush=True)
        files = make_mutant(reader, seed, number, sample, target)
        outcome, detail = run(reader, target / opened)
        shutil.rmtree(target)
        record = {"reader": reader.name, "end": number, "outcome": outcome, "detail": detail, "files": files}
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), json.loads(sys.argv[2]))
