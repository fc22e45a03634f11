"""Procedural places made of worlds."""
