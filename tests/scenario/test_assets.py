"""Assets and banks: what is imported stands where it should, what is saved comes back, and who fits best."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import trimesh

import resweep as rs
from resweep.categories import find_category
from resweep.pose import from_xyz_rpy
from resweep.scenario import Asset, Bank, load_bank
from resweep.scenario.coverage import estimate_coverage, estimate_known_share, interpolate_coverage
from resweep.scenes import ground_plane

KITTI = rs.load_labels("semantickitti")


def box_mesh(size=(4.0, 1.8, 1.5), at=(0.0, 0.0, 0.0)) -> trimesh.Trimesh:
    mesh = trimesh.creation.box(extents=size)
    mesh.apply_translation(at)
    return mesh


def wall(name: str, size=(4.0, 1.8, 1.5), side: float = 1.0, category: str = "car") -> Asset:
    """An object of which only its left (or right) flank is known."""
    x, z = np.meshgrid(np.linspace(-1.9, 1.9, 40), np.linspace(0.1, 1.4, 20))
    centre = np.stack([x.ravel(), np.full(x.size, side * size[1] / 2), z.ravel()], axis=1)
    normal = np.tile([0.0, side, 0.0], (x.size, 1))
    layer = rs.Splats(centre, normal, np.full(x.size, 0.06), 10, 0.4, extra={"intensity": np.full(x.size, 0.3)})
    return Asset(name, 10, category, size, (layer,), ("drive", 7), 800, {"sweeps": 3}, KITTI, mirrored=True)


def test_a_mesh_is_set_down_on_the_ground_in_the_middle_of_its_footprint():
    asset = Asset.from_mesh(box_mesh(at=(512345.0, 5412345.0, 120.0)), category="car", name="far-car")
    np.testing.assert_allclose(asset.world.bounds, [[-2, -0.9, 0], [2, 0.9, 1.5]], atol=1e-3)
    assert (asset.label, asset.category, asset.n_points) == (10, "car", 0)
    np.testing.assert_allclose(asset.size_m, (4.0, 1.8, 1.5), atol=1e-3)


@pytest.mark.parametrize("suffix", ["obj", "glb", "ply", "stl"])
def test_files_in_millimetres_with_y_up_and_the_front_elsewhere(tmp_path, suffix):
    mesh = box_mesh((1800.0, 1500.0, 4000.0))  # width, height, length: the front of a glTF model faces its z
    nose = box_mesh((100.0, 100.0, 200.0), (0.0, -700.0, 2100.0))
    path = tmp_path / f"my car.{suffix}"
    trimesh.util.concatenate([mesh, nose]).export(str(path))
    axes = {} if suffix == "glb" else {"up": "y", "forward": "-y"}  # glTF states both
    asset = Asset.from_mesh(path, category="Car", scale=0.001, label=252, reflectance=0.2, **axes)
    low, high = asset.world.bounds
    np.testing.assert_allclose(high - low, (4.2, 1.8, 1.5), atol=1e-3)
    assert asset.name == "my-car"
    vertices = np.concatenate([layer.vertices for layer in asset.layers])
    assert np.abs(vertices[vertices[:, 0] > 1.95][:, 1]).max() < 0.06  # the nose is in front
    assert all((layer.label == 252).all() and np.allclose(layer.reflectance, 0.2) for layer in asset.layers)


@pytest.mark.parametrize(
    ("size", "options", "hint"),
    [
        ((4000.0, 1800.0, 1500.0), {}, r"4,000 m long.*probably millimetres, give scale=0\.001"),
        ((430.0, 180.0, 150.0), {}, r"probably centimetres, give scale=0\.01"),
        ((0.004, 0.0018, 0.0015), {}, r"probably kilometres, give scale=1000"),
        ((1.8, 1.5, 4.0), {}, r"4\.00 m tall.*give up='y'"),
        ((1.8, 4.0, 1.5), {}, r"4\.00 m wide.*forward='-y'"),
        ((4.0, 1.8, 1.5), {"forward": "north"}, r"forward must be one of x, y, -x, -y"),
        ((4.0, 1.8, 1.5), {"name": "../car"}, r"asset name '\.\./car'"),
    ],
)
def test_mistakes_of_an_import_come_with_a_hint(size, options, hint):
    with pytest.raises(rs.ResweepError, match=hint):
        Asset.from_mesh(box_mesh(size), category="car", **options)


def test_dataset_classes_are_called_alike():
    names = {
        "car": ["Car", "REGULAR_VEHICLE", "vehicle.car", "Pickup Truck"],
        "truck": ["Truck", "BOX_TRUCK", "TRUCK_CAB", "vehicle.truck", "Semi-truck", "LARGE_VEHICLE"],
        "bus": ["BUS", "ARTICULATED_BUS", "SCHOOL_BUS", "vehicle.bus.rigid"],
        "trailer": ["VEHICULAR_TRAILER", "vehicle.trailer", "Towed Object"],
        "pedestrian": ["Pedestrian", "Person (sitting)", "human.pedestrian.adult", "STROLLER"],
        "cyclist": ["Cyclist", "BICYCLIST", "WHEELED_RIDER"],
        "bicycle": ["BICYCLE", "vehicle.bicycle"],
        "motorcycle": ["MOTORCYCLE", "vehicle.motorcycle"],
        "motorcyclist": ["MOTORCYCLIST"],
        "cone": ["CONSTRUCTION_CONE", "movable_object.trafficcone", "Cones"],
    }
    for category, spelt in names.items():
        assert {name: find_category(name).name for name in spelt} == dict.fromkeys(spelt, category)
    assert find_category("Misc").name == "misc"
    assert find_category("Misc").label(KITTI) == KITTI.id_of("other object")


@pytest.mark.parametrize(
    ("category", "vocabulary", "name"),
    [
        ("car", "semantickitti", "car"),
        ("van", "semantickitti", "car"),
        ("tram", "semantickitti", "on rails"),
        ("construction vehicle", "semantickitti", "other vehicle"),
        ("bollard", "semantickitti", "other object"),
        ("car", "nuscenes-lidarseg", "vehicle.car"),
        ("barrier", "nuscenes-lidarseg", "movable_object.barrier"),
        ("cyclist", "argoverse2", "bicyclist"),
        ("pedestrian", "pandaset", "Pedestrian"),
        ("car", "asprs", "never classified"),
    ],
)
def test_a_category_has_the_label_of_its_class_in_any_vocabulary(category, vocabulary, name):
    labels = rs.load_labels(vocabulary)
    assert find_category(category).label(labels) == labels.id_of(name)


def test_an_asset_bears_the_label_of_the_world_it_is_placed_in():
    nuscenes, unknown = rs.load_labels("nuscenes-lidarseg"), rs.load_labels("unknown")
    stock = rs.scenario.builtin_bank()["bus"]
    assert (stock.labels.name, stock.label) == ("semantickitti", KITTI.id_of("bus"))
    assert stock.label_in(nuscenes) == nuscenes.id_of("vehicle.bus.rigid")
    assert stock.label_in(KITTI) == stock.label_in(unknown) == stock.label
    moving = replace(stock, label=KITTI.id_of("moving bus"))
    assert moving.label_in(KITTI) == moving.label
    assert moving.label_in(nuscenes) == nuscenes.id_of("vehicle.bus.rigid")
    foreign = replace(stock, label=7, labels=unknown)  # ids of unknown meaning: the category decides
    assert foreign.label_in(KITTI) == KITTI.id_of("bus")
    assert (foreign.world + foreign.world).labels == unknown


def test_a_scenario_places_actors_in_the_vocabulary_of_the_world():
    scenario = rs.Scenario(ego={"at": [0, 0]}, duration_s=1, actors=[{"name": "a", "asset": "bus", "at": [12, 0]}])
    nuscenes = rs.load_labels("nuscenes-lidarseg")
    ground = ground_plane((60, 60), label=nuscenes.id_of("flat.driveable_surface"))
    world = rs.World([ground], labels=nuscenes)
    (actor,) = scenario.make_actors(world)
    assert actor.label == nuscenes.id_of("vehicle.bus.rigid")
    log = rs.Simulator(world, "velodyne-vlp-16", actors=[actor]).run(from_xyz_rpy(z=1.7)[None])
    assert log.labels == nuscenes
    assert set(nuscenes.count(log[0].label)) == {"flat.driveable_surface", "vehicle.bus.rigid"}


def test_actors_bring_their_vocabulary_to_a_world_without_labels():
    scenario = rs.Scenario(ego={"at": [0, 0]}, duration_s=1, actors=[{"name": "a", "asset": "bus", "at": [12, 0]}])
    bare = rs.World.from_mesh(trimesh.creation.box((60, 60, 0.1)))
    actors = scenario.make_actors(bare)
    simulator = rs.Simulator(bare, "velodyne-vlp-16", actors=actors)
    assert simulator.run(from_xyz_rpy(z=1.7)[None]).labels.name == "semantickitti"
    assert simulator.with_actors([]).run(from_xyz_rpy(z=1.7)[None]).labels.name == "none"
    foreign = replace(actors[0], labels=rs.load_labels("unknown"))
    assert simulator.with_actors([foreign]).run(from_xyz_rpy(z=1.7)[None]).labels.name == "unknown"
    labelled = rs.World.from_mesh(trimesh.creation.box((60, 60, 0.1)), label=7)  # of unknown meaning, and so stays all
    assert rs.Simulator(labelled, "velodyne-vlp-16", actors=actors).run(np.eye(4)[None]).labels.name == "unknown"


def test_coverage_knows_which_side_was_seen():
    left = estimate_coverage(wall("a").layers, (4.0, 1.8, 1.5))
    assert left[3] > 0.85  # 90 degrees counter-clockwise from the front
    assert left[9] == 0.0
    assert 0.5 * left[3] < interpolate_coverage(left, np.radians(75)) < left[3]
    whole = Asset.from_mesh(box_mesh(), category="car").coverage
    assert min(whole) > 0.95
    assert estimate_known_share(whole) == pytest.approx(1.0, abs=0.02)
    assert estimate_known_share(left) == pytest.approx(0.5, abs=0.02)
    assert np.isnan(estimate_known_share([0.0] * 12))


def test_the_best_fit_is_the_nearest_box_and_the_best_covered_side():
    bank = Bank([wall("left"), wall("right", side=-1.0), wall("long", (6.0, 2.0, 2.0)), wall("man", category="x")])
    assert bank.best_fit("car", (5.8, 2.0, 1.9)).name == "long"
    assert bank.best_fit("car", (4.0, 1.8, 1.5), heading_of_view=np.pi / 2).name == "left"
    assert bank.best_fit("car", (4.0, 1.8, 1.5), heading_of_view=-np.pi / 2).name == "right"
    assert [name for name, _ in bank.rank("car", (4.0, 1.8, 1.5))][:2] == ["left", "right"]
    assert bank.by_category("car") == ("left", "right", "long")
    with pytest.raises(rs.ResweepError, match="did you mean 'car'"):
        bank.best_fit("cat", (4.0, 1.8, 1.5))


def test_a_bank_comes_back_whole_and_reads_what_is_asked_for(tmp_path):
    bank_of_two = Bank([wall("left"), Asset.from_mesh(box_mesh(), category="truck", name="box")], {"log": "drive"})
    bank_of_two.save(tmp_path / "bank")
    bank = load_bank(tmp_path / "bank")
    assert list(bank) == ["left", "box"]
    assert bank.meta == {"log": "drive"}
    assert not bank._assets, "nothing is read yet"
    assert bank.facts("left")["n_points"] == 800
    with pytest.raises(rs.ResweepError, match=r"asset 'lefd': not in the bank; .*left"):
        bank.facts("lefd")
    again, asset = bank["left"], bank_of_two["left"]
    assert list(bank._assets) == ["left"]
    assert (again.name, again.label, again.category, again.size_m) == ("left", 10, "car", (4.0, 1.8, 1.5))
    assert (again.source, again.n_points, again.mirrored, again.meta) == (("drive", 7), 800, True, {"sweeps": 3})
    assert again.labels == KITTI
    assert bank.facts("left")["labels"] == "semantickitti"
    order, other = (np.lexsort(item.layers[0].centre.T) for item in (again, asset))
    for column in ("centre", "normal", "radius", "label", "reflectance"):
        np.testing.assert_array_equal(
            getattr(again.layers[0], column)[order], getattr(asset.layers[0], column)[other], column
        )
    np.testing.assert_allclose(again.coverage, asset.coverage, atol=1e-4)
    np.testing.assert_allclose(bank["box"].world.bounds, bank_of_two["box"].world.bounds)


def test_saving_keeps_what_is_there(tmp_path):
    Bank([wall("left")]).save(tmp_path / "bank")
    with pytest.raises(rs.ResweepError, match="exists already"):
        Bank([wall("b")]).save(tmp_path / "bank", overwrite=False)
    bank = load_bank(tmp_path / "bank")
    bank.save(tmp_path / "bank")  # onto itself, none of it read before
    assert list(load_bank(tmp_path / "bank")) == ["left"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("words")
    with pytest.raises(rs.ResweepError, match="is not a bank"):
        Bank([wall("b")]).save(tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").exists()
    assert sorted(item.name for item in tmp_path.iterdir()) == ["bank", "mine"]


def test_a_broken_bank_says_what_is_broken(tmp_path):
    with pytest.raises(rs.ResweepError, match="no such bank"):
        load_bank(tmp_path / "absent")
    with pytest.raises(rs.ResweepError, match=r"not a bank \(it has no bank\.json\)"):
        load_bank(tmp_path)
    Bank([wall("left")]).save(tmp_path / "bank")
    with pytest.raises(rs.ResweepError, match="did you mean 'left'"):
        load_bank(tmp_path / "bank")["lefty"]
    assert load_bank(tmp_path / "bank").get("lefty") is None
    (tmp_path / "bank" / "assets" / "left.world").rename(tmp_path / "elsewhere")
    with pytest.raises(rs.ResweepError, match=r"left\.world: missing"):
        load_bank(tmp_path / "bank")["left"]
    index = tmp_path / "bank" / "bank.json"
    data = json.loads(index.read_text())
    for broken, message in (({**data, "format_version": 99}, "format 99"), ({**data, "format": "x"}, "not a bank's")):
        index.write_text(json.dumps(broken))
        with pytest.raises(rs.ResweepError, match=message):
            load_bank(tmp_path / "bank")
    del data["assets"][0]["size_m"]
    index.write_text(json.dumps(data))
    with pytest.raises(rs.ResweepError, match=r"assets\[0\]: field 'size_m'"):
        load_bank(tmp_path / "bank")


def test_two_of_one_name_are_refused():
    with pytest.raises(rs.ResweepError, match="two assets are called 'a'"):
        Bank([wall("a"), wall("a")])


def test_older_banks_keep_what_is_mirrored_in_their_meta(tmp_path):
    file = Bank([wall("left")]).save(tmp_path / "bank") / "bank.json"
    data = json.loads(file.read_text())
    data["assets"][0]["meta"]["mirrored"] = data["assets"][0].pop("mirrored")
    file.write_text(json.dumps(data))
    assert load_bank(tmp_path / "bank")["left"].mirrored
