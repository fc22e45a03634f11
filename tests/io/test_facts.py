"""What is known of a log: said by its reader, kept in log.json, and found again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import laspy
import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import open_log, write_log, write_sweep
from resweep.labels import NO_LABELS, UNKNOWN_LABELS, LabelClass, LabelSet, load_labels
from resweep.log import EmptyBeams, Log
from resweep.sensors import load_sensor
from resweep.sweep import Sweep

from .conftest import make_sweep
from .test_argoverse import make_argoverse1
from .test_kitti360 import make_dataset as make_kitti360
from .test_kitti_object import make_training
from .test_kitti_raw import make_drive
from .test_logs import OPTIONS, WRITABLE
from .test_nuscenes import make_dataset as make_nuscenes
from .test_pandaset import make_sequence

OWN_LABELS = LabelSet(
    name="mine", classes={0: LabelClass(name="nothing", unlabelled=True), 7: LabelClass(name="gate", group="linear")}
)
OWN_SENSOR = load_sensor("velodyne-hdl-32e").with_(
    name="my-lidar", rotation_rate_hz=5.0, **{"receiver.range_noise_sigma_m": 0.012, "beam.rays": "single"}
)
FACTS: dict[str, dict[str, Any]] = {
    "nuScenes": {"labels": load_labels("nuscenes-lidarseg"), "sensor": load_sensor("velodyne-hdl-64e")},
    "own": {"labels": OWN_LABELS, "sensor": OWN_SENSOR, "sensor_name": "front"},
    "unknown": {"labels": UNKNOWN_LABELS, "sensor": None, "poses_known": False, "times_known": False},
    "none": {"labels": NO_LABELS, "sensor": None, "sensor_name": ""},
}


@pytest.mark.parametrize("case", FACTS)
@pytest.mark.parametrize("format", WRITABLE)
def test_facts_come_back_from_every_layout(format: str, case: str, log: Log, tmp_path: Path) -> None:
    known = replace(log, **{"empty_beams": EmptyBeams("fired", "by a test"), "sensor_name": "", **FACTS[case]})
    write_log(known, tmp_path / "out", format=format, progress=False, **OPTIONS.get(format, {}))
    back = open_log(tmp_path / "out")
    for name in ("labels", "sensor", "sensor_name", "poses_known", "times_known"):
        assert getattr(back, name) == getattr(known, name), name
    if format == "sweep":
        assert back.empty_beams == EmptyBeams("fired", "by a test")
    else:  # the beams without return were not written
        assert back.empty_beams.source != "fired"
    again = tmp_path / "again"
    write_log(back, again, format="sweep", progress=False)
    assert (open_log(again).labels, open_log(again).sensor) == (known.labels, known.sensor)


def test_sweeps_of_whole_layouts_bear_the_name_in_the_record(log: Log, tmp_path: Path) -> None:
    for format in ("nuscenes", "semantickitti"):
        write_log(
            replace(log, sensor=OWN_SENSOR, sensor_name="my-lidar"), tmp_path / format, format=format, progress=False
        )
        assert open_log(tmp_path / format)[0].sensor == "my-lidar"


@pytest.fixture
def log() -> Log:
    sweeps = [make_sweep(seed, 1_700_000_000.25 + seed * 0.1) for seed in range(3)]
    return Log.from_sweeps([replace(sweep, label=sweep.label % 32) for sweep in sweeps], "drive")


def first_version(folder: Path, **meta: object) -> None:
    """Turn a log.json into one of version 1."""
    record = json.loads((folder / "log.json").read_text())
    for name in ("labels", "poses_known", "times_known", "empty_beams", "sensor_name"):
        del record[name]
    record |= {"version": 1, "sensor": "velodyne-hdl-32e", "meta": meta}
    (folder / "log.json").write_text(json.dumps(record))


def test_records_of_the_first_version_open(log: Log, tmp_path: Path) -> None:
    write_log(log, tmp_path / "out", format="sweep", progress=False)
    first_version(tmp_path / "out")
    back = open_log(tmp_path / "out")
    assert (back.labels, back.sensor) == (UNKNOWN_LABELS, load_sensor("velodyne-hdl-32e"))
    assert (back.poses_known, back.times_known, back.empty_beams.source) == (True, True, "unknown")
    spec = OWN_SENSOR.model_dump(mode="json", exclude_none=True)
    write_log(log, tmp_path / "own", format="sweep", progress=False)
    first_version(tmp_path / "own", sensor=spec, poses="unknown", times="assumed")
    back = open_log(tmp_path / "own")
    assert (back.sensor, back.sensor_name) == (OWN_SENSOR, "velodyne-hdl-32e")
    assert (back.poses_known, back.times_known) == (False, False)
    write_log(log, tmp_path / "odd", format="semantickitti", progress=False)
    first_version(tmp_path / "odd", sensor={"beams": 3})
    with pytest.warns(UserWarning, match="its sensor 'velodyne-hdl-32e' is unknown here"):
        back = open_log(tmp_path / "odd")
    assert back.sensor is None
    assert back.labels == load_labels("semantickitti")  # the layout says so


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("labels", {"name": "x", "classes": {"1": {"nam": "car"}}}, r"log\.json, labels: classes\.1\.nam: .*name"),
        ("sensor", {"name": "x"}, r"log\.json, sensor: "),
        (
            "empty_beams",
            {"source": "fird", "detail": ""},
            r"log\.json: .*source 'fird': did you mean 'fired'",
        ),
        ("empty_beams", None, r"log\.json: damaged"),
    ],
)
def test_damaged_facts_are_named(name: str, value: object, message: str, log: Log, tmp_path: Path) -> None:
    write_log(log, tmp_path / "out", format="sweep", progress=False)
    file = tmp_path / "out" / "log.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), name: value}))
    with pytest.raises(ResweepError, match=message):
        open_log(tmp_path / "out")


def test_a_single_sweep_file_keeps_the_facts_of_its_log(log: Log, tmp_path: Path) -> None:
    known = replace(log, labels=OWN_LABELS, sensor=OWN_SENSOR, empty_beams=EmptyBeams("fired"))
    write_sweep(known[0], tmp_path / "one.sweep", part_of=known)
    write_log(known, tmp_path / "out", format="sweep", progress=False)
    write_log(known, tmp_path / "pcd", format="pcd", progress=False)
    for file in ("one.sweep", "out/000001.sweep"):
        back = open_log(tmp_path / file)
        assert (back.labels, back.sensor, back.empty_beams) == (OWN_LABELS, OWN_SENSOR, EmptyBeams("fired"))
    cloud = open_log(tmp_path / "pcd" / "000001.pcd")
    assert (cloud.labels, cloud.sensor) == (OWN_LABELS, OWN_SENSOR)
    assert cloud.empty_beams.source != "fired"
    write_sweep(known[0], tmp_path / "bare.sweep")
    bare = open_log(tmp_path / "bare.sweep")
    assert (bare.labels, bare.sensor, bare.poses_known) == (UNKNOWN_LABELS, None, True)
    with pytest.raises(ResweepError, match="takes no option 'part_of'"):
        write_sweep(known[0], tmp_path / "one.pcd", part_of=known)


def test_labels_can_be_given(log: Log, tmp_path: Path) -> None:
    write_log(log, tmp_path / "out", format="semantickitti", progress=False)
    assert open_log(tmp_path / "out", labels="nuscenes-lidarseg").labels == load_labels("nuscenes-lidarseg")
    assert open_log(tmp_path / "out", labels=OWN_LABELS).labels == OWN_LABELS
    (tmp_path / "mine.yaml").write_text("name: mine\nclasses: {3: {name: gate}}\n")
    assert open_log(tmp_path / "out", labels=tmp_path / "mine.yaml").labels.class_name(3) == "gate"
    with pytest.raises(
        ResweepError, match="labels 'semantickity': no such vocabulary, and no YAML file; did you mean 'semantickitti'"
    ):
        open_log(tmp_path / "out", labels="semantickity")


def bare_pcd(path: Path, *fields: str) -> Path:
    count = len(fields)
    head = f"VERSION 0.7\nFIELDS {' '.join(fields)}\nSIZE{' 4' * count}\nTYPE{' F' * count}\nCOUNT{' 1' * count}\n"
    path.write_text(f"{head}WIDTH 1\nHEIGHT 1\nPOINTS 1\nDATA ascii\n{' '.join('1' * count)}\n")
    return path


def bare_las(path: Path) -> Path:
    las = laspy.create(point_format=6, file_version="1.4")
    las.x, las.y, las.z = np.ones((3, 4))
    las.classification = np.array([2, 2, 5, 6])
    las.write(str(path))
    return path


def test_files_of_other_programs_say_what_they_can(log: Log, tmp_path: Path) -> None:
    assert open_log(bare_pcd(tmp_path / "a.pcd", "x", "y", "z")).labels == NO_LABELS
    assert open_log(bare_pcd(tmp_path / "b.pcd", "x", "y", "z", "label")).labels == UNKNOWN_LABELS
    assert open_log(bare_las(tmp_path / "a.las")).labels == load_labels("asprs")
    write_sweep(log[0], tmp_path / "ours.las")
    assert open_log(tmp_path / "ours.las").labels == UNKNOWN_LABELS
    write_sweep(log[0], tmp_path / "a.bin")
    assert open_log(tmp_path / "a.bin").labels == NO_LABELS
    write_sweep(log[0], tmp_path / "b.bin", labels=True)
    assert open_log(tmp_path / "b.bin").labels == UNKNOWN_LABELS
    (tmp_path / "tiles").mkdir()
    bare_las(tmp_path / "tiles" / "1.las")
    assert open_log(tmp_path / "tiles").labels == load_labels("asprs")


def test_a_bare_file_knows_neither_place_nor_time(log: Log, tmp_path: Path) -> None:
    bare = open_log(bare_pcd(tmp_path / "a.pcd", "x", "y", "z"))
    assert (bare.poses_known, bare.times_known, bare.sensor) == (False, False, None)
    write_sweep(replace(log[0], sensor="velodyne-vlp-16"), tmp_path / "own.pcd")
    own = open_log(tmp_path / "own.pcd")
    assert (own.poses_known, own.times_known, own.sensor) == (True, True, load_sensor("velodyne-vlp-16"))


def test_times_of_a_rate_are_assumed(log: Log, tmp_path: Path) -> None:
    for at in range(3):
        write_sweep(log[at], tmp_path / "log" / f"{at}.bin")
    rows = "\n".join("1 0 0 0 0 1 0 0 0 0 1 0" for _ in range(3))
    (tmp_path / "log" / "poses.txt").write_text(f"{rows}\n")
    assert not open_log(tmp_path / "log", rate_hz=20.0).times_known
    (tmp_path / "log" / "times.txt").write_text("0\n0.05\n0.1\n")
    assert open_log(tmp_path / "log").times_known


def test_datasets_say_their_vocabulary_and_sensor(tmp_path: Path) -> None:
    hdl64, hdl32 = load_sensor("velodyne-hdl-64e"), load_sensor("velodyne-hdl-32e")
    raw = open_log(make_drive(tmp_path / "raw", 4))
    assert (raw.labels, raw.sensor, raw.poses_known) == (NO_LABELS, hdl64, True)
    training = open_log(make_training(tmp_path / "object"))
    assert (training.labels, training.sensor, training.poses_known) == (NO_LABELS, hdl64, False)
    drive = open_log(make_kitti360(tmp_path / "360")[0])
    assert (drive.labels.name, drive.sensor) == ("kitti360", hdl64)
    scene = open_log(make_nuscenes(tmp_path / "nuscenes"), scene="scene-0061")
    assert (scene.labels, scene.sensor) == (load_labels("nuscenes-lidarseg"), hdl32)
    first = open_log(make_argoverse1(tmp_path / "av1"))
    assert (first.labels, first.sensor) == (NO_LABELS, load_sensor("velodyne-vlp-32c"))
    assert (first.empty_beams.source, "two LiDARs" in first.empty_beams.detail) == ("unknown", True)


def test_pandaset_says_its_vocabulary_and_sensor(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    path = make_sequence(tmp_path / "001")
    spinning, forward = open_log(path), open_log(path, lidar=1)
    assert (spinning.labels.name, spinning.sensor) == ("pandaset", load_sensor("hesai-pandar64"))
    assert (forward.sensor, forward.sensor_name) == (None, "hesai-pandargt")
    assert forward.empty_beams == EmptyBeams("unknown", "not inferred: the PandarGT does not spin")


def test_sequences_without_labels_have_none(log: Log, tmp_path: Path) -> None:
    write_log(log, tmp_path / "00", format="semantickitti", progress=False)
    (tmp_path / "00" / "log.json").unlink()
    assert open_log(tmp_path / "00").labels == load_labels("semantickitti")
    for file in (tmp_path / "00" / "labels").iterdir():
        file.unlink()
    (tmp_path / "00" / "labels").rmdir()
    assert open_log(tmp_path / "00").labels == NO_LABELS


def test_printing_a_log_reads_no_sweep(tmp_path: Path, log: Log) -> None:
    write_log(log, tmp_path / "out", format="pcd", progress=False)
    for file in (tmp_path / "out").glob("*.pcd"):
        file.write_text("broken")
    (tmp_path / "out" / "log.json").unlink()
    text = repr(open_log(tmp_path / "out", poses=np.tile(np.eye(4), (3, 1, 1)))[1:])
    assert "2 sweeps" in text
    assert "empty beams not looked for yet" in text
    assert text.endswith("read -> infer empty beams -> other poses)")


def test_empty_beams_that_are_not_asked_for_are_unknown(log: Log, tmp_path: Path) -> None:
    def returns(sweep: Sweep) -> Sweep:
        return sweep.select_beams(np.isin(np.arange(sweep.n_beams), sweep.beam))

    write_log(log.map(returns), tmp_path / "out", format="pcd", progress=False)
    assert open_log(tmp_path / "out", empty_beams=False).empty_beams.source == "unknown"
    asked = open_log(tmp_path / "out")
    assert not asked.empty_beams.found
    _ = asked[0]  # which looks for the grid
    assert asked.empty_beams.found


WRONG: list[Any] = [None, True, -1.5, "x", [], {}, [[]], {"a": [1]}, 10**30]


def test_wrong_values_in_log_json_are_one_error(log: Log, tmp_path: Path) -> None:
    write_log(log, tmp_path / "log", format="kitti", progress=False)
    file = tmp_path / "log" / "log.json"
    whole = json.loads(file.read_text())
    refused = 0
    for name in (*whole, "labels/classes", "empty_beams/source", "empty_beams/detail"):
        for value in [*WRONG, KeyError]:
            data = json.loads(json.dumps(whole))
            *outer, last = name.split("/")
            place = data[outer[0]] if outer else data
            if value is KeyError:
                place.pop(last, None)
            else:
                place[last] = value
            file.write_text(json.dumps(data))
            messages = []
            try:
                open_log(tmp_path / "log", empty_beams=False)
            except ResweepError as error:
                messages.append(str(error))
            refused += len(messages)
            lines = [line for message in messages for line in message.splitlines()]  # one for each wrong field
            assert all(line.startswith(str(tmp_path)) for line in lines), (name, value)
    assert refused > 60


def test_log_json_that_cannot_be_parsed_is_one_error(log: Log, tmp_path: Path) -> None:
    write_log(log, tmp_path / "log", format="kitti", progress=False)
    for text in ("{", "[" * 100_000, "\xff"):
        (tmp_path / "log" / "log.json").write_bytes(text.encode("latin-1"))
        with pytest.raises(ResweepError, match=r"log\.json: cannot be read \(.*\); write the log again"):
            open_log(tmp_path / "log")


def test_places_that_log_json_names_are_not_looked_at(log: Log, tmp_path: Path) -> None:
    write_log(replace(log, meta={"paths": ["/"], "seed": 3}), tmp_path / "log", progress=False)
    meta = open_log(tmp_path / "log").meta
    assert "paths" not in meta
    assert (meta["seed"], meta["path"]) == (3, str(tmp_path / "log"))
