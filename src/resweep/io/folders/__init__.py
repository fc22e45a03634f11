"""A folder of sweep files as a log: reading it, its poses, its faults, and writing it sweep by sweep."""
