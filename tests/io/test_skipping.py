"""Bad sweeps and poses: one error that names file and field, or with keep_going a warning and a count."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from resweep.cli import main
from resweep.errors import FaultKind, ResweepError, SweepError
from resweep.io import load_sweep, open_log, write_log, write_sweep
from resweep.io.folders.faults import describe_skipped
from resweep.labels import load_labels
from resweep.log import Log
from resweep.pose import from_xyz_rpy
from resweep.sweep import Sweep

from .test_kitti_raw import make_drive

BAD = 2  # the sweep that something is wrong with


def make(kind: str, root: Path) -> Path:
    if kind == "kitti-raw":
        return make_drive(root, 4)
    rng = np.random.default_rng(0)
    columns = {"label": np.full(300, 40), "intensity": np.full(300, 0.5), "ring": np.arange(300) % 8}
    sweeps = [
        Sweep.from_points(8 * rng.normal(size=(300, 3)), pose=from_xyz_rpy(at, 0, 0), timestamp=0.1 * at, **columns)
        for at in range(4)
    ]
    log = Log.from_sweeps(sweeps, labels=load_labels("semantickitti"))
    write_log(log, root / "log", format=kind, progress=False)
    return root / "log"


def scan(path: Path) -> Path:
    found = sorted(file for file in path.rglob("*") if file.suffix in (".bin", ".pcd") and "lidarseg" not in file.name)
    return found[BAD]


def edited(file: Path, change: Callable[[list[str]], list[str]]) -> None:
    file.write_text("\n".join(change(file.read_text().splitlines())) + "\n")


def word(column: int, value: str) -> Callable[[list[str]], list[str]]:
    def change(lines: list[str]) -> list[str]:
        fields = lines[BAD].split()
        fields[column] = value
        return [*lines[:BAD], " ".join(fields), *lines[BAD + 1 :]]

    return change


def tables(path: Path, change: Callable[[list[dict]], list[dict]]) -> None:  # type: ignore[type-arg]
    (file,) = path.rglob("ego_pose.json")
    file.write_text(json.dumps(change(json.loads(file.read_text()))))


def truncate(path: Path) -> None:
    scan(path).write_bytes(scan(path).read_bytes()[:-7])


def empty(path: Path) -> None:
    data = scan(path).read_bytes()
    head = data.split(b"DATA")[0].replace(b"WIDTH 300", b"WIDTH 0").replace(b"POINTS 300", b"POINTS 0")
    scan(path).write_bytes(head + b"DATA binary\n" if scan(path).suffix == ".pcd" else b"")


def put_nan(path: Path) -> None:
    data = bytearray(scan(path).read_bytes())
    at = data.index(b"DATA binary\n") + 12 if scan(path).suffix == ".pcd" else 0
    data[at : at + 4] = np.float32(np.nan).tobytes()
    scan(path).write_bytes(bytes(data))


def cut_labels(path: Path) -> None:
    files = sorted(file for file in path.rglob("*") if file.suffix == ".label" or "_lidarseg" in file.name)
    files[BAD].write_bytes(files[BAD].read_bytes()[:-8])


def other_fields(path: Path) -> None:
    points = load_sweep(scan(path)).points.astype("<f4")
    head = "VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nHEIGHT 1\nDATA binary\n"
    head = head.replace("HEIGHT", f"WIDTH {len(points)}\nHEIGHT").replace("DATA", f"POINTS {len(points)}\nDATA")
    scan(path).write_bytes(head.encode() + points.tobytes())


def other_format(path: Path) -> None:
    (path / "log.json").unlink()
    file = scan(path)
    write_sweep(load_sweep(file), file.with_suffix(".ply"))
    file.unlink()


def packet(path: Path, text: str) -> None:
    sorted(path.rglob("oxts/data/*.txt"))[BAD].write_text(text)


CASES: dict[str, tuple[str, Callable[[Path], None], str, str]] = {
    # name: layout, what is done to it, what the error says, what the summary says
    "truncated scan": ("semantickitti", truncate, r"000002\.bin: truncated", "1 truncated"),
    "truncated raw scan": ("kitti-raw", truncate, r"0000000002\.bin: truncated", "1 truncated"),
    "truncated cloud": ("pcd", truncate, r"000002\.pcd: truncated", "1 truncated"),
    "truncated nuScenes": ("nuscenes", truncate, r"__\d{16}\.pcd\.bin: truncated", "1 truncated"),
    "empty scan": ("semantickitti", empty, r"000002\.bin: holds no point", "1 empty"),
    "empty raw scan": ("kitti-raw", empty, "sweep 2: holds no point", "1 empty"),
    "empty cloud": ("pcd", empty, "sweep 2: holds no point", "1 empty"),
    "empty nuScenes": ("nuscenes", empty, r"__\d{16}\.pcd\.bin: holds no point", "1 empty"),
    "NaN in a scan": ("semantickitti", put_nan, r"000002\.bin: 1 of 300 points hold NaN", "1 with NaN points"),
    "NaN in a raw scan": ("kitti-raw", put_nan, r"0002\.bin: 1 of 360 points hold NaN", "1 with NaN points"),
    "NaN in a cloud": ("pcd", put_nan, r"000002\.pcd: 1 of 300 points hold NaN", "1 with NaN points"),
    "NaN in nuScenes": (
        "nuscenes",
        put_nan,
        r"__\d{16}\.pcd\.bin: 1 of 300 points hold NaN",
        "1 with NaN points",
    ),
    "labels": ("semantickitti", cut_labels, r"000002\.label: 1192 bytes", "1 with labels of another length"),
    "nuScenes labels": ("nuscenes", cut_labels, r"_lidarseg\.bin: 292 labels for", "1 with labels of another length"),
    "a scan is gone": (
        "nuscenes",
        lambda path: scan(path).unlink(),
        r"__\d{16}\.pcd\.bin: no such file",
        "1 missing",
    ),
    "a cloud is gone": ("pcd", lambda path: scan(path).unlink(), "counts 4 sweeps, the folder holds 3", "1 missing"),
    "other fields": ("pcd", other_fields, r"000002\.pcd: no field 'column'", "1 with other fields"),
    "other format": ("pcd", other_format, "several formats; give format=", "1 in another format"),
    "no pose": (
        *("semantickitti", lambda path: edited(path / "poses.txt", lambda lines: lines[:-1])),
        *(r"poses\.txt: 3 lines, but there is a scan 000003", "1 without pose"),
    ),
    "skew pose": (
        *("semantickitti", lambda path: edited(path / "poses.txt", word(5, "7.0"))),
        *(r"poses\.txt, line 3: the 3x3 part is no rotation", "1 without pose"),
    ),
    "NaN pose": (
        *("semantickitti", lambda path: edited(path / "poses.txt", word(3, "nan"))),
        *(r"poses\.txt, line 3: NaN", "1 without pose"),
    ),
    "bad packet": ("kitti-raw", lambda path: packet(path, "1 2\n"), r"0002\.txt: 2 values", "1 without pose"),
    "NaN packet": ("kitti-raw", lambda path: packet(path, "nan " * 30), r"0002\.txt: holds NaN", "1 without pose"),
    "missing TUM pose": (
        *("pcd", lambda path: edited(path / "poses.txt", lambda lines: lines[:-1])),
        *(r"poses\.txt: 3 poses for 4 sweeps", "1 without pose"),
    ),
    "double TUM pose": (
        *("pcd", lambda path: edited(path / "poses.txt", lambda lines: [*lines[:2], lines[1], *lines[3:]])),
        *(r"poses\.txt, line 3: time 0\.1 repeats", "1 without pose"),
    ),
    "skew TUM pose": (
        *("pcd", lambda path: edited(path / "poses.txt", word(7, "7.0"))),
        *(r"poses\.txt, line 3: quaternion of length 7", "1 without pose"),
    ),
    "missing nuScenes pose": (
        *("nuscenes", lambda path: tables(path, lambda rows: rows[:BAD] + rows[BAD + 1 :])),
        *(r"ego_pose\.json, record \w+: no such record", "1 without pose"),
    ),
    "double nuScenes pose": (
        *("nuscenes", lambda path: tables(path, lambda rows: [*rows, {**rows[BAD], "translation": [9, 9, 9]}])),
        *(r"ego_pose\.json, record \w+: 2 different records", "1 without pose"),
    ),
    "skew nuScenes pose": (
        *(
            "nuscenes",
            lambda path: tables(path, lambda rows: [{**row, "rotation": [2, 0, 0, 0]} for row in rows[:1]] + rows[1:]),
        ),
        *(r"ego_pose\.json, record \w+: row 0 is no rigid pose", "1 without pose"),
    ),
}


def converted(path: Path, out: Path, *args: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["convert", str(path), str(out), "--format", "sweep", *args])
    return int(ended.value.code or 0)


@pytest.mark.parametrize("case", CASES)
def test_bad_sweeps_are_an_error_or_are_skipped_and_counted(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind, spoil, error, summary = CASES[case]
    path = make(kind, tmp_path)
    whole = open_log(path)
    poses = whole.poses
    spoil(path)
    assert converted(path, tmp_path / "strict") == 1
    message = capsys.readouterr().err
    assert len(message.strip().splitlines()) == 1
    with pytest.raises(ResweepError, match=error):
        raise ResweepError(message)
    assert not (tmp_path / "strict").exists()
    assert converted(path, tmp_path / "lenient", "--keep-going") == 0
    message = capsys.readouterr().err
    assert f"skipped 1 of 4 sweeps: {summary}\n" in message
    assert "resweep: warning: " in message
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log = open_log(path, keep_going=True)
    # The others keep their own poses.
    gone = {"no pose": 3, "missing TUM pose": 3, "skew nuScenes pose": 0}.get(case, BAD)
    if case == "nuScenes labels":  # named by their tokens, which are not in the order of the sweeps
        gone = next(at for at in range(4) if not np.isclose(log.times, whole.times[at]).any())
    np.testing.assert_allclose(log.poses, np.delete(poses, gone, axis=0), atol=1e-6)
    assert len(list(log)) == len(open_log(tmp_path / "lenient")) == 3


def test_reasons_add_up(tmp_path: Path) -> None:
    path = make("semantickitti", tmp_path)
    truncate(path)
    (path / "velodyne" / "000001.bin").write_bytes(b"\0" * 17)
    edited(path / "poses.txt", lambda lines: lines[:-1])
    with pytest.warns(UserWarning, match="is left out"):
        log = open_log(path, keep_going=True)
    assert describe_skipped(log) == "skipped 3 of 4 sweeps: 2 truncated, 1 without pose"
    assert [(fault.sweep, fault.kind) for fault in log.skipped] == [
        *((1, FaultKind.TRUNCATED), (2, FaultKind.TRUNCATED), (3, FaultKind.NO_POSE))
    ]
    assert "000002.bin: truncated" in log.skipped[1].message
    with pytest.warns(UserWarning, match="poses.txt ends before scan 000003"):
        quick = open_log(path, keep_going="poses")  # reads no sweep
    assert (len(quick), len(quick.skipped)) == (3, 1)
    (path / "velodyne" / "000000.bin").write_bytes(b"\0" * 17)
    with (
        pytest.warns(UserWarning, match="left out"),
        pytest.raises(ResweepError, match="none of its 4 sweeps can be read"),
    ):
        open_log(path, keep_going=True)


def test_a_kind_is_no_matter_of_words(tmp_path: Path) -> None:
    """A folder's name may hold the words of any message."""
    path = make("pcd", tmp_path / "truncated pose of no such file")
    put_nan(path)
    with pytest.warns(UserWarning, match="hold NaN"):
        assert open_log(path, keep_going=True).skipped[0].kind is FaultKind.NOT_FINITE
    with pytest.raises(SweepError) as caught:
        open_log(path)[BAD]
    assert caught.value.kind is FaultKind.NOT_FINITE
    scan(path).unlink()
    with pytest.warns(UserWarning, match="counts 4 sweeps"):
        assert open_log(path, keep_going=True).skipped[0].kind is FaultKind.MISSING


