"""The code of README.md and docs/ does what it says: Python runs in order, commands run or are at least understood."""

from __future__ import annotations

import contextlib
import io
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

import resweep as rs
from resweep.cli import app, main
from tests.docs.pages import PAGES, ROOT, Block, find_blocks, find_inline, split_command

# Pages whose commands run too, with the small inputs; those of all other pages are parsed by the real command line.
RUN = (
    "tutorial.md",
    "rosbags.md",
    "meshes.md",
    "own-sensor.md",
    "vegetation.md",
    "traffic.md",
    "datasets.md",
    "evaluation.md",
    "formats.md",
)
# Python that is compiled only, and what runs it instead.
ELSEWHERE = {
    "nuscenes.md": "tests/external runs it where nuscenes-devkit is installed",
    "object-stores.md": "tests/remote reads and writes by URL, against a server",
    "cluster.md": "tests/cluster runs such on the workers of a cluster",
    "perception.md": "needs trained models; tests/perception and tests/learn train some",
    "learning.md": "needs a trained model; tests/learn trains one",
}
# Settings that are smaller here: what stands on the page, and what runs.
SMALLER = {
    "drive.md": (("duration_s=10.0", "duration_s=0.3"),),
    "README.md": (("rs.build(log)", 'rs.build(log, rs.HybridConfig(refine="none"))'),),
    "tutorial.md": (
        ("--holdout 5", "--holdout 3 --refine none"),
        ("town.world --sweeps", "town.world --refine none --sweeps"),
        ("rs.build(log[:60])", 'rs.build(log[:60], rs.HybridConfig(refine="none"))'),
        ("rs.holdout(log, [5])", 'rs.holdout(log, [3], rs.HybridConfig(refine="none"))'),
    ),
    "evaluation.md": (("--holdout 2", "--holdout 2 --refine none"),),
    "datasets.md": (("edge-cases -o", "edge-cases --set scenarios=[hidden-car] -o"),),
}
# Those that build worlds, drive or draw reports. README.md and the others show in every gate that blocks run.
SLOW = {
    "datasets.md",
    "evaluation.md",
    "large-drives.md",
    "own-sensor.md",
    "rosbags.md",
    "traffic.md",
    "tutorial.md",
    "vegetation.md",
}
NEEDS = {"rosbags.md": "rosbags", "clouds.md": "copclib", "drive.md": "cmaes", "tutorial.md": "viser"}
OTHER_PROGRAMS = {"pip", "py3dtiles", "ssh", "python"}
COMMAND = typer.main.get_command(app)


def make_smaller(page: str, text: str) -> str:
    for large, small in SMALLER.get(page, ()):
        text = text.replace(large, small)
    return text


def parse(args: list[str], whole: bool = True) -> None:
    """Parse a command as the real command line does, without running it; if not ``whole``, arguments may be missing."""
    try:
        _parse(args)
    except Exception as error:
        if whole or type(error).__name__ != "MissingParameter":  # of the click within typer
            raise


def _parse(args: list[str]) -> None:
    if args[1].endswith("-completion"):  # the command line would do it at once
        assert any(args[1] in option.opts for option in COMMAND.params), args[1]
        return
    command, context = COMMAND, COMMAND.make_context("resweep", args[1:], resilient_parsing=False)
    while (rest := getattr(context, "_protected_args", []) + context.args) and hasattr(command, "resolve_command"):
        name, command, rest = command.resolve_command(context, rest)
        assert command is not None
        context = command.make_context(name, rest, parent=context, resilient_parsing=False)


def run_command(line: str) -> None:
    """Run a command as a user types it; what blocks, writes a page instead."""
    args, target = split_command(line)
    if args[1] == "view" and not {"-o", "--save"} & set(args):
        args += ["--save", "shown.html", "--overwrite"]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main(args[1:])
    assert not ended.value.code, f"{line}\n{out.getvalue()}\n{err.getvalue()}"
    if target:
        Path(target).write_text(out.getvalue(), encoding="utf-8")


