"""The site is built without a warning, shows every public name, and asks nobody for anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

import resweep
from tests.docs.pages import DOCS, ROOT

pytest.importorskip("mkdocs", reason="needs the extra 'docs'")
pytest.importorskip("latex2mathml", reason="needs the extra 'docs'")

# By tag: the attribute that a browser fetches without being asked. Links of <a> are followed by people.
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "link": "href"}
NOT_FETCHED = {"canonical", "prev", "next", "alternate"}  # kinds of <link>


class Fetched(HTMLParser):
    """What a page makes a browser fetch, and the ids that it has."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids |= {value for name, value in attrs if name == "id" and value}
        value = given.get(FETCHED.get(tag, ""))
        if value and not (tag == "link" and given.get("rel") in NOT_FETCHED):
            self.fetched.append(value)


def read_page(path: Path) -> Fetched:
    parser = Fetched()
    parser.feed(path.read_text(encoding="utf-8"))
    return parser


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. Warnings are errors, and so is any use of the network: there is none behind these proxies."""
    folder = tmp_path_factory.mktemp("site")
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    environment = {**os.environ, **nowhere, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "WARNING" not in done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Fetched]:
    return {path: read_page(path) for path in sorted(site.rglob("*.html"))}


def test_every_page_of_docs_is_on_the_site(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        assert (site / page.relative_to(DOCS)).with_suffix(".html").is_file()
    assert len(list((site / "notebooks").glob("*.html"))) == 3


def test_nothing_is_fetched_from_elsewhere(site: Path, pages: dict[Path, Fetched]) -> None:
    for path, page in pages.items():
        assert page.fetched
        for address in page.fetched:
            parts = urlparse(address)
            assert not parts.netloc, f"{path.name}: {address}"
            if parts.scheme != "data" and path.name != "404.html":  # that one is asked for from anywhere
                assert (path.parent / unquote(parts.path)).is_file(), f"{path.name}: {address}"
    for style in site.rglob("*.css"):
        assert not re.search(r"@import|url\(\s*['\"]?(?:https?:)?//", style.read_text(encoding="utf-8")), style.name


def test_an_asset_from_elsewhere_would_be_found(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text('<script src="https://unpkg.com/x.js"></script><a href="https://example.org">a link</a>')
    assert read_page(path).fetched == ["https://unpkg.com/x.js"]


def test_every_public_name_is_in_the_reference_once(pages: dict[Path, Fetched]) -> None:
    reference = [page.ids for path, page in pages.items() if path.parent.name == "api"]
    assert [name for name in resweep._PUBLIC if sum(f"resweep.{name}" in ids for ids in reference) != 1] == []


def test_docstrings_are_in_the_reference(site: Path) -> None:
    text = (site / "api" / "simulate.html").read_text(encoding="utf-8")
    assert "The sensor of a catalog name such as" in text
    assert "range_max_m" in text


def test_equations_are_drawn_by_the_browser(site: Path) -> None:
    text = (site / "concepts" / "volumes.html").read_text(encoding="utf-8")
    assert text.count("<math") > 10
    for path in (site / "concepts").glob("*.html"):
        assert "arithmatex" not in path.read_text(encoding="utf-8"), path.name


def test_pictures_are_small() -> None:
    pictures = [path for path in (DOCS / "images").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in pictures) < 3_000_000
    texts = "".join(page.read_text(encoding="utf-8") for page in [*DOCS.rglob("*.md"), ROOT / "README.md"])
    assert [path.name for path in pictures if path.name not in texts] == []
