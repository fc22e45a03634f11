"""Triangle meshes over a map: the surface baselines of papers A and C."""
