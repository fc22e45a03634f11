"""Every reader that is fuzzed, by name."""

from __future__ import annotations

from tests.fuzz import samples_datasets, samples_models, samples_own, samples_sweeps
from tests.fuzz.reader import Reader

READERS: dict[str, Reader] = {
    reader.name: reader
    for reader in (
        *samples_sweeps.READERS,
        *samples_datasets.READERS,
        *samples_own.READERS,
        *samples_models.READERS,
    )
}
