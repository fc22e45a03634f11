"""A real browser without a window, for tests of pages: Debian's chromium, driven by Playwright."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# Software rendering, and nothing that asks the network.
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
)
_BACKGROUND = 40  # the page is darker than this, its points are brighter


@contextmanager
def open_browser() -> Iterator[Any]:
    """A headless chromium; skips the test where there is none."""
    if CHROMIUM is None:
        pytest.skip("no chromium; install it with: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(_FLAGS))
        yield browser
        browser.close()


class Page:
    """A page and the errors on its console."""

    def __init__(self, browser: Any, address: str, folder: Path, width: int = 760) -> None:
        self.errors: list[str] = []
        self.asked: list[str] = []  # addresses that the page asked for
        self.page = browser.new_page(viewport={"width": width, "height": 440})
        self.page.on("console", lambda message: self._note(message.type, message.text))
        self.page.on("pageerror", lambda error: self._note("error", str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.folder, self._count = folder, 0
        self.page.goto(address)
        for frame in self._find_scenes():
            frame.wait_for_selector("canvas", state="attached", timeout=240_000)

    def _find_scenes(self) -> list[Any]:
        """The frames that show a scene: the page itself, or its panes."""
        panes = [element.content_frame() for element in self.page.query_selector_all("iframe")]
        return panes or [self.page]

    def drag(self, x: int, y: int, across: int, down: int) -> None:
        """Drag the mouse over the page."""
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        for step in range(1, 6):
            self.page.mouse.move(x + across * step // 5, y + down * step // 5)
            self.page.wait_for_timeout(60)
        self.page.mouse.up()

    def _note(self, kind: str, text: str) -> None:
        if kind == "error":
            self.errors.append(text)

    def picture(self, columns: slice | None = None) -> np.ndarray:
        """What the canvas shows, (h, w, 3), without the panel and without the notice of software rendering."""
        from PIL import Image

        self._count += 1
        path = self.folder / f"shot-{self._count}.png"
        self.page.screenshot(path=str(path), timeout=120_000)
        with Image.open(path) as image:
            return np.asarray(image.convert("RGB"))[190:, columns or slice(0, 380)].astype(np.int64)

    def wait_for(
        self, wanted: Callable[[np.ndarray], bool], what: str, seconds: float = 240.0, columns: slice | None = None
    ) -> np.ndarray:
        """The first picture that is as ``wanted``; fails with ``what`` if none is in time."""
        until = time.monotonic() + seconds
        while True:
            shown = self.picture(columns)
            if wanted(shown):
                return shown
            if time.monotonic() > until:
                pytest.fail(f"{what}; bright pixels: {bright(shown):.4f}, errors: {self.errors}")
            self.page.wait_for_timeout(400)

    def close(self) -> None:
        """Close the page."""
        self.page.close()


def bright(picture: np.ndarray) -> float:
    """The share of pixels that are not background."""
    return float((picture.max(axis=2) > _BACKGROUND).mean())
