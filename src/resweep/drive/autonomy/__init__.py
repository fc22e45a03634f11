"""Who drives: a callable, an object with ``step``, or another process over a socket, and what holds when it fails."""

from resweep.drive.autonomy.channel import Channel, open_channel
from resweep.drive.autonomy.guard import Decision, Guard
from resweep.drive.autonomy.sockets import SocketAutonomy

__all__ = ["Channel", "Decision", "Guard", "SocketAutonomy", "open_channel"]
