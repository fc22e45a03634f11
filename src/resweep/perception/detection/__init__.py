"""A bird's-eye detector: a small network that finds vehicles."""
