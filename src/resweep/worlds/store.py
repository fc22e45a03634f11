"""Worlds on disk: a directory with world.json and Zarr v3 arrays per layer."""

from __future__ import annotations

from pathlib import Path

from resweep.worlds.world import World


def save_world(world: World, path: Path, overwrite: bool = True) -> Path:
    raise NotImplementedError


def load_world(path: str | Path) -> World:
    raise NotImplementedError
