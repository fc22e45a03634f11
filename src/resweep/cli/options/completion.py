"""Names that a shell offers when a user presses Tab: sensors, methods, formats and views."""

from __future__ import annotations

from collections.abc import Iterable


def complete_sensors(incomplete: str) -> list[str]:
    """Names of the catalog; without their specs, so that it is quick."""
    from resweep.sensors.catalog import sensor_names

    return _keep_matching(sensor_names(), incomplete)


def complete_methods(incomplete: str) -> list[str]:
    """Names of the methods that build worlds."""
    from resweep.build.methods import METHODS, SHORT_NAMES

    return _keep_matching([*METHODS, *SHORT_NAMES], incomplete)


def complete_formats(incomplete: str) -> list[str]:
    """Names of the formats of logs."""
    from resweep.io import FORMATS

    return _keep_matching(FORMATS, incomplete)


def complete_views(incomplete: str) -> list[str]:
    """What a camera shows."""
    from resweep.viewer.camera import VIEWS

    return _keep_matching(VIEWS, incomplete)


def complete_cameras(incomplete: str) -> list[str]:
    """Kinds of cameras."""
    return _keep_matching(("pinhole", "panoramic", "above"), incomplete)


def _keep_matching(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
