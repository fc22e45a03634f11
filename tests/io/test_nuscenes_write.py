"""nuScenes as we write it: it reads back, tables have what the schema asks for, and datasets can be merged."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.spatial.transform import Rotation

from resweep.boxes import Boxes
from resweep.cli import main
from resweep.errors import ResweepError
from resweep.io import merge_nuscenes, open_log, write_log, write_sweep
from resweep.io.datasets.nuscenes.classes import LABELS, classify
from resweep.label_mapping import map_labels
from resweep.labels import NO_LABELS, load_labels
from resweep.log import Log
from resweep.pose import from_xyz_rpy
from resweep.sensors import load_sensor
from resweep.sweep import Sweep


def make_log(count: int = 4, seed: int = 0, name: str = "drive", **facts: Any) -> Log:
    """A drive at UTM coordinates past a car that moves, one that stops and one that stands; labels of SemanticKITTI."""
    rng = np.random.default_rng(seed)
    sweeps = []
    for at in range(count):
        points = rng.uniform(-30, 30, (500, 3)) * [1, 1, 0.05]
        start = from_xyz_rpy(448_262.0 + 0.5 * at, 5_411_932.0, 260.5, yaw=0.4, pitch=0.02)
        boxes = Boxes(
            np.array([[10.0 - at, 3, 0], [-8.0, 2, 0], [5, -6, 0.2], [4.0, 9.0, 0]]),
            np.array([[4, 2, 1.5], [4.2, 1.8, 1.6], [1.8, 0.6, 1.7], [9, 2.5, 3.5]]),
            np.array([0.3, 3.0, -1.2, 0.0]),
            ["car", "van", "cyclist", "tram"],
            np.array([5, 7, 9, 11]),
            label=np.array([10, 10, 31, 16]),
            velocity=np.array([[-3.0, 1, 0], [2.0 if at == 0 else 0, 0, 0], [1.0, 0, 0], [0, 0, 0]]),
        )
        label = rng.choice([40, 48, 10, 31, 50, 16], 500)
        columns: dict[str, Any] = {"label": label, "intensity": rng.uniform(0, 1, 500), "ring": np.arange(500) % 16}
        sweep = Sweep.from_points(points, pose=start, timestamp=1_700_000_000.25 + 0.1 * at, **columns)
        sweeps.append(replace(sweep, boxes=boxes))
    return Log.from_sweeps(sweeps, name, **{"labels": load_labels("semantickitti"), **facts})


def read_tables(root: Path, version: str = "v1.0-resweep") -> dict[str, Any]:
    return {file.stem: json.loads(file.read_text()) for file in (root / version).glob("*.json")}


def list_files(root: Path) -> list[Path]:
    return sorted(path.relative_to(root) for path in root.rglob("*") if path.is_file())


@pytest.fixture
def made(tmp_path: Path) -> Path:
    with pytest.warns(UserWarning, match="nuScenes has no class") as caught:
        write_log(make_log(sensor=load_sensor("velodyne-vlp-16")), tmp_path / "out", format="nuscenes", progress=False)
    assert sorted(str(item.message).partition("these ")[2] for item in caught) == [
        "boxes, which are now noise: tram",
        "labels, which are now noise: on rails",
    ]
    return tmp_path / "out"


def test_a_written_log_reads_back(made: Path) -> None:
    log = make_log()
    back = open_log(made, empty_beams=False)
    assert (back.name, back.labels, back.sensor) == ("drive", LABELS, load_sensor("velodyne-vlp-16"))
    np.testing.assert_array_equal(back.times, log.times)
    np.testing.assert_allclose(back.poses, log.poses, atol=2e-9)
    expected = map_labels("semantickitti", LABELS)
    for one, other in zip(log, back, strict=True):
        np.testing.assert_allclose(other.points, one.points, atol=1e-5)
        np.testing.assert_array_equal(other.label, expected.map(one.label))
        np.testing.assert_array_equal(other.ring, one.ring)
        np.testing.assert_allclose(other.intensity, one.intensity, rtol=1e-6)
        boxes, old = other.boxes, one.boxes
        assert boxes is not None
        assert old is not None
        # Upright in the world, a box lies askew in a tilted sensor; its place and size come back exactly.
        np.testing.assert_allclose(boxes.centre, old.centre, atol=1e-6)
        np.testing.assert_allclose(boxes.yaw, old.yaw, atol=1e-6)
        for column in ("size", "track", "velocity"):
            np.testing.assert_array_equal(getattr(boxes, column), getattr(old, column))
        np.testing.assert_array_equal(boxes.n_points, old.count_points(one.deskewed()))
        assert boxes.name == ("vehicle.car", "vehicle.car", "vehicle.bicycle", "noise")
        assert boxes.label.tolist() == [17, 17, 14, 0]


def test_tables_have_what_the_schema_asks_for(made: Path) -> None:
    tables = read_tables(made)
    assert [row["index"] for row in tables["category"]] == list(range(32))
    assert tables["splits"] == {"all": ["drive"]}
    by_token = {table: {row["token"]: row for row in rows} for table, rows in tables.items() if table != "splits"}
    for table, rows in by_token.items():
        assert len(rows) == len(tables[table]), table
        for row in rows.values():
            for field, value in row.items():  # every foreign key leads to a record
                other = {"first_sample": "sample", "last_sample": "sample"}.get(field.removesuffix("_token"))
                other = other or field.removesuffix("_token").replace("first_a", "sample_a").replace(
                    "last_a", "sample_a"
                )
                if field.endswith("_token") and value:
                    assert value in by_token[other], field
    samples = tables["sample"]
    assert [row["next"] for row in samples] == [row["token"] for row in samples[1:]] + [""]
    assert [row["prev"] for row in samples] == [""] + [row["token"] for row in samples[:-1]]
    for instance in tables["instance"]:
        token, count = instance["first_annotation_token"], 1
        while (token := by_token["sample_annotation"][token]["next"]) != "":
            count, last = count + 1, token
        assert (count, last) == (instance["nbr_annotations"], instance["last_annotation_token"])
    names = {row["token"]: row["name"] for row in tables["attribute"]}
    of_track = {row["token"]: row["track"] for row in tables["instance"]}
    found: dict[int, list[str]] = {}
    for row in tables["sample_annotation"]:
        found.setdefault(of_track[row["instance_token"]], []).extend(names[name] for name in row["attribute_tokens"])
    assert found == {
        5: ["vehicle.moving"] * 4,
        7: ["vehicle.moving"] + ["vehicle.stopped"] * 3,
        9: ["cycle.with_rider"] * 4,
        11: [],  # of a class that nuScenes does not have
    }
    assert tables["log"][0]["date_captured"] == "2023-11-14"
    (row,) = tables["map"]
    assert (made / row["filename"]).is_file()
    assert row["log_tokens"] == [tables["log"][0]["token"]]


def test_scans_have_the_units_of_nuscenes(made: Path) -> None:
    rows = np.concatenate([np.fromfile(file, "<f4") for file in (made / "samples/LIDAR_TOP").iterdir()]).reshape(-1, 5)
    assert rows[:, 3].max() == pytest.approx(255, abs=1)
    assert rows[:, 3].min() >= 0
    tables = read_tables(made)
    places = np.array([row["translation"] for row in tables["ego_pose"] + tables["sample_annotation"]])
    assert places[:, :2].min() > 100  # on the map, which begins at the origin
    assert places[:, :2].max() < 400


@pytest.mark.filterwarnings("ignore:.*no class")
@pytest.mark.parametrize(
    ("top", "scale"), [(0.9, 255.0), (1.3, 255.0), (90.0, 1.0), (4000.0, 255 / 4095), (40_000.0, 255 / 65535)]
)
def test_intensities_end_at_255(top: float, scale: float, tmp_path: Path) -> None:
    def dim(sweep: Sweep) -> Sweep:
        bright = np.where(np.arange(len(sweep)) == 7, 5.0, 1.0)  # a retroreflector
        return replace(sweep, intensity=(sweep.intensity * top * bright).astype(np.float32))

    log = make_log(2, labels=NO_LABELS).map(dim)
    write_log(log, tmp_path / "out", format="nuscenes", progress=False)
    file = min((tmp_path / "out/samples/LIDAR_TOP").iterdir())
    stored = np.fromfile(file, "<f4").reshape(-1, 5)[:, 3]
    np.testing.assert_allclose(stored, np.minimum(log[0].intensity * scale, 255), rtol=1e-5)
    with pytest.raises(ResweepError, match="intensity_scale"):
        write_log(log, tmp_path / "none", format="nuscenes", progress=False, intensity_scale=0.0)


def test_the_mask_shows_the_ground_that_was_seen(made: Path) -> None:
    tables = read_tables(made)
    image = Image.open(made / tables["map"][0]["filename"])
    assert image.mode == "L"
    mask = np.array(image)[::-1]  # the first row is the southernmost
    assert set(np.unique(mask)) == {0, 255}
    log = make_log()
    points = np.concatenate([sweep.world_points()[np.isin(sweep.label, [40, 48])] for sweep in log])
    pixel = ((points[:, :2] - tables["scene"][0]["resweep"]["origin_m"]) / 0.1).astype(int)
    assert (mask[pixel[:, 1], pixel[:, 0]] == 255).all()
    assert 0 < (mask == 255).sum() <= 25 * len(points)


def test_times_from_zero_begin_at_a_time_of_their_own(tmp_path: Path) -> None:
    starts = []
    for seed in range(2):
        log = make_log(2, seed, labels=NO_LABELS).map(lambda sweep: replace(sweep, boxes=None))
        log = replace(log, times=np.array([0.0, 0.1]))
        write_log(log, tmp_path / str(seed), format="nuscenes", progress=False)
        tables = read_tables(tmp_path / str(seed))
        stamps = [row["timestamp"] for row in tables["sample"]]
        assert stamps[1] - stamps[0] == 100_000
        assert tables["log"][0]["date_captured"] == "1970-01-01"
        np.testing.assert_array_equal(open_log(tmp_path / str(seed)).times, [0.0, 0.1])
        starts.append(stamps[0])
    assert starts[0] != starts[1]


def test_cameras_show_the_returns(made: Path) -> None:
    """Each lit pixel is where the camera's record puts a return; the six see all around."""
    tables = read_tables(made)
    channel = {row["token"]: row["channel"] for row in tables["sensor"]}
    mounts = {row["token"]: row for row in tables["calibrated_sensor"]}
    points, seen = make_log()[0].points, np.zeros(500, int)
    first = tables["sample"][0]["token"]
    rows = [row for row in tables["sample_data"] if row["sample_token"] == first and row["fileformat"] == "png"]
    assert len(rows) == 6
    for row in rows:
        mount = mounts[row["calibrated_sensor_token"]]
        assert row["filename"].startswith(f"samples/{channel[mount['sensor_token']]}/")
        w, *xyz = mount["rotation"]
        there = Rotation.from_quat([*xyz, w]).inv().apply(points) @ np.array(mount["camera_intrinsic"]).T
        pixels = there[:, :2] / there[:, 2:]
        inside = (there[:, 2] > 0.1) & ((pixels > 0) & (pixels < [row["width"], row["height"]])).all(axis=1)
        image = np.array(Image.open(made / row["filename"]))
        assert image.shape == (row["height"], row["width"])
        column, line = pixels[inside].astype(int).T
        assert (image[line, column] > 0).all()
        assert inside.sum() <= (image > 0).sum() * 1.5
        assert (image > 0).sum() <= 4 * inside.sum()
        seen += inside
    level = np.abs(points[:, 2]) < 0.2 * np.linalg.norm(points[:, :2], axis=1)
    assert (seen[level] > 0).all()


