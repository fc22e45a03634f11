"""Build the native core with sanitizers and run the tests that exercise it: ``make sanitize``.

The address and undefined-behaviour sanitizers run on all native tests, the thread sanitizer on those with several
threads. Embree, TBB, Python and NumPy are not instrumented. Builds are kept in build/sanitize.

``python tests/native/sanitize.py address,undefined tests/drive/test_kernels.py`` runs one of them, on some tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUPPRESSIONS = Path(__file__).with_name("thread_sanitizer.supp")

# Folders, and names of test files wherever they are.
FOLDERS = ("tests/native", "tests/simulate")
FILES = (
    "test_neighbours.py",
    "test_carve.py",
    "test_permeability.py",
    "test_volumes.py",
    "test_splats.py",
    "test_visibility.py",
    "test_kernels.py",  # of a vehicle's wheels and contacts
    "test_body.py",
)

# Python itself keeps memory until it ends, so leaks are not looked for.
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:strict_init_order=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": f"suppressions={SUPPRESSIONS}:halt_on_error=1:second_deadlock_stack=1",
}
# libstdc++ too: the sanitizer looks for its functions when the process starts, and Python does not load it.
PRELOADS = {"address,undefined": ("libasan.so", "libstdc++.so"), "thread": ("libtsan.so", "libstdc++.so")}


def build(sanitizers: str, folder: Path) -> Path:
    """A copy of the package in ``folder`` whose core is built with sanitizers; returns where to import it from."""
    tools = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    generator = ["-G", "Ninja"] if shutil.which("ninja", path=tools["PATH"]) else []
    settings = {"RESWEEP_SANITIZE": sanitizers, "Python_EXECUTABLE": sys.executable, "CMAKE_BUILD_TYPE": "None"}
    configure = [
        "-S",
        str(ROOT),
        "-B",
        str(folder / "cmake"),
        *(f"-D{name}={value}" for name, value in settings.items()),
    ]
    subprocess.run(["cmake", *generator, *configure], check=True, env=tools)
    compile_all = ["--build", str(folder / "cmake"), "-j", str(os.cpu_count() or 1)]
    subprocess.run(["cmake", *compile_all], check=True, env=tools)
    package = folder / "src" / "resweep"
    shutil.rmtree(package.parent, ignore_errors=True)
    shutil.copytree(ROOT / "src" / "resweep", package, ignore=shutil.ignore_patterns("_core*.so", "__pycache__"))
    for library in (folder / "cmake").glob("_core*.so"):
        shutil.copy(library, package)
    return package.parent


def library(name: str, folder: Path) -> str:
    """The path of one of the compiler's own libraries."""
    cache = (folder / "cmake" / "CMakeCache.txt").read_text(encoding="utf-8")
    compiler = next(line.split("=", 1)[1] for line in cache.splitlines() if line.startswith("CMAKE_CXX_COMPILER:"))
    asked = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    path = Path(asked.stdout.strip())
    if not path.is_absolute():
        sys.exit(f"sanitize: {compiler} has no {name}; install GCC's sanitizer libraries, or set CXX to a GCC")
    return str(path)


def run_tests(sanitizers: str, folder: Path, source: Path, asked: list[str]) -> int:
    """Run the tests, or those ``asked`` for, on the built package; returns the exit code of pytest."""
    chosen = asked or list(FOLDERS)
    if sanitizers == "thread" and not asked:
        chosen += ["-k", "thread"]
    elif not asked:
        chosen += sorted(str(path) for name in FILES for path in (ROOT / "tests").rglob(name))
    where = [source, ROOT, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    environment = {
        **os.environ,
        **OPTIONS,
        "LD_PRELOAD": " ".join(library(name, folder) for name in PRELOADS[sanitizers]),
        "PYTHONPATH": os.pathsep.join(str(path) for path in dict.fromkeys(where)),
        "PYTHONMALLOC": "malloc",  # so that each object has memory of its own to watch
    }
    # Without site (-S) an editable install of the package does not come before the copy.
    python = [sys.executable, "-S"]
    check = f"import sys; from resweep import _core; sys.exit(not _core.__file__.startswith({str(source)!r}))"
    if subprocess.run([*python, "-c", check], cwd=ROOT, env=environment, check=False).returncode:
        sys.exit(f"sanitize: Python does not load the core in {source}")
    command = [*python, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", "-x", "--capture=sys"]
    return subprocess.run([*command, *chosen], cwd=ROOT, env=environment, check=False).returncode


def main() -> None:
    args = sys.argv[1:]
    known = args[:1] if args[:1] and args[0] in PRELOADS else list(PRELOADS)
    asked = args[1:] if args[:1] == known else args
    failed = []
    for sanitizers in known:
        begin = time.monotonic()
        folder = ROOT / "build" / "sanitize" / sanitizers.replace(",", "-")
        if run_tests(sanitizers, folder, build(sanitizers, folder), asked):
            failed.append(sanitizers)
        print(f"sanitize: {sanitizers}: {time.monotonic() - begin:.0f} s", flush=True)
    if failed:
        sys.exit(f"sanitize: failed with {' and '.join(failed)}")


if __name__ == "__main__":
    main()
