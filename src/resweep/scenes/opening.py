"""Worlds by name: ``scene:NAME``, a saved world's folder, or a mesh file."""

from __future__ import annotations

from collections.abc import Iterable

from resweep.errors import InputError, ResweepError, nearest_names
from resweep.memory import find_spare_memory
from resweep.remote import find_path, is_remote, recover_output
from resweep.worlds import StreamedWorld, World, load_world
from resweep.worlds.store.memory_sizes import estimate_memory

SCENE = "scene:"


def check_world(name: str) -> None:
    """Raise if ``name`` cannot name a world, without the work of making or reading it."""
    if name.startswith(SCENE):
        from resweep.scenes import SCENES  # its places import this package

        if name.removeprefix(SCENE) not in SCENES:
            raise ResweepError(f"world '{name}': no such scene; {nearest_names(name.removeprefix(SCENE), SCENES)}")
        return
    if not _may_be_path(name):
        raise InputError(f"{name}: no such world, and no file can have that name")
    path = find_path(name)
    recover_output(path)
    if not path.exists():
        raise InputError(f"{name}: no such world; give a mesh file, a saved .world folder or scene:NAME")
    if is_remote(path) and not path.is_dir():
        raise InputError(f"{name}: is no saved world, and meshes are not read by URL; copy the file here first")
    if path.is_dir() and not (path / "world.json").is_file():
        raise InputError(f"{name}: is no saved world (no world.json in it); give a .world folder or a mesh file")


def open_world(name: str, seed: int = 0, up: str | None = None, *, memory_bytes: int | None = None) -> World:
    """The world that ``name`` names: ``scene:NAME`` made from ``seed``, a saved world, or a mesh file.

    ``up`` is the upward axis of a mesh file, y or z (default: y for glTF and GLB, else z). ``memory_bytes`` bounds what
    the process holds: a saved world that is larger, with its native scene, raises before it is read.
    """
    check_world(name)
    if name.startswith(SCENE):
        from resweep.scenes import SCENES

        return SCENES[name.removeprefix(SCENE)](seed=seed)
    if find_path(name).is_dir():
        if memory_bytes is not None:
            check_memory([name], memory_bytes)
        return load_world(name)
    return World.from_mesh(name, up=up)


def check_memory(names: Iterable[str], memory_bytes: int) -> int:
    """Bytes that are left beside the largest of several worlds; raises if it does not fit, with its native scene.

    What scenes and mesh files take is not known before they are made.
    """
    saved = {name: find_path(name) for name in names if not name.startswith(SCENE)}
    sizes = {name: estimate_memory(path) for name, path in saved.items() if path.is_dir()}
    largest = max(sizes, key=lambda name: sizes[name], default=None)
    what = "a world" if largest is None else f"the world {largest}"
    return find_spare_memory(memory_bytes, 0 if largest is None else sizes[largest], what)


def stream_world(
    name: str, seed: int = 0, up: str | None = None, *, memory_bytes: int | None = None
) -> World | StreamedWorld:
    """As `open_world`, but a saved world is not read: its tiles are, where a sensor drives (`StreamedWorld`).

    ``memory_bytes`` bounds what is kept of it (default: half of the machine's memory).
    """
    check_world(name)
    if not name.startswith(SCENE) and find_path(name).is_dir():
        return StreamedWorld(name, memory=memory_bytes)
    return open_world(name, seed, up)


def _may_be_path(name: str) -> bool:
    """Whether a file could have that name: it is not too long, and holds no null."""
    try:
        find_path(name).exists()
    except (OSError, ValueError):
        return False
    return "\0" not in name
