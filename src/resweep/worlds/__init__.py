"""What a place is made of: layers of geometry that lower themselves to what the tracer knows."""

from resweep.worlds.layers.mesh import Instances, Material, Mesh
from resweep.worlds.layers.splats import Splats
from resweep.worlds.layers.volumes import Volumes
from resweep.worlds.store.folder import load_world
from resweep.worlds.stream.streamed import StreamedWorld
from resweep.worlds.world import Layer, World

__all__ = ["Instances", "Layer", "Material", "Mesh", "Splats", "StreamedWorld", "Volumes", "World", "load_world"]
