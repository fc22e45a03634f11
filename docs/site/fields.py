"""Anchors of the tables of fields, so that the links between them lead somewhere on the site as well.

A table between ``<!-- fields: resweep.sensors.Sensor -->`` and its end is linked to as ``#sensor``, mostly below a
heading of that name. Where there is none, the table gets the anchor; where it is on another page, the link leads there.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

_TABLE = re.compile(r"<!-- fields: [\w.]+?\.(\w+) -->")
_LINK = re.compile(r"\]\(#(\w+)\)")
_HEADING = re.compile(r"^#+ (\w+)$", re.MULTILINE)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """A page whose tables of fields have anchors, and whose links to tables of other pages name the page."""
    headings = {name.lower() for name in _HEADING.findall(markdown)}
    tables = {name.lower() for name in _TABLE.findall(markdown)}

    def anchor(found: re.Match[str]) -> str:
        name = found[1].lower()
        return found[0] if name in headings else f'<a id="{name}"></a>\n\n{found[0]}'

    def link(found: re.Match[str]) -> str:
        name = found[1]
        if name in headings | tables or not tables:
            return found[0]
        other = _find_page(name, files)
        return f"]({other}#{name})" if other else found[0]

    return _TABLE.sub(anchor, _LINK.sub(link, markdown))


def _find_page(name: str, files: Files) -> Any:
    """The page with the table of this name, as docs/ names it; None if there is none."""
    for file in files.documentation_pages():
        if file.abs_src_path and "/" not in file.src_uri:
            text = Path(file.abs_src_path).read_text(encoding="utf-8")
            if name in {table.lower() for table in _TABLE.findall(text)}:
                return file.src_uri
    return None
