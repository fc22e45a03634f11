"""Names and contents of files are shown on a terminal, never obeyed."""

from __future__ import annotations

import io
import os
import pickle
import sys
from pathlib import Path

import pytest

from resweep.errors import FaultKind, ResweepError, SweepError, printable
from resweep.terminal import make_console, neutral_streams

HOSTILE = "a[/b]\x1b[31m\x1b]0;title\x07\x9b2J\r\u202egnp\udcff"
SHOWN = "a[/b]\\x1b[31m\\x1b]0;title\\x07\\x9b2J\\r\\u202egnp\\udcff"


def test_printable() -> None:
    assert printable(HOSTILE) == SHOWN
    for text in ("plain", "été, 路, 👩‍👩‍👧, ×", "two\nlines\tand a tab"):
        assert printable(text) == text


def test_errors() -> None:
    assert str(ResweepError(HOSTILE)) == SHOWN
    error = pickle.loads(pickle.dumps(SweepError(HOSTILE, FaultKind.EMPTY)))
    assert str(error) == SHOWN
    long = str(ResweepError("file: " + "x" * 10_000 + " and what to do"))
    assert len(long) <= 1000
    assert long.startswith("file: xxx")
    assert long.endswith("xxx and what to do")


def test_console() -> None:
    from rich.table import Table

    table = Table(title=HOSTILE)
    table.add_column(HOSTILE)
    table.add_row(HOSTILE)
    file = io.StringIO()
    make_console(file=file, width=200).print(table)
    assert file.getvalue().count(SHOWN) == 3
    assert "\x1b" not in file.getvalue()


def test_streams(capsys: pytest.CaptureFixture[str]) -> None:
    import typer
    from rich.console import Console

    with neutral_streams():
        print(HOSTILE)
        typer.echo("echo " + HOSTILE, err=True, color=True)
        Console(force_terminal=True, color_system="standard").print("[red]rich[/red]", highlight=False)
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == SHOWN
    assert err == f"echo {SHOWN}\n"
    assert "\x1b[31mrich" in out  # rich's own colours are left alone
    assert not hasattr(sys.stdout, "rich_proxied_file")


@pytest.mark.parametrize("name", ["a[/b]", "a\x1b[31mb", "a\udcffb", "[bold]a"])
def test_commands(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from resweep.cli import main

    folder = Path(os.fsdecode(os.fsencode(str(tmp_path / name))))
    folder.mkdir(parents=True)
    scan = folder / "scan.pcd"
    scan.write_text("FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH 1\nHEIGHT 1\nPOINTS 1\nDATA ascii\n1 2 3\n")
    for args, status in ((["info", str(scan)], 0), (["info", str(folder / "missing")], 1), (["info", str(folder)], 0)):
        with pytest.raises(SystemExit) as left:
            main(args)
        out, err = capsys.readouterr()
        assert left.value.code == status, err
        assert "\x1b" not in out + err
        assert status == 0 or err.count("\n") == 1


def test_an_error_is_one_line_whatever_it_quotes() -> None:
    assert str(ResweepError("a.bag: damaged (could not parse:\nfloat64 x\n); fetch it again")).count("\n") == 0
    assert len(str(ResweepError("x" * 5000))) <= 1000
