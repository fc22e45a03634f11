"""Sizes of memory as users write them."""

from __future__ import annotations

import pytest

from resweep.errors import ResweepError
from resweep.files.untrusted import total_memory
from resweep.memory import format_memory, parse_memory


@pytest.mark.parametrize(
    ("text", "size"),
    [("4GB", 4e9), ("4G", 4e9), ("512MiB", 2**29), (" 1.5 gb ", 1.5e9), ("300000000", 3e8), ("1TB", 1e12)],
)
def test_a_size_is_read_in_its_unit(text, size):
    assert parse_memory(text) == size


def test_the_default_is_half_of_the_machine():
    assert parse_memory(None) == total_memory() // 2


@pytest.mark.parametrize("text", ["", "four GB", "4 XB", "-1GB", "4GBs", "10MB", "nan"])
def test_what_is_no_size_is_refused_in_one_line(text):
    with pytest.raises(ResweepError) as caught:
        parse_memory(text)
    assert "\n" not in str(caught.value)


def test_sizes_are_shown_as_people_read_them():
    assert [format_memory(size) for size in (1.5e9, 2e6, 300)] == ["1.5 GB", "2.0 MB", "300 bytes"]