def test_sweeps_without_boxes_or_labels_lie_between_keyframes(tmp_path: Path) -> None:
    log = make_log(5, labels=NO_LABELS)
    sweeps = [replace(sweep, boxes=sweep.boxes if at in (1, 3) else None) for at, sweep in enumerate(log)]
    bare = Log.from_sweeps(sweeps, "drive", labels=NO_LABELS)
    with pytest.warns(UserWarning, match="tram"):
        write_log(bare, tmp_path / "out", format="nuscenes", progress=False, cameras=False)
    tables = read_tables(tmp_path / "out")
    assert [row["channel"] for row in tables["sensor"]] == ["LIDAR_TOP"]
    first, last = (row["token"] for row in tables["sample"])
    data = tables["sample_data"]
    assert [row["is_key_frame"] for row in data] == [False, True, False, True, False]
    assert [row["sample_token"] for row in data] == [first, first, last, last, last]  # the sample that follows
    assert [row["filename"].split("/")[0] for row in data] == ["sweeps", "samples", "sweeps", "samples", "sweeps"]
    assert "lidarseg" not in tables
    back = open_log(tmp_path / "out", empty_beams=False)
    assert [sweep.boxes is None for sweep in back] == [True, False, True, False, True]


@pytest.mark.filterwarnings("ignore:.*no class")
def test_no_two_logs_share_a_token(tmp_path: Path) -> None:
    """Tokens depend on all contents: two logs put together are a valid set. The same log gives the same bytes."""
    logs = {"a": make_log(), "again": make_log(), "seed": make_log(seed=1), "name": make_log(name="other")}
    last = list(make_log())
    logs["last sweep"] = Log.from_sweeps([*last[:3], replace(last[3], label=last[3].label * 0 + 40)], "drive")
    logs["last sweep"] = replace(logs["last sweep"], labels=load_labels("semantickitti"))
    for name, log in logs.items():
        write_log(log, tmp_path / name, format="nuscenes", progress=False)
    files = {
        name: sorted(p.relative_to(tmp_path / name) for p in (tmp_path / name).rglob("*") if p.is_file())
        for name in logs
    }
    assert files["a"] == files["again"]
    assert all((tmp_path / "a" / file).read_bytes() == (tmp_path / "again" / file).read_bytes() for file in files["a"])
    common = {"attribute", "category", "sensor", "visibility", "splits"}
    seen: dict[str, str] = {}
    for name in ("a", "seed", "name", "last sweep"):
        for table, rows in read_tables(tmp_path / name).items():
            if table not in common:
                for token in {row["token"] for row in rows} if table != "lidarseg" else set():
                    assert seen.setdefault(f"{table} {token}", name) == name
    shared = set(files["a"]) & set(files["last sweep"])
    assert {path.parts[0] for path in shared} <= {"v1.0-resweep", "log.json"}


