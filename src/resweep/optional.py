"""Packages that only some formats need: imported when used, with an error that says how to install them."""

from __future__ import annotations

import importlib
from typing import Any

from resweep.errors import ResweepError


def require(module: str, what: str) -> Any:
    """The imported ``module``, or an error that says how to install what reads ``what``."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ResweepError(
            f"{what} needs the package '{package}' ({error}); install it with: pip install 'resweep[logs]'"
        ) from error
