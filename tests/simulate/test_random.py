"""The counter-based random numbers: kernel against reference, and their statistics."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

from resweep import _core
from resweep.simulate.philox import Purpose, key, normal, philox, uniform, words

# Known answers of Philox4x32-10, from the kat_vectors file of Random123: counter, key, result.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "keys", "expected"), KNOWN)
def test_reference_gives_the_published_answers(counter: tuple, keys: tuple, expected: tuple) -> None:
    assert philox(np.array(counter, dtype=np.uint32), *keys).tolist() == list(expected)


def test_kernel_gives_the_words_of_the_reference() -> None:
    rng = np.random.default_rng(0)
    edges = [(0, 0, 0, 0), (2**64 - 1, 2**64 - 1, 2**32 - 1, 2**32 - 1)]
    drawn = [
        (int(rng.integers(2**63)), int(rng.integers(2**40)), int(rng.integers(2**32)), int(rng.integers(1024)))
        for _ in range(500)
    ]
    for seed, sweep, beam, ray in edges + drawn:
        for purpose in Purpose:
            expected = words(seed, sweep, beam, ray, purpose).tolist()
            assert list(_core.philox(seed, sweep, beam, ray, int(purpose))) == expected


@pytest.mark.parametrize("count", [1, 3, 8, 63, 64, 65, 1000])
def test_many_beams_at_once_draw_as_each_does_alone(count: int) -> None:
    beams = np.random.default_rng(count).integers(0, 2**32, count, dtype=np.uint32)
    drawn = _core.draw_normals(2**63 + 5, 17, beams, 3, int(Purpose.RANGE_NOISE))
    alone = [_core.normal(_core.philox(2**63 + 5, 17, int(beam), 3, int(Purpose.RANGE_NOISE))[0]) for beam in beams]
    np.testing.assert_array_equal(drawn, alone)


def test_words_broadcast_over_beams_and_rays() -> None:
    table = words(7, 3, np.arange(5)[:, None], np.arange(4), Purpose.SPOT)
    assert table.shape == (5, 4, 4)
    assert table[3, 2].tolist() == list(_core.philox(7, 3, 3, 2, int(Purpose.SPOT)))


def test_neighbouring_seeds_and_sweeps_have_different_keys() -> None:
    keys = {key(seed, sweep) for seed in range(100) for sweep in range(100)}
    assert len(keys) == 10_000


def test_kernel_normal_is_the_inverse_distribution() -> None:
    rng = np.random.default_rng(1)
    tails = np.array([0, 1, 2, 1000, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1], dtype=np.uint32)
    drawn = np.r_[tails, rng.integers(0, 2**32, 20_000, dtype=np.uint32)]
    kernel = np.array([_core.normal(int(word)) for word in drawn])
    np.testing.assert_allclose(kernel, ndtri((drawn + 0.5) / 2.0**32), atol=1e-6, rtol=0)
    np.testing.assert_array_equal(normal(drawn), ndtri(uniform(drawn)))


def test_uniform_never_reaches_its_ends() -> None:
    low, high = uniform(np.array([0, 2**32 - 1], dtype=np.uint32))
    assert 0.0 < low < high < 1.0


@pytest.mark.parametrize("purpose", list(Purpose))
def test_words_are_uniform_and_independent(purpose: Purpose) -> None:
    # Four words, each tested alone and with its neighbour: eight tests a purpose, 32 in all.
    level = 0.001 / 32
    numbers = uniform(words(11, 2, np.arange(100_000), 1, purpose))
    for column in range(4):
        counts = np.bincount((numbers[:, column] * 64).astype(int), minlength=64)
        assert stats.chisquare(counts).pvalue > level
        cell = (numbers[:, [column, (column + 1) % 4]] * 16).astype(int)
        assert stats.chisquare(np.bincount(cell[:, 0] * 16 + cell[:, 1], minlength=256)).pvalue > level


def test_purposes_and_rays_and_sweeps_are_independent() -> None:
    beams = np.arange(100_000)
    base = uniform(words(11, 2, beams, 1, Purpose.SPOT)[:, 0])
    others = [
        words(11, 2, beams, 1, Purpose.POINTING),
        words(11, 2, beams, 2, Purpose.SPOT),
        words(11, 3, beams, 1, Purpose.SPOT),
        words(12, 2, beams, 1, Purpose.SPOT),
    ]
    for other in others:
        cell = (base * 16).astype(int) * 16 + (uniform(other[:, 0]) * 16).astype(int)
        assert stats.chisquare(np.bincount(cell, minlength=256)).pvalue > 0.001 / len(others)


def test_normal_numbers_are_normal() -> None:
    numbers = np.array([_core.normal(int(w)) for w in words(5, 0, np.arange(20_000), 0, Purpose.RANGE_NOISE)[:, 0]])
    assert stats.kstest(numbers, "norm").pvalue > 0.001