def test_other_verbs_skip_and_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make("semantickitti", tmp_path)
    truncate(path)

    def run(*args: object) -> tuple[int, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(item) for item in args])
        return int(ended.value.code or 0), capsys.readouterr().err

    summary = "skipped 1 of 4 sweeps: 1 truncated"
    settings = ("--set", "map.ego_radius_m=0", "--set", "calibrate=null", "--method", "surfels")
    settings += ("--set", "normal_radius_m=5.0", "--set", "voxel_m=0.5")
    build = ("build", path, "-o", tmp_path / "w.world", *settings)
    status, message = run(*build)
    assert status == 1
    assert "000002.bin: truncated" in message
    status, message = run(*build, "--keep-going")
    assert status == 0, message
    assert summary in message
    evaluate = ("evaluate", path, path, "--json")
    assert run(*evaluate)[0] == 1
    status, message = run(*evaluate, "--keep-going")
    assert status == 0, message
    assert message.count(summary) == 2
    edited(path / "poses.txt", word(5, "7.0"))
    simulate = ("simulate", "scene:courtyard", "-s", "velodyne-vlp-16", "--like", path, "-o", tmp_path / "out")
    simulate += ("--sweeps", "1")
    assert run(*simulate)[0] == 1
    status, message = run(*simulate, "--keep-going")
    assert status == 0, message
    assert "skipped 1 of 4 sweeps: 1 without pose" in message
