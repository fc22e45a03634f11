"""Write a LAS file as COPC with Whitebox, in nodes of few points. Run by ``external_python``."""

# mypy: disable-error-code="import-not-found, import-untyped"
from __future__ import annotations

import sys

import whitebox_workflows

if __name__ == "__main__":
    session = whitebox_workflows.WbEnvironment()
    options = {"copc": {"max_points_per_node": 4000, "max_depth": 6}}
    session.write_lidar(session.read_lidar(sys.argv[1]), sys.argv[2], options=options)
