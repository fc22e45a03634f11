"""What ``resweep convert`` does for one cloud: a log or a world as COPC."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from resweep.errors import OutputError, ResweepError

if TYPE_CHECKING:
    from resweep.log import Log

SUFFIX = ".copc.laz"


def check_cloud(target: Path, format: str | None, frame: str | None, crs: Path | None, overwrite: bool) -> bool:
    """Whether the target is one cloud; raises for options that it does not take."""
    if not target.name.lower().endswith(SUFFIX) and format != "copc":
        if crs is not None:
            raise ResweepError(f"--crs: is written into COPC alone; give an OUT that ends in {SUFFIX}")
        return False
    if not target.name.lower().endswith(SUFFIX):
        raise OutputError(f"{target}: COPC is one file; give a name that ends in {SUFFIX}")
    if format not in (None, "copc"):
        raise ResweepError(f"{target}: is COPC by its name, and --format is {format}; leave one of them out")
    if frame not in (None, "world"):
        raise ResweepError(f"--frame {frame}: a cloud of many sweeps is in world coordinates; leave it out")
    if target.exists() and not overwrite:
        raise OutputError(f"{target}: exists; choose another name or give --overwrite")
    return True


def is_world(source: Path) -> bool:
    """Whether a folder holds a world."""
    return (source / "world.json").is_file()


def log_to_cloud(log: Log, target: Path, labels: str | None, crs: Path | None, **options: Any) -> int:
    """Write the points of a log, and return their number; labels that were mapped before stay as they are."""
    from resweep.io import write_cloud

    kept: dict[str, Any] = {} if labels is None else {"labels": None}
    count = write_cloud(log, target, crs=_read_wkt(crs), overwrite=True, **kept, **options)
    typer.echo(f"{target}: {count:,} points of {len(log)} sweeps as COPC")
    return count


def world_to_cloud(source: Path, target: Path, labels: str | None, crs: Path | None, **options: Any) -> int:
    """Write the points of a world, and return their number: centres of splats, means of volumes, points on meshes."""
    from resweep.io import write_cloud
    from resweep.worlds import load_world

    world = load_world(source)
    kept: dict[str, Any] = {} if labels is None else {"labels": labels}
    count = write_cloud(world, target, crs=_read_wkt(crs), overwrite=True, **kept, **options)
    typer.echo(f"{target}: {count:,} points of {len(world.layers)} layers as COPC")
    return count


def _read_wkt(file: Path | None) -> str | None:
    from resweep.config import read_text

    return None if file is None else read_text(file, "a file of WKT").strip()
