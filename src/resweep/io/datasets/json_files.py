"""JSON files of datasets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from resweep.errors import ResweepError


def read_json(path: Path) -> Any:
    """The contents of a JSON file."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise ResweepError(f"{path}: cannot be read ({error.strerror or error}); is the dataset complete?") from error
    except ValueError as error:
        raise ResweepError(f"{path}: damaged or not JSON ({error}); fetch it again") from error
