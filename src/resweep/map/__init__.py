"""A log as a map: points and beams around one origin, without what moves."""

from __future__ import annotations

from resweep.map.map import Map

__all__ = ["Map"]
