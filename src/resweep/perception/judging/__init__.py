"""A frozen model reads recorded sweeps and their simulated pairs."""
