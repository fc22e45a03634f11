"""Variants of how a command runs, none of which may change a byte of what it writes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import resweep
from tests.crash.commands import hash_files, make_inputs

FEATURES = np._core._multiarray_umath.__cpu_features__  # type: ignore[attr-defined]
DISPATCHED = [name for name in np._core._multiarray_umath.__cpu_dispatch__ if FEATURES[name]]  # type: ignore[attr-defined]
_CLI = "from resweep.cli import main; main()"
_SOURCE = str(Path(resweep.__file__).parents[1])
_ALONE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"}
LOCALES = ("C", "de_DE.UTF-8", "tr_TR.UTF-8")
CORES = ("Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX")


@dataclass(frozen=True)
class Variant:
    """Environment variables, further words of a command by the verb that takes them, the folder it runs in, and cores.

    ``cores`` are how many of the machine's it may use; 0 means all.
    """

    environment: dict[str, str] = field(default_factory=dict)
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    folder: str = "place"
    cores: int = 0


def list_variants() -> dict[str, Variant]:
    """All variants by name; the first is what the others are compared with."""
    variants = {"alone": Variant()}
    for count in ("2", "3", "7"):
        words: dict[str, tuple[str, ...]] = {"simulate": ("--threads", count)}
        variants[f"{count} threads"] = Variant({"OMP_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count}, words)
    variants["one core"] = Variant(cores=1)
    variants |= {f"kernels of {core}": Variant({"OPENBLAS_CORETYPE": core}) for core in CORES if _runs(core)}
    for at, feature in enumerate(DISPATCHED):
        off = " ".join(DISPATCHED[at:])
        variants[f"NumPy without {feature} and beyond"] = Variant({"NPY_DISABLE_CPU_FEATURES": off})
    variants |= {f"hash seed {seed}": Variant({"PYTHONHASHSEED": seed}) for seed in ("1", "4242")}
    variants |= {f"locale {name}": Variant({"LC_ALL": name, "LANG": name}) for name in LOCALES}
    variants["time zone"] = Variant({"TZ": "Asia/Kathmandu"})
    variants["narrow terminal"] = Variant({"COLUMNS": "20", "TERM": "dumb", "NO_COLOR": "1"})
    variants["folder with spaces"] = Variant(folder="another folder/é")
    variants["little memory"] = Variant(words=dict.fromkeys(("simulate", "build"), ("--memory", "1GB")))
    variants["all at once"] = Variant(
        {"OPENBLAS_NUM_THREADS": "3", "OMP_NUM_THREADS": "2", "PYTHONHASHSEED": "7", "LC_ALL": "tr_TR.UTF-8"}
        | {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": " ".join(DISPATCHED)},
        {"simulate": ("--memory", "1GB"), "build": ("--memory", "1GB")},
        folder="another folder/é",
    )
    return variants


def _runs(core: str) -> bool:
    """Whether this processor can run the kernels that OpenBLAS has for another one."""
    return bool(FEATURES["AVX512_SKX"]) if core == "SkylakeX" else True


def make_commands(folder: Path, sweeps: int = 3) -> dict[str, tuple[str, ...]]:
    """The commands that are run, by name, whose inputs are made in ``folder``; all write ``out``."""
    folder.mkdir(parents=True)
    crash = make_inputs(folder, sweeps)
    sensor = ("-s", "velodyne-vlp-16", "--sweeps", str(sweeps), "--set", "beam.rays=single")
    log, quick = str(folder / "log"), ("calibrate.iterations=1", "calibrate.samples=1000")
    settings = tuple(word for item in (*quick, "calibrate.points_per_sweep=2000") for word in ("--set", item))
    commands = {
        "simulate": crash["simulate"].args,
        "like": crash["like"].args,
        "build": ("build", log, *settings),
        "build-tiles": ("build", log, *settings, "--tile", "40"),
        "build-default": ("build", log),
        "build-splats": ("build", log, "--method", "splats", *settings),
    }
    for scene in ("street", "courtyard", "meadow", "root"):
        commands[f"scene-{scene}"] = ("simulate", f"scene:{scene}", *sensor, "-p", str(folder / "drive.tum"))
    return commands


def run_variant(words: tuple[str, ...], variant: Variant, folder: Path) -> dict[str, str]:
    """The hash of each file that a command writes in a variant; an error if the command fails."""
    place = folder / variant.folder
    place.mkdir(parents=True, exist_ok=True)
    output = place / "out"
    shutil.rmtree(output, ignore_errors=True)
    more = variant.words.get(words[0], ())
    environment = {**os.environ, **_ALONE, "PYTHONPATH": _SOURCE, **variant.environment}
    cores = f"import os; os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{variant.cores or None}]); "
    done = subprocess.run(
        [sys.executable, "-c", cores + _CLI, *words, "-o", "out", *more],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)} {' '.join(more)}: {done.stderr[-600:]}")
    return hash_files(output)


def compare(
    commands: Iterable[str],
    names: Iterable[str],
    folder: Path,
    report: Callable[[str], None],
    known: dict[str, tuple[str, ...]] | None = None,
) -> list[str]:
    """A line for each command and variant that differs from the command alone."""
    known = known or make_commands(folder / "inputs")
    variants, wrong = list_variants(), []
    for command in commands:
        alone = run_variant(known[command], variants["alone"], folder)
        for name in names:
            found = run_variant(known[command], variants[name], folder)
            files = sorted(file for file in alone.keys() | found.keys() if alone.get(file) != found.get(file))
            line = f"{command}, {name}: {'same' if not files else 'DIFFERS in ' + ', '.join(files[:6])}"
            report(line)
            if files:
                wrong.append(line)
    return wrong
