"""Where Embree comes from, and what is said when it does not."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from resweep._core import has_avx2
from resweep.embree_library import VARIABLE, find_embree, open_embree
from resweep.errors import ResweepError

OPEN = """
from resweep.embree_library import open_embree
from resweep.errors import ResweepError
try:
    open_embree()
except ResweepError as error:
    print(error)
else:
    print("opened")
"""


def opened_with(library: str) -> str:
    environment = {**os.environ, VARIABLE: library}
    done = subprocess.run([sys.executable, "-c", OPEN], env=environment, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_the_library_of_the_wheel_opens() -> None:
    path = find_embree()
    assert path.is_file()
    assert opened_with(str(path)) == "opened"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    message = opened_with(str(tmp_path / "none.so"))
    assert message.startswith(f"{VARIABLE}={tmp_path / 'none.so'}: no such file")
    assert "\n" not in message


def test_a_file_that_is_no_library_is_named(tmp_path: Path) -> None:
    text = tmp_path / "libembree4.so"
    text.write_text("not a library")
    message = opened_with(str(text))
    assert message.startswith(f"Embree: cannot load Embree from '{text}'")
    assert f"set {VARIABLE}" in message
    assert "\n" not in message


def test_another_library_is_reported_from_embree() -> None:
    from numpy._core import _multiarray_umath  # any shared library that is always there

    message = opened_with(_multiarray_umath.__file__)
    assert "the library has no function rtcNewDevice: it is not Embree 4" in message
    assert f"set {VARIABLE}" in message
    assert "\n" not in message


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An embreex package without a library, found before the installed one."""
    folder = tmp_path / "site" / "embreex"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.delitem(sys.modules, "embreex", raising=False)
    monkeypatch.syspath_prepend(str(folder.parent))
    return folder


@pytest.mark.parametrize(
    ("platform", "place"),
    [
        ("linux", "../embreex.libs/libembree4-1a2b3c4d.so.4.4.0"),
        ("darwin", ".dylibs/libembree4.4.4.0.dylib"),
        ("win32", "../embreex.libs/embree4-1a2b3c4d.dll"),
        ("win32", "embree4.dll"),
    ],
)
def test_each_platform_has_its_place(package: Path, platform: str, place: str) -> None:
    library = (package / place).resolve()
    library.parent.mkdir(exist_ok=True)
    library.write_text("")
    assert find_embree(platform) == library


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_a_package_without_library_says_how_to_get_it(package: Path, platform: str) -> None:
    with pytest.raises(ResweepError, match=rf"no Embree library for this platform \({platform}\); reinstall it with"):
        find_embree(platform)


def test_no_package_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ResweepError, match="Embree is missing: install it with 'pip install embreex'"):
        find_embree()


def test_the_environment_wins_over_the_wheel(package: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chosen = tmp_path / "mine.so"
    chosen.write_text("")
    monkeypatch.setenv(VARIABLE, str(chosen))
    assert find_embree() == chosen


def test_a_processor_outside_of_the_promise_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resweep._core.has_avx2", lambda: False)
    open_embree.cache_clear()
    with pytest.warns(UserWarning, match="may give other ones on other machines"):
        open_embree()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_embree()
        monkeypatch.undo()
        open_embree.cache_clear()
        if has_avx2():
            open_embree()
