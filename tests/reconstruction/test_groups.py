"""Label maps and local descriptors: which points belong to which group."""

from __future__ import annotations

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.labels import Group, load_labels
from resweep.reconstruction.splats.descriptors import describe


def test_semantickitti_labels():
    groups = load_labels("semantickitti").group(np.array([40, 50, 80, 70, 51, 252, 9999]))
    expected = [Group.GROUND, Group.SURFACE, Group.LINEAR, Group.NON_SURFACE, Group.NON_SURFACE]
    assert groups.tolist() == [*expected, Group.UNKNOWN, Group.UNKNOWN]


def test_the_format_of_a_log_chooses_its_map():
    assert load_labels("auto", {"format": "nuscenes"}).name == "nuscenes-lidarseg"
    assert load_labels("auto", {"format": "argoverse2"}).name == "argoverse2"
    assert load_labels("auto", {"format": "pcd"}).name == "semantickitti"
    assert load_labels("nuscenes-lidarseg").group(np.array([24, 28, 30])).tolist() == [0, 1, 3]


def test_a_map_of_the_user(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\nground: [1]\nlinear: [2]\nmoving: [9]\n")
    mine = load_labels(str(file))
    assert mine.moving == (9,)
    assert mine.group(np.array([1, 2, 3])).tolist() == [Group.GROUND, Group.LINEAR, Group.UNKNOWN]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\ngruond: [1]\n", "did you mean 'ground'"),
        ("name: a\nground: [1]\nlinear: [1]\n", "label 1 is in ground too"),
        ("- 1\n", "expected keys"),
        ("ground: [\n", "not valid YAML"),
    ],
)
def test_mistakes_in_a_map_name_the_file(tmp_path, text, message):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(ResweepError, match=message) as caught:
        load_labels(str(file))
    assert "mine.yaml" in str(caught.value)


def test_unknown_map_names_the_known_ones():
    with pytest.raises(ResweepError, match="semantickitti"):
        load_labels("semantikitti")


def test_descriptors_tell_planes_lines_and_clouds():
    eigenvalues = np.array([[1.0, 0.9, 0.01], [1.0, 0.02, 0.01], [1.0, 0.9, 0.8]])
    assert describe(eigenvalues).tolist() == [Group.SURFACE, Group.LINEAR, Group.NON_SURFACE]
    assert describe(np.zeros((1, 3))).shape == (1,)