def test_labels_of_unknown_meaning_are_left_out(log: Log, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="the meaning of its labels is unknown, so they are left out"):
        write_log(log, tmp_path / "out", format="nuscenes", progress=False)
    assert not (tmp_path / "out" / "lidarseg").exists()


def test_what_cannot_be_written_is_refused(log: Log, tmp_path: Path) -> None:
    with pytest.raises(ResweepError, match="can only be read"):
        write_sweep(log[0], tmp_path / "s.pcd.bin")
    with pytest.raises(ResweepError, match=r"version 'mini': nuScenes' versions are called v1\.0-mini"):
        write_log(log, tmp_path / "out", format="nuscenes", progress=False, version="mini")
    near = replace(log, times=log.times[0] + np.array([0, 2e-7, 1.0]))
    with pytest.raises(ResweepError, match="two sweeps within a microsecond"):
        write_log(near, tmp_path / "out", format="nuscenes", progress=False)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "label", "expected"),
    [
        ("Car", 0, "vehicle.car"),
        ("REGULAR_VEHICLE", 0, "vehicle.car"),
        ("Pedestrian", 0, "human.pedestrian.adult"),
        ("human.pedestrian.child", 0, "human.pedestrian.child"),
        ("Cyclist", 0, "vehicle.bicycle"),
        ("Van", 10, "vehicle.car"),
        ("cone", 99, "movable_object.trafficcone"),  # SemanticKITTI calls it another object
        ("the one behind", 18, "vehicle.truck"),  # the name of a simulated actor
        ("car carrier", 18, "vehicle.truck"),
        ("Tram", 0, "noise"),
    ],
)
def test_classes_of_every_spelling_become_those_of_nuscenes(name: str, label: int, expected: str) -> None:
    assert classify(name, label, load_labels("semantickitti")) == expected


