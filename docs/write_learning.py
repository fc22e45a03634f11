"""Write the figures of docs/experiments/learning.md from measured ones: python docs/write_learning.py

Figures stand between ``<!-- figures: NAME -->`` and ``<!-- end of figures -->``. They are the last lines that
``experiments.d_raydrop``, ``d_realism``, ``d_intensity``, ``d_transfer`` and ``benchmarks.learned`` print with
``--json``, kept in benchmarks/figures. A test holds the page to what this writes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "experiments" / "learning.md"
FIGURES = ROOT / "benchmarks" / "figures"
BLOCK = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
_DROPS = {
    "brier": "Brier",
    "log_loss": "log-loss",
    "ece": "ECE",
    "drop_f1": "F1",
    "drop_f1_sampled": "F1 sampled",
    "drop_rate_js": "JS",
    "pano_depth_rmse_m": "depth RMSE, m",
    "pano_psnr_db": "PSNR, dB",
}
_LIGHT = {"intensity_rmse": "RMSE", "intensity_corr": "correlation", "intensity_js": "JS of histograms"}

_MODELS = {
    "base-rate": "mean rate of the source",
    "target-rate": "mean rate of the target",
    "with-lasers": "learned on the source with lasers, used all the same",
    "transferable": "learned on the source, transferable",
    "target-transferable": "learned on the target, transferable",
    "target": "learned on the target with lasers",
    "law": "the law itself",
}


def write_raydrop(found: dict[str, Any]) -> str:
    """A table for each place that was scored."""
    parts = []
    for place in dict.fromkeys(row["place"] for row in found["rows"]):
        rows = [row for row in found["rows"] if row["place"] == place]
        about = (
            f"**{place}**: {rows[0]['beams']:,} beams, {100 * rows[0]['drop_rate']:.1f} % dropped; at the base rate "
        )
        about += f"Brier {rows[0]['brier_base']:.4f}, log-loss {rows[0]['log_loss_base']:.3f}"
        lines = [[row["variant"], *(_write(row[name]) for name in _DROPS)] for row in rows]
        parts += [about, _table(("variant", *_DROPS.values()), lines)]
    return "\n\n".join(parts)


def write_realism(found: dict[str, Any]) -> str:
    """A table of accuracies, and what the forest judges by."""
    lines = []
    for row in found["rows"]:
        shares = [f"{100 * row[name]:.0f} %" for name in ("forest", "network")]
        lines.append([row["place"], row["part"], *shares, *(_write(row[name]) for name in _LIGHT)])
    made = _table(("place", "with", "forest", "network", *_LIGHT.values()), lines)
    last = {row["part"]: row for row in found["rows"]}
    causes = []
    for part in ("physics", "learned"):
        said = "; ".join(
            f"{cause['statistic']} ({_write(cause['real'])} real, {_write(cause['simulated'])} simulated)"
            for cause in last[part]["gives_away"][:4]
        )
        causes.append(f"What the forest judges by on {last[part]['place']}, {part}: {said}.")
    return "\n\n".join([made, *causes])


def write_intensity(found: dict[str, Any]) -> str:
    """A table for each place that was scored."""
    names = {**_LIGHT, "intensity_crps": "CRPS"}
    parts = []
    for place in dict.fromkeys(row["place"] for row in found["rows"]):
        rows = [row for row in found["rows"] if row["place"] == place]
        lines = [[row["variant"], *(_write(row[name]) if name in row else "" for name in names)] for row in rows]
        parts += [f"**{place}**", _table(("variant", *names.values()), lines)]
    return "\n\n".join(parts)


def write_transfer(found: dict[str, Any]) -> str:
    """Brier scores by model and target."""
    places = list(dict.fromkeys(row["place"] for row in found["rows"]))
    score = {(row["place"], row["variant"]): row["brier"] for row in found["rows"]}
    lines = [
        [said, *(_write(score[place, name]) if (place, name) in score else "" for place in places)]
        for name, said in _MODELS.items()
    ]
    return _table(("model", *places), lines)


def write_speed(found: dict[str, Any]) -> str:
    """Sweeps a second by variant, and the time of training."""
    rates = ", ".join(f"`{name}` {1 / seconds:.0f}" for name, seconds in found["sweep_s"].items())
    busy = ", ".join(f"`{name}` {1000 * seconds:.0f}" for name, seconds in found["sweep_cpu_s"].items())
    return (
        f"Sweeps of {found['beams']:,} beams a second on 2 cores: {rates} (goal 10, and for real time 20). "
        f"A model adds so many processor milliseconds to a sweep: {busy}. Training the U-Net on "
        f"{found['train_sweeps']} sweeps takes {found['train_s']:.0f} s ({found['train_cpu_s']:.0f} s of processors, "
        f"{found['train_epochs']} epochs). KPConv labels {found['label_points_per_s']:,.0f} points a second "
        f"({found['core_points_per_s']:,.0f} a second of one core)."
    )


WRITERS: dict[str, Callable[[dict[str, Any]], str]] = {
    "d_raydrop": write_raydrop,
    "d_realism": write_realism,
    "d_intensity": write_intensity,
    "d_transfer": write_transfer,
    "learned": write_speed,
}


def render(text: str) -> str:
    """The page with its figures made anew; those that were not measured stay as they are."""

    def replace(found: re.Match[str]) -> str:
        path = FIGURES / f"{found[2]}.json"
        if not path.is_file():
            return found[0]
        return f"{found[1]}\n{WRITERS[found[2]](json.loads(path.read_text()))}\n\n{found[3]}"

    return BLOCK.sub(replace, text)


def _write(value: float) -> str:
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}".replace("0.", ".", 1)


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
