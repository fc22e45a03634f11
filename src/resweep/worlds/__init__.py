"""What a place is made of: layers of geometry that lower themselves to what the tracer knows."""

from resweep.worlds.layers import Instances, Layer, Material, Mesh, Splats, Volumes
from resweep.worlds.load import load_world
from resweep.worlds.stream.streamed import StreamedWorld
from resweep.worlds.world import World

__all__ = ["Instances", "Layer", "Material", "Mesh", "Splats", "StreamedWorld", "Volumes", "World", "load_world"]
