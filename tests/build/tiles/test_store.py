"""The tile store: what is written comes back by square, and what is no store is said to be none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.labels import UNKNOWN_LABELS
from resweep.map.config import MapConfig
from resweep.map.moving import MovingRule
from resweep.map.store import tile_store as store
from resweep.map.store.grid import Square, find_squares
from resweep.map.store.part import PERMEABLE, STILL, SquarePart, TiledLog, write_flags
from resweep.map.store.tile_store import (
    BEAM,
    POINT,
    Batch,
    Rows,
    TileStore,
    join_rows,
    no_rows,
    take_rows,
    write_batch,
)


def rows_of(table: np.dtype, count: int, seed: int) -> Rows:
    """Rows whose every number differs from the others."""
    rng = np.random.default_rng(seed)
    return {name: (rng.normal(size=(count, *table[name].shape)) * 100).astype(table[name].base) for name in table.names}


def write(folder, name: str, seed: int, count: int = 500) -> tuple[dict[str, Rows], np.ndarray]:
    tables = {"points": rows_of(POINT, count, seed), "beams": rows_of(BEAM, count, seed)}
    squares = np.random.default_rng(seed).integers(-3, 3, (count, 2))
    write_batch(folder / name, {key: (rows, squares, None) for key, rows in tables.items()}, {"seed": seed})
    return tables, squares


@pytest.mark.parametrize("table", ["points", "beams"])
def test_rows_come_back_by_square_in_the_order_of_batches(tmp_path, table):
    written = [write(tmp_path, f"{at:07d}.tiles", at) for at in (0, 1)]
    found = TileStore.open(tmp_path)
    assert [batch.stats["seed"] for batch in found.batches] == [0, 1]
    for square in [(-3, -3), (0, 2), (2, -1)]:
        rows = join_rows([block for _, block in found.read(table, {square})])
        expected = [take_rows(tables[table], (squares == square).all(axis=1)) for tables, squares in written]
        for name, column in join_rows(expected).items():
            assert rows[name].dtype == column.dtype
            assert np.array_equal(rows[name], column), name
    counts = found.count(table)
    assert sum(counts.values()) == 1000
    assert counts[(0, 2)] == sum(int((squares == (0, 2)).all(axis=1).sum()) for _, squares in written)
    assert list(found.read(table, {(50, 50)})) == []


def test_a_batch_may_have_no_rows_of_a_table(tmp_path):
    tables = {"points": rows_of(POINT, 3, 0), "beams": no_rows(BEAM)}
    squares = np.zeros((3, 2), int)
    file = tmp_path / "0000000.tiles"
    write_batch(file, {"points": (tables["points"], squares, None), "beams": (tables["beams"], squares[:0], None)}, {})
    assert TileStore.open(tmp_path).count("beams") == {}


def test_a_store_of_another_version_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "VERSION", 7)
    write(tmp_path, "0000000.tiles", 0)
    monkeypatch.undo()
    with pytest.raises(ResweepError, match=r"version 7, this Resweep has version 3.*; remove"):
        Batch.open(tmp_path / "0000000.tiles")


@pytest.mark.parametrize("keep", [0, 10, 100])
def test_a_file_that_is_cut_off_is_no_batch(tmp_path, keep):
    write(tmp_path, "0000000.tiles", 0)
    file = tmp_path / "0000000.tiles"
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(ResweepError, match=r"is no batch of a tile store .*; remove the folder .* and build again"):
        Batch.open(file)


def test_a_damaged_block_is_said_to_be_one(tmp_path):
    write(tmp_path, "0000000.tiles", 0)
    file = tmp_path / "0000000.tiles"
    data = bytearray(file.read_bytes())
    body = Batch.open(file).body
    data[body : body + 40] = bytes(40)
    file.write_bytes(data)
    batch = Batch.open(file)
    with pytest.raises(ResweepError, match="is damaged"):
        list(batch.read("points", {(int(e["x"]), int(e["y"])) for e in batch.index["points"]}))


def write_ground(folder) -> tuple[TiledLog, np.ndarray]:
    """Two sweeps of 400 points in one tile of 8 m, and all points in their order."""
    points = []
    for at in (0, 1):
        rows = rows_of(POINT, 400, at)
        rows["points"][:, :2] = np.random.default_rng(at).uniform(0, 8, (400, 2))
        rows["sweep"], rows["row"] = np.full(400, at, np.int32), np.arange(400, dtype=np.int32)
        tables = {"points": (rows, find_squares(rows["points"], 1.0), None)}
        tables["beams"] = (no_rows(BEAM), np.zeros((0, 2), int), None)
        write_batch(folder / f"{at:07d}.tiles", tables, {})
        points.append(rows["points"])
    rule = MovingRule("none", np.zeros((2, 4, 4)))
    return TiledLog(folder, np.zeros(3), 8.0, MapConfig(), UNKNOWN_LABELS, 0.0, rule), np.concatenate(points)


@pytest.mark.parametrize("margin_m", [0.0, 0.4, 1.0, 1.3])
def test_a_part_holds_the_points_within_its_margin_in_their_order(tmp_path, margin_m):
    tiled, points = write_ground(tmp_path)
    square = Square(1, 0, 4.0)
    low, high = square.low - margin_m, square.high + margin_m
    inside = ((points[:, :2] >= low) & (points[:, :2] < high)).all(axis=1)
    part = SquarePart.read(tiled, square, margin_m)
    assert np.array_equal(part.rows["points"], points[inside])
    assert np.array_equal(part.cell, find_squares(points[inside], 1.0))


def test_a_row_may_lie_in_several_squares(tmp_path):
    rows, row = rows_of(BEAM, 5, 0), np.array([0, 3, 3, 4])
    squares = np.array([[0, 0], [1, 0], [0, 0], [1, 0]])
    write_batch(tmp_path / "0000000.tiles", {"beams": (rows, squares, row)}, {})
    found = dict(TileStore.open(tmp_path).read("beams", {(0, 0), (1, 0)}))
    for square, wanted in (((0, 0), [0, 3]), ((1, 0), [3, 4])):
        assert np.array_equal(found[square]["length"], rows["length"][wanted])


def test_flags_come_back_in_the_order_of_points_however_a_cell_was_divided(tmp_path):
    tiled, _ = write_ground(tmp_path)

    def flag(part: SquarePart) -> np.ndarray:
        return STILL + PERMEABLE * ((part.rows["row"] + part.rows["sweep"]) % 2).astype(np.uint8)

    squares = [square for half in Square(0, 0, 1.0).quarters() for square in half.quarters()]
    parts = [SquarePart.read(tiled, square, 0.3) for square in (*squares, *(Square(0, y, 1.0) for y in range(1, 8)))]
    parts += [SquarePart.read(tiled, Square(x, y, 1.0), 0.3) for x in range(1, 8) for y in range(8)]
    write_flags(tiled, (0, 0), [(part, flag(part)) for part in parts])
    whole = SquarePart.read(replace(tiled, classes=True), Square(0, 0, 8.0), 0.0)
    assert len(whole) == 800
    assert np.array_equal(whole.flags, flag(whole))
