"""The rules of ``make check`` see every offence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.rules import (
    MAX_VERB_LINES,
    RULES,
    check,
    check_file,
    decides_by_meta,
    depends_on_processor,
    names_options,
    reads_freely,
    takes_lax_json,
)


def test_an_offence_is_one_line_that_says_where(tmp_path: Path) -> None:
    for folder, text in (("cli", "raise ResweepError('give --poses')\n"), ("io", "\nx = np.sin(a)\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text(text)
    (line,) = check(tmp_path)  # options are the command line's own
    assert line.startswith(f"{tmp_path}/io/a.py:2: processor: np.sin depends on the processor")
    (tmp_path / "io" / "b.py").write_text(
        "import json\nopen(name)\nraise ResweepError('give --poses')\nif log.meta: pass\n"
    )
    (tmp_path / "cli" / "verbs").mkdir()
    (tmp_path / "cli" / "verbs" / "a.py").write_text("x = 1\n" * (MAX_VERB_LINES + 1))
    names = [line.partition(": ")[2].partition(":")[0] for line in check(tmp_path)]
    assert sorted(names) == sorted(RULES)


@pytest.mark.parametrize(
    "source",
    [
        "if log.meta.get('poses') == 'unknown': pass",
        "x = 1 if 'odd' in log.meta else 2",
        "x = [a for a in b if a in log.meta]",
        "x = log.meta.get('y') or 3",
        "kind = log.meta['kind']\nif kind: pass",
        "found = log.meta.get('kind')\nx = found == 3",
        "while not log.meta: pass",
        "assert log.meta['x']",
        "match log.meta['x']:\n  case 1: pass",
    ],
)
def test_every_way_to_decide_by_meta_is_seen(source: str) -> None:
    assert decides_by_meta(source)


def test_carrying_provenance_on_is_no_decision() -> None:
    assert not decides_by_meta("x = {**log.meta, 'seed': 7}\ny = str(log.meta.get('path', log.name))\nif y: pass")


def test_options_in_messages_are_found() -> None:
    for line in (
        "raise ResweepError('give --poses')",
        "def f(x): return ResweepError(f'{x}: or --keep-going')",
        "warnings.warn('try --odometry')",
    ):
        assert [at for at, _ in names_options(line)] == [1]
    assert not names_options("raise ResweepError('reinstall: pip install --force-reinstall embreex')")
    assert not names_options("raise ResweepError('give poses=')")


@pytest.mark.parametrize(("room", "offences"), [("cli/verbs", 1), ("cli/shared", 0)])
def test_a_verb_has_few_lines(room: str, offences: int, tmp_path: Path) -> None:
    path = tmp_path / room / "long.py"
    path.parent.mkdir(parents=True)
    path.write_text("x = 1\n" * MAX_VERB_LINES)
    assert check_file(RULES["verbs"], path, tmp_path) == []
    path.write_text("x = 1\n" * (MAX_VERB_LINES + 1))
    assert len(check_file(RULES["verbs"], path, tmp_path)) == offences


@pytest.mark.parametrize(
    "source",
    [
        "x = a @ b",
        "x = np.sin(a)",
        "x = a ** 3",
        "x = a ** b",
        "x = np.dot(a, b)",
        "x = a.dot(b)",
        "x = np.linalg.solve(a, b)",
        "x = np.linalg.norm(a)",
        "x = Rotation.from_matrix(a).as_quat()",
        "x = turn.inv().apply(a)",
        "x = np.argsort(a)",
        "x = a.argsort()",
        "x = np.einsum('ij,jk', a, b, optimize=True)",
    ],
)
def test_every_dependence_on_the_processor_is_seen(source: str) -> None:
    assert depends_on_processor(source)


@pytest.mark.parametrize(
    "source",
    ["x = a ** 2", "x = 10**9", "x = np.linalg.norm(a, axis=1)", "x = np.argsort(a, kind='stable')", "x = np.sqrt(a)"],
)
def test_what_is_exact_is_allowed(source: str) -> None:
    assert not depends_on_processor(source)


@pytest.mark.parametrize(
    "source",
    [
        "x = path.read_text()",
        "x = Path(name).read_bytes()",
        "x = open(name)",
        "x = path.open('rb')",
        "x = path.open(encoding='utf-8')",
        "x = np.load(path)",
        "x = np.fromfile(path, '<f4')",
        "x = zipfile.ZipFile(path)",
        "x = ET.parse(path)",
    ],
)
def test_every_way_to_open_a_file_is_seen(source: str) -> None:
    assert reads_freely(source)


@pytest.mark.parametrize(
    "source",
    [
        "x = read_bytes(path)",
        "x = np.load(io.BytesIO(data))",
        "x = path.open('wb')",
        "x = open(path, 'ab')",
        "x = zipfile.ZipFile(path, 'w')",
        "x = zipfile.ZipFile(stream)",
        "x = Log.open(path)",
    ],
)
def test_writing_and_what_is_open_already_are_allowed(source: str) -> None:
    assert not reads_freely(source)


def test_python_s_own_json_is_seen() -> None:
    assert takes_lax_json("def f():\n    import json\n")
    assert not takes_lax_json("from resweep.files.strict_json import parse_json\n")
