"""The vehicle's body in a world: its wheels on the ground, and what it strikes."""

from resweep.drive.body.collisions import ActorContact, MapContact, find_actor_contact, find_map_contact
from resweep.drive.body.footing import Footing
from resweep.drive.body.solid import make_solid

__all__ = ["ActorContact", "Footing", "MapContact", "find_actor_contact", "find_map_contact", "make_solid"]
