"""Help shows what most users need first: commands in groups, five options of each before the others."""

from __future__ import annotations

import inspect

import pytest

from resweep.cli.app import VERBS
from resweep.cli.shared.commands import MORE
from tests.cli.conftest import Command

NAMES = {verb.__name__: (group, common) for verb, (group, common) in VERBS.items()}


def test_help_groups_the_commands(resweep: Command) -> None:
    text = resweep("--help").out
    assert all(f"─ {group} ─" in text for group, _ in VERBS.values())
    assert all(f"│ {name} " in text for name in [*NAMES, "learn"])
    assert text.index("─ Worlds ─") < text.index("│ build ") < text.index("─ Simulation ─") < text.index("│ simulate ")


@pytest.mark.parametrize("name", NAMES)
def test_each_command_shows_its_common_options_first(resweep: Command, name: str) -> None:
    verb = next(verb for verb in VERBS if verb.__name__ == name)
    common = VERBS[verb][1]
    assert 0 < len(common) <= 5
    assert set(common) <= set(inspect.signature(verb).parameters)
    text = resweep(name, "--help").out
    first, more = text.split(f"─ {MORE} ─")
    options = [line.strip("│* ").split()[0] for line in first.split("─ Options ─")[1].splitlines() if " --" in line]
    assert len([option for option in options if option.startswith("--")]) == len(common) + 1  # and --help
    assert "--verbose" in more
    assert f"resweep {name}" in first
