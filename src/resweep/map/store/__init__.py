"""The map on disk: points and beams by square tile."""
