"""Stopped work goes on to the bytes of undisturbed work, whatever became of its pieces, or is refused in one line."""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from resweep.errors import ResweepError
from resweep.files.pieces import DamagedPieceWarning
from tests.fuzz.damage import DAMAGES, sort_pieces
from tests.fuzz.samples_work import OUTPUT, WORKS, build_tiles, hash_output, hash_unbroken, resume_work, stop_work

pytest.importorskip("rosbags")
RECORD = "checkpoints.json"  # the only piece whose damage may be refused
QUICK = ("flip", "swap", "take-other", "fifo", "grow")  # where going on takes long
Stopped = Callable[[str], Path]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    """What each work left that was stopped."""
    found: dict[str, Path] = {}

    def find(name: str) -> Path:
        if name not in found:
            found[name] = stop_work(*WORKS[name], tmp_path_factory.mktemp(name))
        return found[name]

    return find


def disturb(stopped: Path, place: Path, name: str, kind: str, damage: str) -> None:
    """Damage one piece of a kind, and go on."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(stopped, place)
    rng = random.Random(f"{name} {kind} {damage}")
    file = rng.choice(sort_pieces(place)[kind])
    other = stopped.with_name(stopped.name.replace("out", "other")) / file.relative_to(place)
    DAMAGES[damage](file, other, rng)
    with suppress(ResweepError) if kind == RECORD else nullcontext():
        resume_work(WORKS[name][0], place)


@pytest.mark.parametrize("name", WORKS)
def test_damaged_pieces_change_no_byte(stopped: Stopped, tmp_path: Path, name: str) -> None:
    kinds = sorted(sort_pieces(stopped(name)))
    for at, damage in enumerate(QUICK if name == "tiles" else DAMAGES):
        disturb(stopped(name), tmp_path / "work", name, kinds[at % len(kinds)], damage)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORKS)
def test_any_damage_to_any_kind_of_piece_changes_no_byte(stopped: Stopped, tmp_path: Path, name: str) -> None:
    for kind in sort_pieces(stopped(name)):
        for damage in DAMAGES:
            disturb(stopped(name), tmp_path / "work", name, kind, damage)


def test_damage_to_a_tiled_build_is_told_in_a_line_each(stopped: Stopped, tmp_path: Path) -> None:
    shutil.copytree(stopped("tiles"), tmp_path / f"{OUTPUT}.partial")
    kinds = sort_pieces(tmp_path / f"{OUTPUT}.partial")
    assert len(kinds) > 5
    # With a batch all that belongs to it is made again.
    files = [pieces[0] for kind, pieces in kinds.items() if kind != RECORD and not kind.endswith((".world", ".tiles"))]
    for file in files:
        file.write_bytes(file.read_bytes()[:-1])
    with pytest.warns(DamagedPieceWarning) as told:
        build_tiles(tmp_path / OUTPUT)
    lines = {str(item.message) for item in told}
    assert lines == {f"checkpoint {file} is damaged: computed again" for file in files}
    assert hash_output(tmp_path / OUTPUT) == hash_unbroken(build_tiles)


def test_a_build_that_was_stopped_between_two_tiles_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from resweep.build.tiles import tile_tasks
    from resweep.work import OneProcess

    saved = tile_tasks.save_world

    def stop(*given: object, **options: object) -> object:
        if list((tmp_path / f"{OUTPUT}.partial" / "parts").glob("*.piece")):
            raise KeyboardInterrupt
        return saved(*given, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(tile_tasks, "save_world", stop)
        patch.setattr(sys.modules["resweep.build.pipeline"], "Threads", lambda count: OneProcess())
        with pytest.raises(KeyboardInterrupt):
            build_tiles(tmp_path / OUTPUT)
    (sealed,) = (tmp_path / f"{OUTPUT}.partial" / "parts").glob("*.piece")
    chunk = next(file for file in sealed.with_suffix(".world").rglob("c/*") if file.is_file())
    chunk.write_bytes(bytes(chunk.stat().st_size))
    with pytest.warns(DamagedPieceWarning, match="is damaged: computed again"):
        build_tiles(tmp_path / OUTPUT)
    assert hash_output(tmp_path / OUTPUT) == hash_unbroken(build_tiles)
