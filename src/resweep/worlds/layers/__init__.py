"""The kinds of layer, one file each. A further kind is one class and one line here."""

from resweep.errors import InputError
from resweep.worlds.layers.instances import Instances
from resweep.worlds.layers.layer import Layer
from resweep.worlds.layers.mesh import Material, Mesh
from resweep.worlds.layers.splats import Splats
from resweep.worlds.layers.volumes import Volumes

KINDS: dict[str, type[Layer]] = {kind.kind: kind for kind in (Mesh, Instances, Splats, Volumes)}


def find_kind(name: str, where: str) -> type[Layer]:
    """The kind of layer of this name; ``where`` names the layer in errors."""
    if name not in KINDS:
        raise InputError(f"{where}: layers of kind '{name}' are unknown to this Resweep; upgrade it")
    return KINDS[name]


__all__ = ["KINDS", "Instances", "Layer", "Material", "Mesh", "Splats", "Volumes", "find_kind"]
