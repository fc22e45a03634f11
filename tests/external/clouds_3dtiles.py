"""Make 3D Tiles of a cloud with py3dtiles and count the points of the finest tiles. Run by ``external_python``."""

# mypy: disable-error-code="import-not-found, import-untyped"
from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from py3dtiles.convert import convert
from py3dtiles.tileset.tileset import TileSet


def main(cloud: str, out: str) -> None:
    """Print the number of points, and the corners of the box that holds them."""
    convert(Path(cloud), outfolder=Path(out), overwrite=True, jobs=1, rgb=False)
    tiles = TileSet.from_file(Path(out) / "tileset.json")
    count = 0
    waiting: list[Any] = [tiles.root_tile]
    while waiting:
        tile = waiting.pop()
        waiting += tile.children
        if not tile.children:
            count += tile.get_or_fetch_content(tiles.root_uri).body.feature_table.nb_points()
    record = json.loads((Path(out) / "tileset.json").read_text())["root"]
    print(json.dumps({"points": count, "box": record["boundingVolume"]["box"], "transform": record["transform"]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
