"""An autonomy in another process: the loop listens, the autonomy connects, and both speak `messages`."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable
from typing import Any

from resweep.drive.autonomy.channel import Answer, find_remaining_s
from resweep.drive.autonomy.messages import (
    HEADER,
    MAX_ANSWER_BYTES,
    MAX_QUESTION_BYTES,
    WHAT,
    describe_mission,
    describe_observation,
    pack,
    read_observation,
    unpack,
)
from resweep.drive.sensing.observation import Mission, Observation
from resweep.errors import ResweepError
from resweep.optional import require


class SocketAutonomy:
    """An autonomy that connects to ``host`` and ``port`` (0: any free one, see ``address``), over TCP.

    The connection is waited for when a run starts, for at most ``connect_s`` and the rules' ``timeout_s``; one
    connection serves one run. Only processes of this machine can connect unless ``host`` allows others: nothing is
    encrypted or checked.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0, connect_s: float = 30.0) -> None:
        require("msgpack", WHAT)  # a run would take a package that is missing for a connection that is lost
        self._connect_s = connect_s
        try:
            self._listener = socket.create_server((host, port))
        except OSError as error:
            raise ResweepError(f"autonomy: cannot listen on {host}:{port} ({error}); choose another port") from error
        self._peer: socket.socket | None = None
        self._buffer = b""

    @property
    def address(self) -> tuple[str, int]:
        """Host and port to connect to."""
        host, port = self._listener.getsockname()[:2]
        return str(host), int(port)

    def start(self, mission: Mission, timeout_s: float) -> Answer:
        """Wait for a connection, send the mission, and wait until the autonomy is ready."""
        self._drop()
        wait_s = min(self._connect_s, timeout_s)
        self._listener.settimeout(wait_s)
        try:
            self._peer, _ = self._listener.accept()
        except OSError:
            host, port = self.address
            return Answer("late", detail=f"nothing connected to {host}:{port} within {wait_s:g} s")
        return self._exchange(describe_mission(mission), "ready", None, timeout_s)

    def ask(self, observation: Observation, timeout_s: float) -> Answer:
        """Send an observation and wait for the command with its step; answers to earlier ones are dropped."""
        if self._peer is None:
            return Answer("error", detail="the connection is lost")
        return self._exchange(describe_observation(observation), "command", observation.step, timeout_s)

    def stop(self, outcome: str) -> None:
        """Send the outcome and close the connection."""
        if self._peer is not None:
            with contextlib.suppress(OSError):  # it may have gone already
                self._peer.settimeout(1.0)
                self._peer.sendall(pack({"type": "end", "outcome": outcome}))
        self._drop()

    def close(self) -> None:
        """Stop listening."""
        self._drop()
        self._listener.close()

    def _exchange(self, question: dict[str, Any], expected: str, step: int | None, timeout_s: float) -> Answer:
        deadline = time.monotonic() + timeout_s
        assert self._peer is not None
        try:
            self._peer.settimeout(timeout_s)
            self._peer.sendall(pack(question))
            while True:
                message = unpack(self._receive(deadline))
                if message["type"] == "give-up":
                    return Answer("gave-up", detail=str(message.get("reason", ""))[:500])
                if message["type"] != expected:
                    return Answer("error", detail=f"a message '{message['type']}' in place of '{expected}'"[:500])
                if step is None or message.get("step") == step:
                    return Answer("command", message.get("command"))
                # An answer to an earlier step, which came too late.
        except TimeoutError:
            return Answer("late", detail=f"no answer within {timeout_s:g} s")
        except (OSError, ResweepError) as error:
            self._drop()
            return Answer("error", detail=f"the connection is lost ({error})"[:500])

    def _receive(self, deadline: float) -> bytes:
        assert self._peer is not None
        peer = self._peer

        def more() -> bytes:
            peer.settimeout(max(find_remaining_s(deadline), 1e-3))
            return peer.recv(65536)

        body, self._buffer = read_message(self._buffer, more, MAX_ANSWER_BYTES, self._keep)
        return body

    def _keep(self, buffer: bytes) -> None:
        self._buffer = buffer

    def _drop(self) -> None:
        if self._peer is not None:
            self._peer.close()
        self._peer, self._buffer = None, b""


def read_message(
    buffer: bytes, more: Callable[[], bytes], longest: int, keep: Callable[[bytes], None] | None = None
) -> tuple[bytes, bytes]:
    """The bytes of one message, and what was received beyond it; ``keep`` gets what there is after each part."""
    needed = HEADER.size
    while len(buffer) < needed or needed == HEADER.size:
        if len(buffer) >= HEADER.size:
            needed = HEADER.size + HEADER.unpack_from(buffer)[0]
            if needed - HEADER.size > longest:
                raise ResweepError(f"message: {needed - HEADER.size} bytes; at most {longest} are taken")
            if len(buffer) >= needed:
                break
        part = more()
        if not part:
            raise ResweepError("message: the other side has closed the connection")
        buffer += part
        if keep is not None:
            keep(buffer)
    return buffer[HEADER.size : needed], buffer[needed:]


def serve(autonomy: Any, host: str, port: int, mission_of: Callable[[dict[str, Any]], Any] | None = None) -> str:
    """Drive a loop elsewhere with an autonomy of this process, until the run ends; gives its outcome.

    ``autonomy`` is a callable of an `Observation`, or has ``step``; ``mission_of`` gets the mission's message first.
    """
    step = getattr(autonomy, "step", None) or autonomy
    buffer = b""
    with socket.create_connection((host, port)) as peer:
        while True:
            body, buffer = read_message(buffer, lambda: peer.recv(1 << 20), MAX_QUESTION_BYTES)
            message = unpack(body)
            if message["type"] == "end":
                return str(message["outcome"])
            if message["type"] == "mission":
                if mission_of is not None:
                    mission_of(message)
                peer.sendall(pack({"type": "ready"}))
                continue
            command = [float(value) for value in step(read_observation(message))]
            peer.sendall(pack({"type": "command", "step": message["step"], "command": command}))