@pytest.mark.filterwarnings("ignore:.*no class")
def test_datasets_are_merged_into_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, seed in (("a", 0), ("b", 1)):
        write_log(make_log(seed=seed), tmp_path / name, format="nuscenes", progress=False)
    file = tmp_path / "b/v1.0-resweep/splits.json"
    file.write_text(json.dumps({"all": ["drive"], "mine": ["drive"]}))
    with pytest.raises(SystemExit) as ended:
        main(["merge", str(tmp_path / "a"), str(tmp_path / "b"), "-o", str(tmp_path / "both")])
    assert ended.value.code == 0
    assert "both: 8 samples in 2 scenes: drive, drive-2" in capsys.readouterr().out
    both, one = read_tables(tmp_path / "both"), read_tables(tmp_path / "a")
    assert both["splits"] == {"all": ["drive", "drive-2"], "mine": ["drive-2"]}
    del one["splits"]
    for table, rows in one.items():
        common = table in ("attribute", "category", "sensor", "visibility")
        assert len(both[table]) == (1 if common else 2) * len(rows), table
    for scene, seed in (("drive", 0), ("drive-2", 1)):
        log, expected = open_log(tmp_path / "both", scene=scene, empty_beams=False), make_log(seed=seed)
        np.testing.assert_allclose(log.poses, expected.poses, atol=2e-9)
        np.testing.assert_array_equal(log.times, expected.times)
        np.testing.assert_allclose(log[3].points, expected[3].points, atol=1e-5)
    starts = [row["timestamp"] for row in both["sample"]][::4]
    assert starts == [1_700_000_000_250_000, 1_700_000_000_250_001]  # the devkit cannot list scenes that begin at once
    again = merge_nuscenes([tmp_path / "both", tmp_path / "a"], tmp_path / "again", progress=False)
    assert again.scenes == ("drive", "drive-2")  # what is there already comes in once
    assert list_files(tmp_path / "again") == list_files(tmp_path / "both")


