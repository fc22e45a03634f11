"""Two scenes beside each other on one port, whose cameras move together."""

from __future__ import annotations

import asyncio
import html
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from resweep.pose import Array
from resweep.viewer.pages.stage import Stage, name_address

_LEAD_S = 0.6  # for which the camera that was moved leads: echoes of the others are late
_HEAD_BYTES = 1 << 16
_HEAD_S = 20.0
_PIECE_BYTES = 1 << 18


class LinkedCameras:
    """Cameras of several stages that follow the one that was moved last."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self.stages = tuple(stages)
        self._lock = threading.Lock()
        self._leader, self._moved_at = -1, -np.inf
        self._view: Array | None = None
        for at, stage in enumerate(self.stages):
            self._follow(at, stage)

    def _follow(self, at: int, stage: Stage) -> None:
        @stage.server.on_client_connect  # type: ignore[untyped-decorator, unused-ignore]
        def _(client: Any) -> None:
            with self._lock:
                view = self._view
            if view is not None:  # a page that comes late sees what the others see
                _set_view(client, view)
            client.camera.on_update(lambda camera: self._move(at, camera))

    def _move(self, at: int, camera: Any) -> None:
        view = np.stack([camera.position, camera.look_at, camera.up_direction])
        if not np.isfinite(view).all():
            return
        with self._lock:
            now = time.monotonic()
            if at != self._leader and now - self._moved_at < _LEAD_S:
                return
            if self._view is not None and np.allclose(view, self._view, atol=1e-3):
                return
            self._leader, self._moved_at, self._view = at, now, view
        for other, stage in enumerate(self.stages):
            for client in stage.server.get_clients().values() if other != at else ():
                _set_view(client, view)


def _set_view(client: Any, view: Array) -> None:
    """Put a client's camera at a position, looking at a place, with a direction that is up: rows of ``view`` (3, 3)."""
    with client.atomic():
        client.camera.up_direction = view[2]
        client.camera.position = view[0]
        client.camera.look_at = view[1]


class PaneServer:
    """One port for several stages: a page with a pane for each, and a route to the server of each.

    ``/1/`` leads to the first stage, ``/2/`` to the second. One port is enough to be forwarded over SSH.
    """

    def __init__(self, host: str, port: int, stages: Sequence[Stage], names: Sequence[str], title: str) -> None:
        self.host, self.port = host, port
        self._ports = [stage.port for stage in stages]
        self._page = draw_panes(names, title).encode()
        self._loop = asyncio.new_event_loop()
        begun = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(begun,), daemon=True)
        self._problem: OSError | None = None
        self._thread.start()
        begun.wait()
        if self._problem is not None:
            raise self._problem

    @property
    def url(self) -> str:
        """Where a browser on this machine finds the page."""
        return name_address(self.host, self.port)

    def stop(self) -> None:
        """Close the port and all connections."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ended.set)
            self._thread.join(timeout=10.0)

    def _run(self, begun: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve(begun))
        except OSError as error:
            self._problem = error
        finally:
            self._loop.close()
            begun.set()

    async def _serve(self, begun: threading.Event) -> None:
        self._ended = asyncio.Event()
        self._open: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._serve_browser, self.host, self.port, limit=_HEAD_BYTES)
        begun.set()
        await self._ended.wait()
        server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve_browser(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._forward(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            return  # a browser that goes away in the midst is no error
        except asyncio.CancelledError:
            return  # `stop` cancels connections that are open
        finally:
            self._open.discard(task)
            writer.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _HEAD_S)
        line, _, rest = head.partition(b"\r\n")
        parts = line.split(b" ")
        path = parts[1].partition(b"?")[0] if len(parts) == 3 else b""
        pane, _, inner = path.removeprefix(b"/").partition(b"/")
        if pane.isdigit() and 1 <= int(pane) <= len(self._ports):
            port = self._ports[int(pane) - 1]
            inside, outside = await asyncio.open_connection("127.0.0.1", port)
            outside.write(b" ".join([parts[0], b"/" + inner, parts[2]]) + b"\r\n" + rest)
            try:
                await asyncio.gather(_copy(reader, outside), _copy(inside, writer))
            finally:
                outside.close()
            return
        found = path == b"/"
        body = self._page if found else b"not found"
        status = b"200 OK" if found else b"404 Not Found"
        kind = b"Content-Type: text/html; charset=utf-8\r\nConnection: close\r\n"
        writer.write(b"HTTP/1.1 %b\r\n%bContent-Length: %d\r\n\r\n%b" % (status, kind, len(body), body))
        await writer.drain()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Pass on all that comes, and the end of it."""
    while piece := await source.read(_PIECE_BYTES):
        target.write(piece)
        await target.drain()
    target.close()


def draw_panes(names: Sequence[str], title: str) -> str:
    """The page with a pane for each name; the last one has the controls, so it is wider."""
    panes = "".join(
        f'<figure class="{"last" if at == len(names) else ""}"><figcaption>{html.escape(name)}</figcaption>'
        f'<iframe src="/{at}/" title="{html.escape(name)}"></iframe></figure>'
        for at, name in enumerate(names, 1)
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
html, body {{ margin: 0; height: 100%; background: #141414; color: #ddd; font: 14px system-ui, sans-serif; }}
body {{ display: flex; }}
figure {{ margin: 0; flex: 1 1 0; min-width: 0; display: flex; flex-direction: column; border-left: 1px solid #444; }}
figure.last {{ flex-basis: 390px; }}
figcaption {{ padding: 5px 10px; background: #242424; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }}
iframe {{ border: 0; flex: 1; width: 100%; }}
@media (max-width: 800px) {{ body {{ flex-direction: column; }} figure.last {{ flex-basis: 0; }} }}
</style></head><body>{panes}</body></html>
"""
