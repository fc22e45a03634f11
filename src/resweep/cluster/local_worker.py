"""Loaded by dask into each worker process of this machine: Ctrl-C is for the command, which then ends them."""

from __future__ import annotations

import signal
import threading


def dask_setup(worker: object) -> None:
    """Called by dask once the worker is there."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
