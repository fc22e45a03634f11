"""Equations of the pages as MathML, made while the site is built: browsers draw it, no script is needed."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

_EQUATION = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(text: str, **_: Any) -> str:
    """A page with each equation of arithmatex (``$ $`` and ``$$ $$``) replaced by MathML."""

    def replace(found: re.Match[str]) -> str:
        display = "block" if found[2] == "[" else "inline"
        made = convert(html.unescape(found[3]).strip(), display=display)
        return f'<div class="equation">{made}</div>' if display == "block" else made

    return _EQUATION.sub(replace, text)
