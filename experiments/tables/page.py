"""The figures of the tables by title, with both sizes beside the paper's, as a page of the documentation shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.tables import paper

SHORT = {"synthetic city": "city", "SemanticKITTI": "kitti"}
FIELDS = ("value", "low", "high")


def title_row(row: paper.PaperRow, metric: str) -> str:
    """What a figure is called."""
    tested = "" if row.test == paper.REAL else f", tested on {row.test}"
    return f"{row.table}: {row.train} ({row.name}){tested}: {metric}"


def title_claim(claim: paper.Claim) -> str:
    """What a claim is called."""
    return f"{claim.table}: {claim.worse} < {claim.better}: {claim.metric}"


def arrange(rows: Sequence[Mapping[str, Any]], claims: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Every figure and claim of D's tables by its title; None for what was not computed."""
    found: dict[str, dict[str, Any]] = {}
    empty = {f"{short}_{field}": None for short in SHORT.values() for field in FIELDS}
    for item in paper.ROWS:
        for metric, printed in item.figures.items():
            cell: dict[str, Any] = {"paper": printed, **empty}
            for row in rows:
                if (row["table"], row["name"], row["test"], row["metric"]) == (
                    item.table,
                    item.name,
                    item.test,
                    metric,
                ):
                    cell |= _fill(row)
            found[title_row(item, metric)] = cell
    for claim in paper.CLAIMS:
        cell = {**empty, **{f"{short}_verdict": None for short in SHORT.values()}}
        for row in claims:
            if (row["table"], row["claim"], row["metric"]) == (claim.table, claim.name, claim.metric):
                cell |= _fill(row) | {f"{SHORT[row['size']]}_verdict": row["verdict"]}
        found[title_claim(claim)] = cell
    return found


def _fill(row: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{SHORT[row['size']]}_{field}": row[field] for field in FIELDS}