@pytest.mark.filterwarnings("ignore:.*no class")
def test_what_cannot_be_merged_is_refused(tmp_path: Path) -> None:
    one, other, mini, out = (tmp_path / name for name in ("one", "other", "mini", "out"))
    write_log(make_log(), one, format="nuscenes", progress=False)
    write_log(make_log(seed=1), other, format="nuscenes", progress=False)
    write_log(make_log(), mini, format="nuscenes", progress=False, version="v1.0-mini", scene="scene-0103")
    with pytest.raises(ResweepError, match=r"of one version .*one has v1\.0-resweep, .*mini has v1\.0-mini"):
        merge_nuscenes([one, mini], out, progress=False)
    with pytest.raises(ResweepError, match="no nuScenes dataset"):
        merge_nuscenes([one, tmp_path], out, progress=False)
    with pytest.raises(ResweepError, match="exists and is not empty"):
        merge_nuscenes([one, mini], other, progress=False)
    file = other / "v1.0-resweep/map.json"
    whole = file.read_text()
    for name, error in (("../x.png", "outside of it"), ("/etc/hostname", "outside of it"), ("maps/x.png", "missing")):
        file.write_text(json.dumps([{**row, "filename": name} for row in json.loads(whole)]))
        with pytest.raises(ResweepError, match=error):
            merge_nuscenes([one, other], out, progress=False)
    assert not out.exists()
    rows = json.loads((one / "v1.0-resweep/ego_pose.json").read_text())
    (other / "v1.0-resweep/ego_pose.json").write_text(json.dumps([{**row, "timestamp": 0} for row in rows]))
    with pytest.raises(ResweepError, match=r"^\S*other: ego_pose .* differs from the record of that token"):
        merge_nuscenes([one, other], out, progress=False)


def test_damaged_tables_of_ours_are_named(made: Path) -> None:
    def spoil(table: str, key: str, value: Any) -> None:
        file = made / "v1.0-resweep" / f"{table}.json"
        rows = json.loads(file.read_text())
        file.write_text(json.dumps([{**rows[0], key: value}, *rows[1:]]))

    whole = read_tables(made)
    facts = whole["scene"][0]["resweep"]
    for table, key, value in (
        *(("sample_annotation", "velocity_mps", value) for value in (None, {}, [1.0, 2.0], "fast", [[], [], []])),
        *(("sample_annotation", "num_lidar_pts", value) for value in (None, 1.5, "many", 10**30, -7)),
        *(
            ("scene", "resweep", value)
            for value in ([], "x", 7, {}, {**facts, "origin_m": [1]}, {**facts, "sensor": 1})
        ),
        *(("scene", "resweep", {**facts, "intensity_scale": value}) for value in (0, -1, "x", None, 1e300)),
        *(("scene", "resweep", {**facts, "origin_m": value}) for value in (None, "xy", [1e300, 0], [None, 0], {})),
    ):
        spoil(table, key, value)
        with pytest.raises(ResweepError, match=f"{table}.json|damaged"):
            open_log(made)[0]
        (made / "v1.0-resweep" / f"{table}.json").write_text(json.dumps(whole[table]))
    spoil("instance", "track", "seven")  # then tracks are counted
    boxes = open_log(made)[0].boxes
    assert boxes is not None
    assert boxes.track.tolist() == [0, 1, 2, 3]
    for table, key, value in (("scene", "first_sample_token", 7), ("map", "filename", 7), ("category", "token", [])):
        spoil(table, key, value)
        with pytest.raises(ResweepError, match="damaged"):
            merge_nuscenes([made], made.parent / "merged", progress=False)
        (made / "v1.0-resweep" / f"{table}.json").write_text(json.dumps(whole[table]))
    (made / "v1.0-resweep" / "splits.json").write_text("[1]")
    with pytest.raises(ResweepError, match="damaged"):
        merge_nuscenes([made], made.parent / "merged", progress=False)
