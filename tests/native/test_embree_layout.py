"""Embree's structs and enums, typed again in cpp/core/embree_types.hpp, against the official headers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

HAS_HEADERS = "#if !__has_include(<embree4/rtcore.h>) && !__has_include(<embree3/rtcore.h>)\n#error none\n#endif\n"


def test_layouts_are_those_of_the_official_headers(compile_cpp: Any, tmp_path: Path) -> None:
    probe = tmp_path / "probe.cpp"
    probe.write_text(HAS_HEADERS, encoding="utf-8")
    if compile_cpp(str(probe), "-fsyntax-only").returncode:
        pytest.skip("needs the headers of Embree 4 or 3 (Debian: libembree-dev), found through CPLUS_INCLUDE_PATH too")
    done = compile_cpp("embree_headers.cpp", "-fsyntax-only")
    assert done.returncode == 0, done.stderr
