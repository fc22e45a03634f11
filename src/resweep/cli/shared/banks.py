"""What ``resweep objects`` does: a bank is built from a log, shown as a table, or drawn as a contact sheet."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from resweep.cli.shared.outputs import print_outputs, print_table
from resweep.cli.shared.targets import check_absent, check_picture, check_writable
from resweep.errors import InputError, OutputError, ResweepError
from resweep.files.strict_json import format_json, replace_not_finite

if TYPE_CHECKING:
    from resweep.log import Log
    from resweep.objects import ObjectConfig
    from resweep.scenario import Bank


def check_log_or_bank(path: Path, gallery: bool, of_logs: Mapping[str, object]) -> bool:
    """Whether a bank is to be shown; raises if nothing is at ``path``, or with options that are ``of_logs`` alone."""
    from resweep.remote import recover_output
    from resweep.scenario.bank import is_bank

    recover_output(path)
    if not path.exists():
        raise InputError(f"{path}: no such log or bank; check the path")
    if not (is_bank(path) or gallery):
        return False
    given = [name for name, value in of_logs.items() if value]
    if given:
        raise ResweepError(f"{given[0]}: is for building a bank from a log, and {path} is to be shown; leave it out")
    return True


def show_bank(path: Path, output: Path | None, gallery: bool, json: bool, overwrite: bool) -> None:
    """Print what a bank holds, or draw it."""
    from resweep.scenario.bank import load_bank

    bank = load_bank(path)
    if gallery:
        _draw_gallery(bank, path, output, overwrite)
    elif output is not None:
        raise ResweepError(f"{path}: is a bank; give a log to build one from, or --gallery to draw it to {output}")
    else:
        _print_bank(bank, path, json)


def read_config(min_points: int | None, settings: list[str]) -> ObjectConfig:
    """The settings of a bank that options give."""
    from resweep.cli.shared.inputs import nest_settings
    from resweep.objects import ObjectConfig

    data = nest_settings(settings)
    return ObjectConfig(**data if min_points is None else {**data, "min_points": min_points})


def check_bank_folder(output: Path, overwrite: bool) -> None:
    """Raise if no bank can be written at ``output``."""
    from resweep.scenario.bank import is_bank

    check_absent(output, overwrite)
    if output.exists() and not is_bank(output):
        raise OutputError(f"{output}: exists and is not a bank; choose another name or remove it")
    check_writable(output)


def build_from_log(log: Log, output: Path, config: ObjectConfig, json: bool, overwrite: bool) -> None:
    """Build and save the bank of a log, and print what it holds."""
    from resweep.objects import build_bank

    began = time.perf_counter()
    bank = build_bank(log, config, progress=True)
    bank.save(output, overwrite=overwrite)
    if not json:
        summary = bank.meta["summary"]
        skipped = "".join(f", {count} skipped ({why})" for why, count in summary["skipped"].items())
        found = f"{len(bank)} of {summary['objects']} objects{skipped}"
        typer.echo(f"{output}: {found}, {time.perf_counter() - began:.1f} s")
    _print_bank(bank, output, json)
    if not json:
        typer.echo(f"next: resweep objects {output} --gallery -o {output.name}.png")
        print_outputs([("bank", output)])


def _print_bank(bank: Bank, path: Path, json: bool) -> None:
    """Print the assets of a bank as a table, or as JSON."""
    facts = [{**item, "known": _known(item["coverage"])} for item in (bank.facts(name) for name in bank)]
    if json:
        typer.echo(format_json(replace_not_finite({"bank": str(path), "meta": bank.meta, "assets": facts})))
        return
    rows = []
    for item in sorted(facts, key=lambda item: (item["category"], -item["n_points"])):
        cover, track = item["coverage"], item["source"][1]
        known = "-" if item["known"] is None else f"{100 * item['known']:.0f}"
        row = (
            item["name"],
            item["category"],
            "×".join(f"{value:.1f}" for value in item["size_m"]),
            f"{item['n_points']:,}" if item["n_points"] else "mesh",
            str(item["meta"].get("sweeps", "-")),
            str(track) if track >= 0 else "-",
            f"{known} ({100 * min(cover):.0f}…{100 * max(cover):.0f})",
            "yes" if item["mirrored"] else "no",
        )
        rows.append(row)
    note = "known: 100 all around, about 50 one side alone (of the outline, worst to best side)"
    print_table(("name", "category"), ("size m", "points", "sweeps", "track", "known %"), rows, "mirror", note)
    typer.echo(f"from {bank.meta.get('log', 'no recording')}")


def _known(coverage: list[float]) -> float | None:
    """`known_share` as JSON has it."""
    from resweep.scenario.coverage import estimate_known_share

    share = estimate_known_share(coverage)
    return None if share != share else round(share, 4)


def _draw_gallery(bank: Bank, path: Path, output: Path | None, overwrite: bool) -> None:
    """Draw the contact sheet of a bank."""
    from resweep.viewer import gallery

    target = output or Path(f"{path.absolute().name}.png")
    check_picture(target, overwrite)
    typer.echo(str(gallery(bank, target, title=f"{path.absolute().name}: {len(bank)} objects")))
