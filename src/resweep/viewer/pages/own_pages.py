"""Who may talk to the viewer: pages that it served itself. A page of another site is refused, whatever it asks for.

A browser lets any page open a WebSocket to any address, also of this machine, and says in ``Origin`` whose page it is.
So ``Origin``, where there is one, must be the ``Host`` that was asked for. That must be a name of this machine: a site
can give its own name the address of this one.
"""

from __future__ import annotations

import http
import importlib
import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from resweep.errors import ResweepError
from resweep.optional import require

_LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
_ALL = ("0.0.0.0", "::", "")
_patching = threading.Lock()


def is_own_page(hosts: Sequence[str], origins: Sequence[str], bound: str) -> bool:
    """Whether a request with these ``Host`` and ``Origin`` headers is of a page of the server bound to ``bound``."""
    if len(hosts) != 1 or len(origins) > 1:
        return False
    asked = hosts[0].strip().lower()
    try:
        name = urlsplit(f"//{asked}").hostname or ""
        origin = urlsplit(origins[0].strip().lower()) if origins else None
    except ValueError:  # brackets without an address in them
        return False
    if origin is not None and (origin.scheme not in ("http", "https") or origin.netloc != asked):
        return False
    return _is_this_machine(name, bound.strip("[]").lower())


def _is_this_machine(name: str, bound: str) -> bool:
    """Whether ``name`` is one by which a browser asks for a server that is bound to ``bound``."""
    if name in _LOCAL_NAMES or name == bound:
        return True
    if bound in _LOCAL_NAMES:
        return False
    if name in (socket.gethostname().lower(), socket.getfqdn().lower()):
        return True
    try:  # of whatever network this machine is in: no site has an address for a name
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


@contextmanager
def guard_server(bound: str) -> Iterator[None]:
    """Within it, the server that viser starts refuses requests of other sites; raises if it did not start one.

    viser has no setting for it, so the function of websockets that it calls is replaced for the moment.
    """
    require("viser", "the viewer")
    module: Any = importlib.import_module("websockets.asyncio.server")  # viser needs it
    serve, started = module.serve, threading.Event()

    def serve_guarded(*args: Any, process_request: Callable[..., Any] | None = None, **options: Any) -> Any:
        started.set()

        def check(connection: Any, request: Any) -> Any:
            headers = request.headers
            if not is_own_page(headers.get_all("Host"), headers.get_all("Origin"), bound):
                return connection.respond(http.HTTPStatus.FORBIDDEN, "this is the page of another site\n")
            return None if process_request is None else process_request(connection, request)

        return serve(*args, process_request=check, **options)

    with _patching:
        module.serve = serve_guarded
        try:
            yield
        finally:
            module.serve = serve
    if not started.is_set():
        raise ResweepError("the viewer: this version of viser starts its server in another way; install viser 1.1")
