"""Procedural places made of worlds: each a function of a seed, and of a config where there is more to say."""

from __future__ import annotations

from collections.abc import Callable

from resweep.scenes.cars import car
from resweep.scenes.courtyard import CourtyardConfig, courtyard
from resweep.scenes.facade_meshes import building
from resweep.scenes.grass import blades, grass_tile, stems
from resweep.scenes.meadow import meadow
from resweep.scenes.root import RootConfig, root, root_mesh
from resweep.scenes.scatter_plants import jittered_positions, placements, poisson_positions, spaced_positions, tilings
from resweep.scenes.scene_labels import SCENE_LABELS, Label
from resweep.scenes.scene_parts import box, cylinder, ground_plane, merged, pole, wall
from resweep.scenes.shrubs import ShrubConfig, shrub
from resweep.scenes.street import StreetConfig, street
from resweep.scenes.terrain import Terrain, fractal_terrain, heightfield
from resweep.scenes.trees import TreeConfig, detailed_tree, tree
from resweep.worlds import World

# The places that the command line takes as ``scene:NAME``; each is called with ``seed=``.
SCENES: dict[str, Callable[..., World]] = {
    "courtyard": courtyard,
    "meadow": meadow,
    "root": root,
    "street": street,
}

__all__ = [
    "SCENES",
    "SCENE_LABELS",
    "CourtyardConfig",
    "Label",
    "RootConfig",
    "ShrubConfig",
    "StreetConfig",
    "Terrain",
    "TreeConfig",
    "blades",
    "box",
    "building",
    "car",
    "courtyard",
    "cylinder",
    "detailed_tree",
    "fractal_terrain",
    "grass_tile",
    "ground_plane",
    "heightfield",
    "jittered_positions",
    "meadow",
    "merged",
    "placements",
    "poisson_positions",
    "pole",
    "root",
    "root_mesh",
    "shrub",
    "spaced_positions",
    "stems",
    "street",
    "tilings",
    "tree",
    "wall",
]
