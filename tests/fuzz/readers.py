"""Every reader that is fuzzed, by name."""

from __future__ import annotations

from tests.fuzz import samples_datasets, samples_models, samples_own, samples_settings, samples_sweeps, samples_work
from tests.fuzz.reader import Reader

READERS: dict[str, Reader] = {
    reader.name: reader
    for samples in (samples_sweeps, samples_datasets, samples_own, samples_models, samples_settings, samples_work)
    for reader in samples.READERS
}
