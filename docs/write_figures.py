"""Write the tables of figures in docs/ from saved results: python docs/write_figures.py [--measure [NAME ...]] [--fast]

A table stands between ``<!-- figures: experiments/b_figure7 -->`` and ``<!-- end of figures -->``; it is what
experiments/figures/b_figure7.json holds, by the rows of `ROWS`. ``--measure`` first runs the experiments of `DRAWN`, or
those named, and keeps their JSON; figures of `DRAWN` become docs/images/experiments/NAME.webp. A test holds the pages
to what this writes.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]
from figure_rows import COLUMNS, ROWS  # noqa: E402

from benchmarks.report import format_result  # noqa: E402

DOCS = ROOT / "docs"
PICTURES = DOCS / "images" / "experiments"
BLOCK = re.compile(r"(<!-- figures: (\w+)/(\w+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
WIDTH = 1100  # pixels of a figure on a page
DRAWN = (  # need no recording
    "a_figure1", "b_figure5", "b_figure7", "b_figure8", "b_figure10",
    "d_confidence", "d_hidden_car", "d_motion", "d_objects", "d_search", "d_shift",
)  # fmt: skip

# Arguments of further experiments, where a page shows a part of them.
ARGUMENTS = {"c_compare": ("--models", "hybrid", "splats", "surfels")}


def render(text: str) -> str:
    """A page with each of its tables of figures made anew."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{make_table(found[2], found[3])}\n\n{found[4]}", text)


def make_table(folder: str, name: str) -> str:
    """The table of one saved result, or a line that says how to measure it."""
    path = ROOT / folder / "figures" / f"{name}.json"
    rows = ROWS.get(f"{folder}/{name}", ())
    if not rows or not path.is_file():
        return f"Not measured yet: `python -m {folder}.{name} --json`."
    result = json.loads(path.read_text(encoding="utf-8"))
    columns = COLUMNS.get(f"{folder}/{name}", ("value",))
    lines = [f"| figure | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|"]
    for title, keys, form in rows:
        places = (keys,) if isinstance(keys, str) else keys
        forms = (form,) * len(places) if isinstance(form, str) else form
        cells = (_write(_find(result, one), each) for one, each in zip(places, forms, strict=True))
        lines.append(f"| {title} | {' | '.join(cells)} |")
    machine = f", {result['cpu']}, {result['cores']} cores" if "cpu" in result else ""
    size = "the small version (`--fast`)" if result.get("fast") else "the whole run"
    if missing := len(result.get("missing", ())):
        size += f" but for {missing} {result.get('missing_what', 'worlds that were not built')}"
    return "\n".join([*lines, "", f"*`python -m {folder}.{name}`, {size}{machine}.*"])


def _write(value: Any, form: str) -> str:
    return "–" if value is None else form.format(value)


def _find(result: Any, keys: str | None) -> Any:
    if keys is None:
        return None
    for key in keys.split("/"):
        result = result[int(key)] if isinstance(result, list) else result[key]
    return result


def measure(name: str, fast: bool) -> None:
    """Run an experiment; keep its JSON and its figure."""
    with tempfile.TemporaryDirectory() as folder:
        options = ("--fast",) if fast else ARGUMENTS.get(name, ())
        command = [sys.executable, "-m", f"experiments.{name}", "--json", "-o", folder, *options]
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
        keep(name, json.loads(done.stdout.splitlines()[-1]), Path(folder) / f"{name}.png")


def keep(name: str, result: dict[str, Any], picture: Path) -> None:
    """Write what an experiment printed, and drew where a page shows it, to where pages look for it."""
    result.pop("figure", None)  # a path of this machine
    path = ROOT / "experiments" / "figures" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(format_result(result), encoding="utf-8")
    if name not in DRAWN:
        return
    PICTURES.mkdir(parents=True, exist_ok=True)
    image = Image.open(picture).convert("RGB")
    image.thumbnail((WIDTH, 4 * WIDTH))
    image.save(PICTURES / f"{name}.webp", quality=75, method=6)


def main() -> None:
    """Measure if asked to, and write the pages."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    known = sorted({*DRAWN, *(key.split("/")[1] for key in ROWS if key.startswith("experiments/"))})
    options.add_argument("--measure", nargs="*", metavar="NAME", choices=known, help="run these experiments first")
    options.add_argument("--fast", action="store_true", help="their small versions")
    chosen = options.parse_args()
    for name in () if chosen.measure is None else chosen.measure or DRAWN:
        measure(name, chosen.fast)
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if (made := render(text)) != text:
            page.write_text(made, encoding="utf-8")
            print(f"{page.relative_to(DOCS)}: figures written")


if __name__ == "__main__":
    main()
