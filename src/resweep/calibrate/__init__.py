"""Errors of a sensor and of its poses, estimated from a recording."""
