"""Text for a terminal: names and contents of files are shown, never obeyed.

A file may be called ``a[/b]``, which `rich` takes for markup, or hold escape sequences, which move the cursor, change
the title or hide what was printed. Everything that is printed passes one function, `resweep.errors.printable`.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from resweep.errors import printable

if TYPE_CHECKING:
    from rich.console import Console


def make_console(**options: Any) -> Console:
    """A rich console that shows text as it is: no markup in it, and nothing that a terminal would act on."""
    from rich.console import Console
    from rich.text import Text

    class PlainConsole(Console):
        def render_str(self, text: str, **given: Any) -> Text:
            return super().render_str(printable(text), **{**given, "markup": False, "emoji": False})

    return PlainConsole(**options)


@contextmanager
def neutral_streams() -> Iterator[None]:
    """Replace the standard streams by ones that pass text through `printable`; consoles of rich are left alone."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _NeutralStream(before[0]), _NeutralStream(before[1])
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


class _NeutralStream(io.TextIOBase, TextIO):
    """A text stream whose text cannot act on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        # rich looks for this name and writes its own colours to the stream behind.
        self.rich_proxied_file = stream

    def write(self, text: str, /) -> int:
        self.rich_proxied_file.write(printable(text))
        return len(text)

    def flush(self) -> None:
        self.rich_proxied_file.flush()

    def fileno(self) -> int:
        return self.rich_proxied_file.fileno()

    def isatty(self) -> bool:
        return self.rich_proxied_file.isatty()

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self.rich_proxied_file.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return self.rich_proxied_file.errors
