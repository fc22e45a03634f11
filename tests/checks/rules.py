"""The rules that every file of the package keeps, and the files that each is for."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.checks.messages import find_options
from tests.checks.meta import find_meta_branches
from tests.checks.processor import find_processor_dependence
from tests.checks.untrusted_reads import find_lax_json, find_untrusted_reads

ROOT = Path(__file__).resolve().parents[2] / "src" / "resweep"
# Rooms that store nothing: what they show may differ in the last digit. References are for tests.
STORES_NOTHING = re.compile(
    r"(viewer|cli|evaluation|perception/judging)/|sensors/pattern_plot\.py|portable\.py|.*reference(/|\.py)"
)
# What opens files for all others, files of the package and of the system, and files that this program alone writes and
# reads: locks, caches, unfinished work and what is too large for the memory.
_OPENS = r"files/untrusted\.py|remote/paths\.py|config\.py|io/ros/bounded_files\.py"
_SHIPPED = r"labels\.py|memory\.py|(sensors|drive/vehicles)/catalog\.py|(scenario/scenario|dataset/dataset_plan)\.py"
_OWN = (
    r"files/(disk|lock_files|locks|partial|publication)\.py|remote/(leases|staging)\.py|evaluation/compare/recorded\.py|"
    r"io/clouds/writing/|register/sections\.py|build/tiles/|map/|prepare/spool\.py|worlds/store/generations\.py|"
    r"drive/recording\.py"
)
_LEARNED = r"learn/|simulate/(realism/|recorded_scatter\.py)|segmentation/card\.py|inference/"
READS_FREELY = re.compile("|".join((_OPENS, _SHIPPED, _OWN, _LEARNED)))
LAX_JSON = re.compile(
    r"files/(strict_json|lock_files|partial|publication)\.py|map/store/|drive/recording\.py|" + _LEARNED
)
# Of a file of cli/verbs, help included.
MAX_VERB_LINES = 80

Offence = tuple[int, str]  # line, and what to do


@dataclass(frozen=True)
class Rule:
    """A rule: the offences in the source of a file, and the files that it does not hold for."""

    find: Callable[[str], list[Offence]]
    except_for: re.Pattern[str] = re.compile(r"(?!)")


def decides_by_meta(source: str) -> list[Offence]:
    """Lines that decide by ``meta``, which is for people."""
    return [(line, "decides by meta; make it a typed field") for line in find_meta_branches(ast.parse(source))]


def names_options(source: str) -> list[Offence]:
    """Errors of the library that name options of the command line."""
    return [(line, "names an option; speak of arguments") for line in find_options(ast.parse(source))]


def depends_on_processor(source: str) -> list[Offence]:
    """Arithmetic of which the last digit depends on the processor."""
    lines, found = source.splitlines(), []
    for node in ast.walk(ast.parse(source)):
        problem = find_processor_dependence(node)
        if problem and "# sparse" not in lines[node.lineno - 1]:  # type: ignore[attr-defined]
            found.append((node.lineno, problem))  # type: ignore[attr-defined]
    return found


def reads_freely(source: str) -> list[Offence]:
    """Files that are opened without a look at what they are."""
    return [
        (line, "opens a file; use open_regular, read_bytes or read_plain_text of files.untrusted")
        for line in find_untrusted_reads(ast.parse(source))
    ]


def takes_lax_json(source: str) -> list[Offence]:
    """JSON that may hold NaN."""
    return [
        (line, "uses json; use parse_json and format_json of files.strict_json")
        for line in find_lax_json(ast.parse(source))
    ]


def is_thick(source: str) -> list[Offence]:
    """The first line too many of a verb: it parses, calls one function and prints."""
    if len(source.splitlines()) <= MAX_VERB_LINES:
        return []
    return [(MAX_VERB_LINES + 1, f"a verb has {MAX_VERB_LINES} lines; move what it computes to the library")]


RULES = {
    "meta": Rule(decides_by_meta),
    "messages": Rule(names_options, re.compile(r"cli/")),
    "processor": Rule(depends_on_processor, STORES_NOTHING),
    "reads": Rule(reads_freely, READS_FREELY),
    "json": Rule(takes_lax_json, LAX_JSON),
    "verbs": Rule(is_thick, re.compile(r"(?!cli/verbs/)")),
}


def check_file(rule: Rule, path: Path, root: Path = ROOT) -> list[Offence]:
    """The offences of one file against a rule."""
    module = path.relative_to(root).as_posix()
    if rule.except_for.match(module):
        return []
    source = path.read_text(encoding="utf-8")
    if module == "pose.py":  # rotation_of itself
        source = source.replace("Rotation.from_matrix(portable.", "(portable.")
    return rule.find(source)


def check(root: Path = ROOT) -> Iterator[str]:
    """One line for each offence of a file below ``root``: where, which rule, and what to do."""
    for path in sorted(root.rglob("*.py")):
        for name, rule in RULES.items():
            yield from (f"{path}:{line}: {name}: {problem}" for line, problem in check_file(rule, path, root))
