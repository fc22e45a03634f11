"""The pages of the documentation, and the blocks of code in them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = {"README.md": ROOT / "README.md"} | {
    path.relative_to(DOCS).as_posix(): path for path in sorted(DOCS.rglob("*.md"))
}
_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, empty if it names none, its text, and the line of its page that it begins on."""

    language: str
    text: str
    line: int

    @property
    def commands(self) -> list[str]:
        """The lines of a shell block without comments; none of a block in a language."""
        if self.language not in ("", "bash"):
            return []
        joined = self.text.replace("\\\n", " ")
        lines = (re.sub(r"\s+#.*$|^#.*$", "", line).strip() for line in joined.splitlines())
        return [line for line in lines if line]


def read_text(page: str) -> str:
    """The text of a page."""
    return PAGES[page].read_text(encoding="utf-8")


def find_blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = read_text(page)
    return [Block(found[2], found[3], text[: found.start()].count("\n") + 2) for found in _BLOCK.finditer(text)]


def find_inline(page: str) -> list[str]:
    """What stands between single backticks on a page, outside of blocks, each on one line."""
    return [" ".join(code.split()) for code in _INLINE.findall(_BLOCK.sub("", read_text(page)))]


def split_command(line: str) -> tuple[list[str], str | None]:
    """The arguments of a command, and the file that its output goes to, if any."""
    args = shlex.split(line)
    if ">" in args:
        at = args.index(">")
        return args[:at], args[at + 1]
    return args, None
