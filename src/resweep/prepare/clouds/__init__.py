"""Clouds of surveys and of scanners on tripods: where they were measured from, and how they are built."""
