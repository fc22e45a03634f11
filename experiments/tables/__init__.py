"""The parts of `experiments.d_tables`: a synthetic city, paired scenes on disk, networks, and how they are scored."""
