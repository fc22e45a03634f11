"""A world: layers around one origin."""

from __future__ import annotations

import numpy as np
import pytest

from resweep.calibration import Calibration
from resweep.errors import ResweepError
from resweep.labels import LabelSet, load_labels
from resweep.pose import from_xyz_rpy, transform
from resweep.worlds import Instances, Mesh, Splats, Volumes, World

KITTI, NUSCENES = load_labels("semantickitti"), load_labels("nuscenes-lidarseg")
CAR, ROAD, SIGN = (KITTI.id_of(name) for name in ("car", "road", "traffic sign"))


def triangle(x: float = 0.0, **attributes: object) -> Mesh:
    return Mesh([[x, 0, 0], [x + 1, 0, 0], [x, 1, 2]], [[0, 1, 2]], **attributes)


def positions(world: World) -> np.ndarray:
    """World coordinates of all vertices of the mesh layers."""
    return np.concatenate([layer.vertices.astype(np.float64) + world.origin for layer in world.layers])


def test_a_world_needs_a_layer_and_a_finite_origin() -> None:
    with pytest.raises(ResweepError, match="no layer"):
        World([])
    for origin in ((0, 0), (0, 0, np.nan)):
        with pytest.raises(ResweepError, match="origin must be three finite numbers"):
            World([triangle()], origin)


def test_the_origin_keeps_what_float32_cannot() -> None:
    world = World([triangle(0.123456)], origin=(500_000.1, 5_000_000.2, 0))
    np.testing.assert_allclose(world.bounds[0], [500_000.223456, 5_000_000.2, 0], atol=1e-7, rtol=0)


def test_adding_worlds_of_different_origins_leaves_everything_in_place() -> None:
    one = World([triangle(label=1)], origin=(500_000, 5_000_000, 0), meta={"source": "a", "x": 1})
    other = World([triangle(label=2)], origin=(500_010, 5_000_020, 30), meta={"source": "b", "y": 2})
    both = one + other
    np.testing.assert_array_equal(both.origin, one.origin)
    np.testing.assert_allclose(positions(both), np.r_[positions(one), positions(other)], atol=1e-5, rtol=0)
    assert [layer.label[0] for layer in both.layers] == [1, 2]
    assert both.meta == {"source": "a", "x": 1, "y": 2}
    assert both.n_triangles == 2


def test_adding_shares_layers_where_origins_agree() -> None:
    one, other = World([triangle()]), World([triangle(5)])
    assert (one + other).layers == (*one.layers, *other.layers)


def test_adding_something_else_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        World([triangle()]) + 3  # type: ignore[operator]


def test_moving_a_world_moves_every_point_rigidly() -> None:
    world = World([triangle(), triangle(7)], origin=(500_000, 5_000_000, 0))
    motion = from_xyz_rpy(10, -20, 3, 0.1, -0.2, 2.0)
    np.testing.assert_allclose(positions(world.moved(motion)), transform(motion, positions(world)), atol=1e-5, rtol=0)
    with pytest.raises(ResweepError, match="not a rigid motion"):
        world.moved(np.diag([2.0, 2, 2, 1]))


def test_bounds_cover_all_layers() -> None:
    copies = Instances(triangle(), np.c_[np.eye(3), [10, 20, 30]])
    world = World([triangle(-5), copies], origin=(100, 0, 0))
    np.testing.assert_allclose(world.bounds, [[95, 0, 0], [111, 21, 32]])


def test_repr_tells_kinds_and_size() -> None:
    world = World([triangle(name="roof"), Instances(triangle(name="tile"), np.c_[np.eye(3), [0, 0, 0]])])
    assert repr(world) == "World(mesh 'roof', instances 'tile'; 2 primitives; 1.0 x 1.0 x 2.0 m)"


