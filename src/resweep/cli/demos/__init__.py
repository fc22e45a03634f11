"""The demos: the main job on a synthetic street or a log, and a meadow for three sensors."""
