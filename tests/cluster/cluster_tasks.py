"""Tasks for the tests; workers import them from here."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

from resweep.errors import UnknownPosesError


def square(number: int) -> int:
    return number * number


def fail(number: int) -> int:
    if number == 3:
        raise UnknownPosesError(f"number {number} is bad")
    return number


def warn(number: int) -> None:
    warnings.warn(f"number {number} is odd", stacklevel=2)


def die_once(marker: str) -> str:
    """End the worker, the first time that it is called with a path."""
    if "/" in marker and not Path(marker).exists():
        Path(marker).write_text("died")
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.05)
    return marker


def die(number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _hold(lock: Any, number: int) -> int:
    return number


refuse_to_be_sent = partial(_hold, threading.Lock())
