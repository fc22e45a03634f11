"""Write the tables of fields in docs/*.md from the models: python docs/write_tables.py

A table stands between ``<!-- fields: resweep.sensors.Sensor -->`` and ``<!-- end of fields -->``. A test holds the
pages to what this writes, so that they cannot go stale.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

from resweep.schema import make_table

DOCS = Path(__file__).parent
BLOCK = re.compile(r"(<!-- fields: ([\w.]+) -->\n).*?(<!-- end of fields -->)", re.DOTALL)


def render(text: str) -> str:
    """A page with each of its tables made anew."""

    def replace(found: re.Match[str]) -> str:
        module, name = found[2].rsplit(".", 1)
        return f"{found[1]}\n{make_table(getattr(importlib.import_module(module), name))}\n\n{found[3]}"

    return BLOCK.sub(replace, text)


if __name__ == "__main__":
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if (made := render(text)) != text:
            page.write_text(made, encoding="utf-8")
            print(f"{page.name}: tables written")
