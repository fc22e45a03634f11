"""Banks for people: their assets as a table, and a contact sheet."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from resweep.cli.shared.inputs import check_writable
from resweep.errors import OutputError, ResweepError

if TYPE_CHECKING:
    from resweep.scenario import Bank


def print_bank(bank: Bank, path: Path, json: bool) -> None:
    """Print the assets of a bank as a table, or as JSON."""
    facts = [{**item, "known": _known(item["coverage"])} for item in (bank.facts(name) for name in bank)]
    if json:
        typer.echo(json_format.dumps({"bank": str(path), "meta": bank.meta, "assets": facts}))
        return
    from rich.table import Table

    from resweep.terminal import make_console

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("name", "category"):
        table.add_column(title, no_wrap=True)
    for title in ("size m", "points", "sweeps", "track", "known %"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("mirror", no_wrap=True)
    for item in sorted(facts, key=lambda item: (item["category"], -item["n_points"])):
        meta, cover = item["meta"], item["coverage"]
        track = item["source"][1]
        known = "-" if item["known"] is None else f"{100 * item['known']:.0f}"
        table.add_row(
            item["name"],
            item["category"],
            "×".join(f"{value:.1f}" for value in item["size_m"]),
            f"{item['n_points']:,}" if item["n_points"] else "mesh",
            str(meta.get("sweeps", "-")),
            str(track) if track >= 0 else "-",
            f"{known} ({100 * min(cover):.0f}…{100 * max(cover):.0f})",
            "yes" if item["mirrored"] else "no",
        )
    table.caption = "known: 100 all around, about 50 one side alone (of the outline, worst to best side)"
    table.caption_justify = "left"
    make_console().print(table)
    typer.echo(f"from {bank.meta.get('log', 'no recording')}")


def _known(coverage: list[float]) -> float | None:
    """`known_share` as JSON has it."""
    from resweep.scenario.coverage import estimate_known_share

    share = estimate_known_share(coverage)
    return None if share != share else round(share, 4)


def draw_gallery(bank: Bank, path: Path, output: Path | None, overwrite: bool) -> None:
    """Draw the contact sheet of a bank."""
    from resweep.viewer import gallery

    target = output or Path(f"{path.absolute().name}.png")
    if target.suffix.lower() != ".png":
        raise ResweepError(f"{target}: pictures are PNG files; give a name that ends in .png")
    if target.exists() and not overwrite:
        raise OutputError(f"{target}: exists; choose another -o or give --overwrite")
    check_writable(target)
    typer.echo(str(gallery(bank, target, title=f"{path.absolute().name}: {len(bank)} objects")))
