"""Pairs of recorded and simulated sweeps, and the command that learns from them, on a tiny street of known law."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep.cli import main
from resweep.dataset.learning import pair_log
from resweep.errors import ResweepError
from resweep.files.pieces import DamagedPieceWarning, Pieces
from resweep.io import write_poses
from resweep.learn.beam_pairs import BeamPair, PairConfig, read_pair
from resweep.learn.realism import RealismConfig, fit_realism
from resweep.log import EmptyBeams
from resweep.pose import Trajectory, from_xyz_rpy
from tests.learn.conftest import known_law

pytest.importorskip("torch", reason="needs resweep[learn]")
pytest.importorskip("onnxruntime", reason="needs resweep[realism]")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pairs")


@pytest.fixture(scope="module")
def pairs(tiny_log: rs.Log, cache: Path) -> list[BeamPair]:
    return pair_log(tiny_log, rs.SurfelConfig(), PairConfig(folds=2), cache=cache, progress=False)


def test_a_pair_says_where_a_return_is_missing(pairs: list[BeamPair], tiny_log: rs.Log) -> None:
    assert len(pairs) == len(tiny_log)
    for pair, sweep in zip(pairs, tiny_log, strict=True):
        assert len(pair.channels) == sweep.n_beams
        np.testing.assert_array_equal(np.flatnonzero(pair.returned), sweep.beam)
        np.testing.assert_array_equal(pair.range[sweep.beam], sweep.range)
        both = pair.chosen[~pair.dropped]
        apart = np.abs(pair.channels.values[both, 0] - pair.range[both])
        assert np.median(apart) < 0.1  # the world of the others shows what this sweep saw

    dropped = np.concatenate([pair.dropped for pair in pairs])
    law = np.concatenate([known_law(*pair.channels.values[pair.chosen][:, [0, 5]].T) for pair in pairs])
    z = (dropped.sum() - law.sum()) / np.sqrt((law * (1 - law)).sum())
    assert abs(z) < 5  # surfels reach beyond what was seen, here and there
    assert dropped.sum() > 20


def test_pairs_are_kept_and_read_back(pairs: list[BeamPair], cache: Path, tiny_log: rs.Log) -> None:
    again = read_pair(Pieces(cache), 3)
    assert again is not None
    np.testing.assert_array_equal(again.channels.values, pairs[3].channels.values)
    np.testing.assert_array_equal(again.channels.azimuth, pairs[3].channels.azimuth)
    assert (again.place, again.layout, again.labelled) == ("tiny", pairs[3].layout, True)

    def unreadable(at: int) -> rs.Sweep:
        raise AssertionError("all pairs are there")

    kept = pair_log(
        replace(tiny_log, load=lambda at: tiny_log[at] if at == 0 else unreadable(at)),
        rs.SurfelConfig(),
        PairConfig(folds=2),
        cache=cache,
        progress=False,
    )
    np.testing.assert_array_equal(kept[5].returned, pairs[5].returned)
    (cache / "000004.piece").write_bytes(b"damaged")
    with pytest.warns(DamagedPieceWarning, match=r"000004\.piece is damaged: computed again"):
        assert read_pair(Pieces(cache), 4) is None


def test_bad_logs_are_refused(tiny_log: rs.Log) -> None:
    with pytest.raises(ResweepError, match="3 sweeps are too few"):
        pair_log(tiny_log[:3], rs.SurfelConfig(), progress=False)
    with pytest.raises(ResweepError, match="has no poses"):
        pair_log(replace(tiny_log, poses_known=False), rs.SurfelConfig(), progress=False)
    with pytest.raises(ResweepError, match="its beams without return are unknown"):
        pair_log(replace(tiny_log, empty_beams=EmptyBeams("unknown", "no grid")), rs.SurfelConfig(), progress=False)


def test_logs_with_and_without_labels_do_not_mix(pairs: list[BeamPair], tmp_path: Path) -> None:
    mixed = [*pairs[:3], *(replace(pair, labelled=False) for pair in pairs[3:])]
    with pytest.raises(ResweepError, match="some logs have labels and others none"):
        fit_realism(mixed, tmp_path, RealismConfig())


def run(*args: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in args])
    return int(ended.value.code or 0)


@pytest.mark.slow
def test_the_command_learns_and_simulate_takes_the_model(
    tiny_log_folder: Path, tiny_world: rs.World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, world = tmp_path / "model", tmp_path / "tiny.world"
    args = ("learn", "raydrop", tiny_log_folder, "-o", model, "--variant", "mlp", "--intensity", "logistic")
    quick = ("--epochs", 2, "--folds", 2, "--method", "surfels", "--set", "drop.training.threads=1", "--json")
    assert run(*args, *quick) == 0
    output = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert output["sweeps"] == 6
    assert {"drop_f1", "brier", "ece", "log_loss"} <= set(output["drop"])
    assert {"intensity_rmse", "intensity_corr"} <= set(output["intensity"])
    assert sorted(path.name for path in model.iterdir()) == ["card.json", "drop.onnx", "intensity.onnx", "scatter.npy"]
    assert not (tmp_path / "model.partial").exists()
    loaded = rs.load_realism(model)
    assert loaded.card.layout.rings == 16
    assert loaded.card.held_out == ("tiny: 2 sweeps",)
    tiny_world.save(world)
    out = tmp_path / "out"
    assert run("simulate", world, "--like", tiny_log_folder, "-o", out, "--realism", model, "--sweeps", 2) == 0
    again = rs.open_log(out)
    status = np.concatenate([sweep.beam_status for sweep in again])
    assert (status == rs.BeamStatus.DROPPED_BY_MODEL).any()
    assert "drop_probability" in again[0].beam_extra
    assert run(*args, *quick) == 1
    assert "exists" in capsys.readouterr().err
    held = ("evaluate", tiny_log_folder, "--holdout", 3, "--method", "surfels", "--json")
    assert run(*held, "--realism", model) == 0
    learned = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert run(*held) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["intensity_rmse"] != learned["intensity_rmse"]
    assert run("evaluate", out, tiny_log_folder, "--realism", model) == 1
    assert "SIM was simulated before" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (("--variant", "forest"), "--variant 'forest'"),
        (("--variant", "none", "--intensity", "none"), "neither drop nor intensity"),
        (("--set", "drop.width=2"), "drop.width"),
    ],
)
def test_mistakes_of_the_command(
    args: tuple[str, ...], problem: str, tiny_log_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("learn", "raydrop", tiny_log_folder, "-o", tmp_path / "m", *args) == 1
    output = capsys.readouterr().err
    assert problem in output
    assert len(output.strip().splitlines()) == 1


def test_a_log_says_its_intensity_scale(tiny_log: rs.Log, tmp_path: Path) -> None:
    rs.write_log(replace(tiny_log[:1], intensity_scale=255.0), tmp_path / "out", format="sweep", progress=False)
    assert rs.open_log(tmp_path / "out").intensity_scale == 255.0
    record = json.loads((tmp_path / "out" / "log.json").read_text())
    (tmp_path / "out" / "log.json").write_text(json.dumps({**record, "intensity_scale": -1}))
    with pytest.raises(ResweepError, match="intensity_scale is -1"):
        rs.open_log(tmp_path / "out")


def test_the_scale_of_kitti(sample_data: Path) -> None:
    assert rs.open_log(sample_data / "semantickitti_mini" / "sequences" / "00").intensity_scale == 1.0


def test_a_dataset_is_made_with_a_model(
    tiny_world: rs.World,
    tiny_sensor: rs.Sensor,
    pairs: list[BeamPair],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = tmp_path / "model"
    model.mkdir()
    quick = {"variant": "mlp", "training": {"epochs": 1, "threads": 1}}
    fit_realism(pairs, model, RealismConfig.model_validate({"drop": quick}), progress=False)
    tiny_world.save(tmp_path / "tiny.world")
    (tmp_path / "tiny.yaml").write_text(tiny_sensor.to_yaml())
    course = Trajectory(np.array([0.0, 1.0]), np.stack([from_xyz_rpy(x, -1.0, 1.7) for x in (0.0, 2.0)]))
    write_poses(course, tmp_path / "drive.tum")
    scenario = f"{{name: drive, ego: {{poses: {tmp_path}/drive.tum}}, actors: []}}"
    args = (f"worlds: [{tmp_path}/tiny.world]", f"sensors: [{tmp_path}/tiny.yaml]", f"scenarios: [{scenario}]")
    (tmp_path / "plan.yaml").write_text("\n".join([*args, "sweeps: 2"]))
    for name, more in (("plain", ()), ("learned", ("--realism", model))):
        assert run("dataset", tmp_path / "plan.yaml", "-o", tmp_path / name, *more) == 0, capsys.readouterr().err
    counts = [
        sum(path.stat().st_size for path in (tmp_path / name).rglob("velodyne/*.bin")) for name in ("plain", "learned")
    ]
    assert 0 < counts[1] < counts[0]
    assert run("dataset", tmp_path / "plan.yaml", "-o", tmp_path / "learned") == 1  # other settings


def test_learning_from_python_goes_on_unless_it_is_reported_not_to(
    tiny_log: rs.Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stops(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    def learn(**options: bool) -> dict[str, int]:
        with pytest.raises(KeyboardInterrupt):
            rs.learn_realism(tiny_log, tmp_path / "model", method=rs.SurfelConfig(), progress=False, **options)
        files = (tmp_path / "model.partial" / "pairs-0").iterdir()
        return {file.name: file.stat().st_mtime_ns for file in files}

    monkeypatch.setattr("resweep.dataset.learning.fit_realism", stops)
    first = learn()
    assert len(first) >= len(tiny_log)
    assert learn() == first
    assert set(learn(resume=False).values()).isdisjoint(first.values())
