"""Speed and memory, measured beside the raw floor and the peers in the same run.

Each module runs as ``python -m benchmarks.NAME [--fast] [--json] [--threads N]``.
"""
