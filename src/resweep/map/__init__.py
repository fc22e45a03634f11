"""A log as a map: points and beams around one origin, without what moves."""
