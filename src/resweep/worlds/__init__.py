"""What a place is made of: layers of geometry that lower themselves to what the tracer knows."""

from resweep.worlds.mesh import Instances, Material, Mesh
from resweep.worlds.splats import Splats
from resweep.worlds.store import load_world
from resweep.worlds.streamed import StreamedWorld
from resweep.worlds.volumes import Volumes
from resweep.worlds.world import Layer, World

__all__ = ["Instances", "Layer", "Material", "Mesh", "Splats", "StreamedWorld", "Volumes", "World", "load_world"]
