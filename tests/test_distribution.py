"""What is published: wheel and sdist hold the tracked sources, and make test runs on the installed wheel.

``make test`` says with ``RESWEEP_WHEEL`` and ``RESWEEP_SDIST`` where the two lie.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import resweep

ROOT = Path(__file__).resolve().parents[1]


def given(variable: str) -> Path:
    """The file that an environment variable names; skips if it is not set."""
    if not os.environ.get(variable):
        pytest.skip(f"needs {variable}, which make test sets")
    return ROOT / os.environ[variable]


@pytest.fixture(scope="module")
def wheel() -> dict[str, bytes]:
    """The files of the wheel, by name."""
    with zipfile.ZipFile(given("RESWEEP_WHEEL")) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


@pytest.fixture(scope="module")
def sdist() -> dict[str, bytes]:
    """The files of the sdist, by name below its folder."""
    with tarfile.open(given("RESWEEP_SDIST")) as archive:
        files = {item.name.partition("/")[2]: archive.extractfile(item) for item in archive if item.isfile()}
        return {name: file.read() for name, file in files.items() if file is not None}


def tracked(*folders: str) -> set[str]:
    """Files that git keeps below some folders, relative to the root."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True, check=True)
    names = set(listed.stdout.split("\0")) - {""}
    assert names
    return names


def test_the_tests_run_on_the_installed_wheel(wheel: dict[str, bytes]) -> None:
    installed = Path(resweep.__file__).resolve().parent
    assert not installed.is_relative_to(ROOT / "src")
    packed = {name.partition("/")[2]: data for name, data in wheel.items() if name.startswith("resweep/")}
    assert [name for name, data in packed.items() if (installed / name).read_bytes() != data] == []


def test_the_wheel_holds_the_tracked_package_and_the_native_core(wheel: dict[str, bytes]) -> None:
    sources = {name.removeprefix("src/") for name in tracked("src")}
    packed = {name for name in wheel if ".dist-info/" not in name}
    assert sorted(sources - packed) == [], "tracked, but not in the wheel: see sdist.exclude and .gitignore"
    (core,) = packed - sources  # anything else is not tracked: git add it, or remove it
    assert re.fullmatch(r"resweep/_core\.[\w.-]+\.(so|pyd)", core)


def test_the_wheel_names_its_command_and_its_licence(wheel: dict[str, bytes]) -> None:
    inside = {re.sub(r"^[^/]+\.dist-info/", "", name): data for name, data in wheel.items() if ".dist-info/" in name}
    assert re.search(rb"^resweep *= *resweep\.cli:main$", inside["entry_points.txt"], re.M)
    assert inside["licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()


def test_the_sdist_holds_what_the_wheel_is_built_from(sdist: dict[str, bytes]) -> None:
    needed = tracked("src", "cpp", "CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE")
    assert sorted(needed - set(sdist)) == []
    assert [name for name in sorted(needed) if sdist[name] != (ROOT / name).read_bytes()] == []


def test_the_sdist_holds_nothing_that_was_built(sdist: dict[str, bytes]) -> None:
    assert sorted({name for name in sdist if name.startswith(("src/", "cpp/"))} - tracked("src", "cpp")) == []
    assert {name.partition("/")[0] for name in sdist} <= {name.partition("/")[0] for name in tracked()} | {"PKG-INFO"}


def test_there_is_one_version(wheel: dict[str, bytes]) -> None:
    metadata = next(data for name, data in wheel.items() if name.endswith(".dist-info/METADATA")).decode()
    assert f"\nVersion: {resweep.__version__}\n" in metadata


def test_the_citation_has_the_version() -> None:
    assert f"\nversion: {resweep.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_hooks_and_extras_pin_the_same_tools() -> None:
    project, hooks = ((ROOT / name).read_text("utf-8") for name in ("pyproject.toml", ".pre-commit-config.yaml"))
    pins = set(re.findall(r"[\w-]+==[\w.]+", project))
    assert {pin.partition("==")[0] for pin in pins} == {"clang-format", "mypy", "ruff"}
    assert set(re.findall(r"[\w-]+==[\w.]+", hooks)) == pins


def test_the_list_of_an_environment_follows_extras_and_is_written_only_if_it_changed(tmp_path: Path) -> None:
    def write(*args: str) -> list[str]:
        script = [sys.executable, str(ROOT / ".ci" / "requirements.py"), str(tmp_path / "list.txt")]
        subprocess.run([*script, *args], check=True)
        return (tmp_path / "list.txt").read_text().splitlines()

    listed = write("core", "dev", "torch==2.13.0")
    assert {"numpy>=1.26", "pytest>=8", "dask>=2024.8", "torch==2.13.0"} <= set(listed)  # of resweep[all] in dev
    assert not [line for line in listed if line.startswith("resweep")]
    os.utime(tmp_path / "list.txt", (0, 0))
    write("core", "dev", "torch==2.13.0")
    assert (tmp_path / "list.txt").stat().st_mtime == 0
    assert len(write("core")) < len(listed)
