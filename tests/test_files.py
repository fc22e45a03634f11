"""Files appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.files import write_file


@pytest.mark.parametrize("sparse", [False, True])
def test_a_file_reads_as_it_was_written(tmp_path: Path, sparse: bool) -> None:
    for values in (np.zeros((9000, 3), "<f4"), np.arange(5000, dtype="<f8"), np.zeros(0, "<f4")):
        mixed = values.copy()
        mixed[1500:1600] = 7
        for data in (values, mixed):
            write_file(tmp_path / "new" / "a.bin", data, sparse=sparse)
            assert (tmp_path / "new" / "a.bin").read_bytes() == data.tobytes()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.bin"]


def test_a_part_that_a_killed_process_left_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "a.txt.part").write_bytes(b"half of a longer file")
    write_file(tmp_path / "a.txt", b"whole")
    assert (tmp_path / "a.txt").read_bytes() == b"whole"
    assert not (tmp_path / "a.txt.part").exists()


def test_a_write_that_fails_is_one_error_and_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_file(tmp_path / "a.txt", b"old")
    (tmp_path / "file").write_text("a file where a folder goes")
    with pytest.raises(ResweepError, match=r"file/b.txt: cannot be written \(.*\); check the folder"):
        write_file(tmp_path / "file" / "b.txt", b"new")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(ResweepError, match="No space left on device"):
        write_file(tmp_path / "a.txt", b"new")
    assert (tmp_path / "a.txt").read_bytes() == b"old"
