"""Formats of one file a sweep."""
