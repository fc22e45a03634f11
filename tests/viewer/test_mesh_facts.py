"""Facts of meshes that are damaged: one error that names the file, and no figure that is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from resweep.errors import ResweepError
from resweep.viewer.describe import describe

HEAD = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
FACES = "element face 1\nproperty list uchar int vertex_indices\nend_header\n"
BODY = "0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"


def test_a_whole_mesh(tmp_path: Path) -> None:
    (tmp_path / "m.ply").write_text(HEAD + FACES + BODY)
    assert describe(tmp_path / "m.ply")["triangles"] == 1


@pytest.mark.parametrize(
    ("head", "body", "message"),
    [
        (HEAD, BODY.replace("3 0 1 2", "3 0 1 9"), "a face points at vertex 9 of 3"),
        (HEAD, BODY.replace("3 0 1 2", "3 0 1 -1"), "a face points at vertex -1 of 3"),
        (HEAD, BODY.replace("3 0 1 2", "0"), "holds no triangles"),
        (HEAD, BODY.replace("3 0 1 2", "2 0 1"), "holds no triangles"),
        (HEAD, BODY.replace("0 1 0", "0 nan 0"), "vertices: coordinate 2 is NaN"),
        (HEAD, BODY.replace("0 1 0", "0 1e30 0"), r"vertices: coordinate 2 is 1e\+30"),
        (HEAD.replace("vertex 3", "vertex 0"), BODY, "holds no triangles|cannot be read|vertex"),
    ],
)
def test_a_damaged_mesh(head: str, body: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "m.ply").write_text(head + FACES + body)
    with pytest.raises(ResweepError, match=rf"m\.ply: .*({message})"):
        describe(tmp_path / "m.ply")


def test_vertices_of_one_coordinate(tmp_path: Path) -> None:
    (tmp_path / "m.obj").write_text("v 0\nv 1\nv 2\nf 1 2 3\n")
    with pytest.raises(ResweepError, match=r"m\.obj: "):
        describe(tmp_path / "m.obj")
