"""Figures of a sensor from its recordings: noise, lasers, detection, minimum range, second returns."""
