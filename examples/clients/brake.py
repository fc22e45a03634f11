"""An autonomy in plain Python, without Resweep: it drives a loop over a socket (docs/drive.md has the messages).

    pip install msgpack
    resweep drive hidden-car --autonomy tcp:5555 -o runs &      # the loop listens
    python examples/clients/brake.py 127.0.0.1 5555             # the client connects

It keeps its speed straight on, and brakes for anything within 12 m ahead in its lane. brake.cpp does the same.
"""

import socket
import struct
import sys
import time

import msgpack


def connect(host: str, port: int) -> socket.socket:
    """The connection; the loop may not listen yet."""
    for _ in range(300):
        try:
            return socket.create_connection((host, port))
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise SystemExit("nobody listens there")


def receive(peer: socket.socket) -> dict:
    """The next message: its length in four bytes, most significant first, and a msgpack map."""
    (size,) = struct.unpack(">I", read(peer, 4))
    return msgpack.unpackb(read(peer, size))


def read(peer: socket.socket, count: int) -> bytes:
    """So many bytes."""
    made = b""
    while len(made) < count:
        part = peer.recv(min(count - len(made), 1 << 16))
        if not part:
            raise SystemExit("the connection is lost")
        made += part
    return made


def send(peer: socket.socket, message: dict) -> None:
    """A message with its length before it."""
    body = msgpack.packb(message)
    peer.sendall(struct.pack(">I", len(body)) + body)


def is_blocked(observation: dict) -> bool:
    """Whether more than three returns lie within 12 m ahead in the lane, above the ground."""
    near = 0
    for scan in observation["scans"]["lidar"]:
        for x, y, z in struct.iter_unpack("<3f", scan["points"]):
            near += 3 < x < 12 and abs(y) < 1 and z > -1.3
    return near > 3


def main(host: str, port: str) -> None:
    """Drive until the run ends."""
    with connect(host, int(port)) as peer:
        while (message := receive(peer))["type"] != "end":
            if message["type"] == "mission":
                send(peer, {"type": "ready"})
                continue
            command = [-5.0 if is_blocked(message) else 0.0, 0.0]  # acceleration m/s², steering rad
            send(peer, {"type": "command", "step": message["step"], "command": command})
    print(message["outcome"])


if __name__ == "__main__":
    main(*sys.argv[1:])
