"""Only pages of the viewer itself may talk to it: those of other sites are refused, at every door."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed")

import viser
import websockets.asyncio.client
from websockets.exceptions import InvalidStatus

from resweep.viewer.pages.own_pages import guard_server, is_own_page
from resweep.viewer.pages.panes import PaneServer
from resweep.viewer.pages.stage import Stage, find_port


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    stage = Stage(np.zeros(3), port=find_port("127.0.0.1", 8460))
    yield stage
    stage.stop()


@pytest.fixture(scope="module")
def front(stage: Stage) -> Iterator[PaneServer]:
    front = PaneServer("127.0.0.1", find_port("127.0.0.1", 8480), [stage], ["one"], "panes")
    yield front
    front.stop()


def connect(port: int, path: str = "/", host: str | None = None, origin: str | None = None) -> int:
    """Open a WebSocket as a browser would; 101 if it is taken, else the status."""

    async def once() -> int:
        protocol: Any = [f"viser-v{viser.__version__}"]
        sock = socket.create_connection(("127.0.0.1", port))
        address = f"ws://{host or f'localhost:{port}'}{path}"
        try:
            async with websockets.asyncio.client.connect(
                address, sock=sock, origin=origin, subprotocols=protocol, compression=None
            ) as opened:
                await asyncio.wait_for(opened.recv(), 10)  # the scene comes
                return 101
        except InvalidStatus as refused:
            return refused.response.status_code

    return asyncio.run(once())


def fetch(port: int, *headers: str) -> int:
    """The status of a plain request for the page."""
    with socket.create_connection(("127.0.0.1", port)) as peer:
        peer.sendall("\r\n".join(["GET / HTTP/1.1", *headers, "Connection: close", "", ""]).encode())
        return int(peer.makefile("rb").readline().split()[1])


FOREIGN = ["http://evil.example", "https://evil.example:8080", "null", "http://localhost:1", "file://"]


def test_the_viewer_refuses_pages_of_other_sites(stage: Stage) -> None:
    own = f"http://localhost:{stage.port}"
    assert connect(stage.port, origin=own) == 101
    assert connect(stage.port) == 101  # no browser
    assert [connect(stage.port, origin=origin) for origin in FOREIGN] == [403] * len(FOREIGN)
    assert fetch(stage.port, f"Host: localhost:{stage.port}") == 200
    assert fetch(stage.port, f"Host: localhost:{stage.port}", "Origin: http://evil.example") == 403


def test_a_name_that_another_site_gave_this_machine_is_refused(stage: Stage) -> None:
    host = f"evil.example:{stage.port}"
    assert connect(stage.port, host=host, origin=f"http://{host}") == 403
    assert fetch(stage.port, f"Host: {host}") == 403
    assert fetch(stage.port) in (400, 403)
    forwarded = "localhost:9999"  # the port of another machine, forwarded over SSH
    assert connect(stage.port, host=forwarded, origin=f"http://{forwarded}") == 101


def test_panes_refuse_them_too(front: PaneServer) -> None:
    own = f"http://localhost:{front.port}"
    assert connect(front.port, "/1/", origin=own) == 101
    assert [connect(front.port, "/1/", origin=origin) for origin in FOREIGN] == [403] * len(FOREIGN)
    assert fetch(front.port, f"Host: localhost:{front.port}") == 200
    assert fetch(front.port, f"Host: localhost:{front.port}", "Origin: http://evil.example") == 403
    assert fetch(front.port, f"Host: evil.example:{front.port}") == 403


@pytest.mark.parametrize(
    ("host", "origin", "bound", "own"),
    [
        ("10.0.0.7:8080", "http://10.0.0.7:8080", "0.0.0.0", True),
        ("10.0.0.7:8080", "http://10.0.0.7:8080", "127.0.0.1", False),
        (f"{socket.gethostname()}:8080", f"http://{socket.gethostname()}:8080".lower(), "0.0.0.0", True),
        ("lab-machine:8080", "http://lab-machine:8080", "lab-machine", True),
        ("evil.example:8080", "http://evil.example:8080", "0.0.0.0", False),
        ("[::1]:8080", "http://[::1]:8080", "::1", True),
        ("[::1", "http://[::1", "::1", False),
        ("localhost:8080", "https://localhost:8080", "127.0.0.1", True),  # behind a proxy with TLS
        ("localhost:8080", "http://localhost:8081", "127.0.0.1", False),
        ("localhost:8080", "http://localhost:8080.evil.example", "127.0.0.1", False),
        ("localhost:8080", "ws://localhost:8080", "127.0.0.1", False),
    ],
)
def test_whose_page_it_is(host: str, origin: str, bound: str, own: bool) -> None:
    assert is_own_page([host], [origin], bound) is own
    assert not is_own_page([host, host], [origin], bound)
    assert not is_own_page([host], [origin, origin], bound)
    assert not is_own_page([], [], bound)


def test_a_viser_that_cannot_be_guarded_is_refused() -> None:
    with pytest.raises(Exception, match="starts its server in another way"), guard_server("127.0.0.1"):
        pass
