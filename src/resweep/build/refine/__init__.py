"""Worlds adjusted to the recorded beams after their first estimate, by likelihood."""