def run_page(page: str, names: dict[str, Any]) -> None:
    """Run the blocks of a page in order, all Python with the same names."""
    for block in find_blocks(page):
        if block.language == "python":
            code = "\n" * (block.line - 1) + make_smaller(page, block.text)
            exec(compile(code, str(PAGES[page]), "exec"), names)
        elif page in RUN:
            for line in block.commands:
                if line.startswith("resweep "):
                    run_command(make_smaller(page, line))


WITH_CODE = [
    page
    for page in PAGES
    if page not in ELSEWHERE and (page in RUN or any(block.language == "python" for block in find_blocks(page)))
]


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.slow if page in SLOW else ()) for page in WITH_CODE]
)
def test_the_code_of_a_page_runs(page: str, inputs: Path, request: pytest.FixtureRequest) -> None:
    if page in NEEDS:
        pytest.importorskip(NEEDS[page], reason="needs an extra")
    names: dict[str, Any] = {"rs": rs, "__name__": "page"}
    if page == "clouds.md":
        request.getfixturevalue("tiles")
        names |= {"wkt": None}
        for name in ("tile.copc.laz", "lidarhd"):
            Path(name).symlink_to(request.getfixturevalue("prepared") / name)
    run_page(page, names)
    if page == "README.md":
        assert len(rs.load_sweep("sweep.ply")) == len(names["sweep"]) > 1000
        assert len(rs.open_log("drive")) == 5


def check_commands(page: str) -> None:
    """The commands of a page are understood."""
    for line in (line for block in find_blocks(page) for line in block.commands):
        args, _ = split_command(line)
        if args[0] == "resweep":
            parse(args)
        elif args[0] == "make":
            assert re.search(rf"^{args[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), line
        else:
            assert args[0] in OTHER_PROGRAMS, f"{page}: {line}"


def test_a_wrong_command_would_be_found() -> None:
    with pytest.raises(Exception, match="No such option"):
        parse(["resweep", "build", "log", "-o", "x.world", "--methd", "splats"])
    with pytest.raises(Exception, match="No such command"):
        parse(["resweep", "biuld", "log"])


def check_inline_commands(page: str) -> None:
    """The commands within the text of a page are understood."""
    for code in find_inline(page):
        args = code.split()
        if args[0] == "resweep" and len(args) > 1 and not {"...", "…"} & set(args) and "|" not in code:
            line = re.sub(r"(\w)\.\.\.", r"\1", code)
            if len(args) > 2:  # else it names the command only
                parse(split_command(line)[0], whole=False)
            elif args[1] != "--help":
                assert args[1] in COMMAND.list_commands(COMMAND.make_context("resweep", ["info", "x"])), code


def check_names(page: str) -> None:
    """The extras, modules and files that a page names are there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    texts = find_inline(page) + [line for block in find_blocks(page) for line in block.commands]
    for text in texts:
        for extra in re.findall(r"(?:resweep|'\.)\[([\w,]+)\]", text):
            assert set(extra.split(",")) <= set(extras), text
        for module in re.findall(r"python -m ((?:benchmarks|experiments|tests)[\w.]*)", text):
            assert (ROOT / module.replace(".", "/")).with_suffix(".py").is_file() or "tests" in module, text
        if re.fullmatch(r"(?:src|cpp|docs|tests|benchmarks|experiments|examples)/[\w./-]+", text):
            assert (ROOT / text).exists(), f"{page}: {text}"


def find_refused(check: Callable[[str], None]) -> list[str]:
    """One line for each page that a check refuses, with the reason."""
    found = []
    for page in PAGES:
        try:
            check(page)
        except Exception as error:
            found.append(f"{page}: {error}")
    return found


@pytest.mark.parametrize("check", [check_commands, check_inline_commands, check_names])
def test_every_page_passes(check: Callable[[str], None]) -> None:
    refused = find_refused(check)
    assert not refused, "\n".join(refused)


@pytest.mark.parametrize("page", ELSEWHERE)
def test_python_that_runs_elsewhere_compiles(page: str) -> None:
    blocks: list[Block] = [block for block in find_blocks(page) if block.language == "python"]
    assert blocks
    for block in blocks:
        compile(block.text, page, "exec")