def test_a_calibration_stays_with_the_world_that_was_recorded() -> None:
    lasers = Calibration([0.001, -0.002], [0.01, 0.02])
    world = World([triangle()], calibration=lasers)
    assert World([triangle()]).calibration is None
    assert world.moved(from_xyz_rpy(1.0, yaw=0.3)).calibration is lasers
    assert (world + World([triangle(5.0)])).calibration is lasers
    assert (World([triangle(5.0)]) + world).calibration is None


def test_a_world_without_labels_takes_those_of_the_other() -> None:
    bare, street = World([triangle()]), World([triangle(label=ROAD)], labels="semantickitti")
    assert (bare + street).labels == (street + bare).labels == KITTI
    assert (bare + World([triangle()], labels="none")).labels.name == "none"
    foreign = World([triangle(label=7)])
    assert (bare + foreign).labels.name == (foreign + bare).labels.name == (foreign + foreign).labels.name == "unknown"


def test_labels_of_another_vocabulary_are_mapped_when_worlds_are_added() -> None:
    copies = Instances(triangle(label=ROAD), np.tile(np.c_[np.eye(3), [0, 0, 0]], (2, 1, 1)), label=[-1, CAR])
    discs = Splats(np.zeros((2, 3)), np.tile([0.0, 0, 1], (2, 1)), np.ones(2), label=[CAR, SIGN])
    leaves = Volumes(np.zeros((1, 3)), np.array([[1.0, 0, 0, 1, 0, 1]]), 0.5, label=KITTI.id_of("vegetation"))
    one = World([triangle(label=NUSCENES.id_of("vehicle.car"))], labels=NUSCENES)
    other = World([triangle(label=CAR), copies, copies, discs, leaves], origin=(5, 0, 0), labels=KITTI)
    both = one + other
    assert both.labels == NUSCENES
    car, road = NUSCENES.id_of("vehicle.car"), NUSCENES.id_of("flat.driveable_surface")
    made, manmade = both.layers, NUSCENES.id_of("static.manmade")
    assert made[0].label.tolist() == made[1].label.tolist() == [car]
    assert made[2].label.tolist() == [-1, car]
    assert made[2].mesh.label.tolist() == [road]
    assert made[4].label.tolist() == [car, manmade]
    assert made[5].label.tolist() == [NUSCENES.id_of("static.vegetation")]
    assert other.layers[1].mesh.label.tolist() == [ROAD]  # what was added is as it was


def test_copies_of_one_mesh_share_it_after_relabelling() -> None:
    mesh = triangle(label=ROAD)
    world = World([Instances(mesh, np.c_[np.eye(3), [x, 0, 0]]) for x in (0, 5)], labels=KITTI).relabelled(NUSCENES)
    assert world.layers[0].mesh is world.layers[1].mesh
    assert world.layers[0].mesh.vertices is mesh.vertices


@pytest.mark.parametrize("known_first", [True, False])
def test_labels_of_unknown_meaning_cannot_be_added_to_known_ones(known_first: bool) -> None:
    street, foreign = World([triangle(label=ROAD)], labels=KITTI), World([triangle(label=7)])
    one, other = (street, foreign) if known_first else (foreign, street)
    with pytest.raises(ResweepError, match=r"unknown meaning.* semantickitti's; .*labels='semantickitti'"):
        one + other


def test_a_saved_vocabulary_adds_to_the_one_of_today() -> None:
    older = LabelSet(name="semantickitti", classes={label: KITTI.classes[label] for label in (CAR, ROAD)})
    both = World([triangle(label=CAR)], labels=older) + World([triangle(label=SIGN)], labels=KITTI)
    assert [layer.label[0] for layer in both.layers] == [CAR, SIGN]


def test_labels_are_counted_in_every_copy() -> None:
    transforms = np.tile(np.c_[np.eye(3), [0, 0, 0]], (3, 1, 1))
    copies = Instances(triangle(label=ROAD), transforms, label=[-1, -1, CAR])
    assert World([triangle(label=100_000), triangle(), copies]).label_counts == {0: 1, CAR: 1, ROAD: 2, 100_000: 1}
