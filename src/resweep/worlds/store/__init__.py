"""Worlds on disk."""
