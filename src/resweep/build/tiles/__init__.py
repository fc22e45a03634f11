"""Builds of any length: a log is scattered over square tiles on disk, and each tile is built by itself."""
