"""The command line: one file a verb, thin over the library."""

from __future__ import annotations

from resweep.cli.app import app, main

__all__ = ["app", "main"]
