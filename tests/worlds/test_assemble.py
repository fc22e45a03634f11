"""A world put together from many on disk has the bytes of one that was saved whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.labels import load_labels
from resweep.worlds import Instances, Mesh, Splats, Volumes, World, load_world
from resweep.worlds.store import assemble as assembling
from resweep.worlds.store import stored_arrays
from resweep.worlds.store import tiled_columns as tiles
from resweep.worlds.store.assemble import assemble_world
from resweep.worlds.store.save import save_world

ORIGIN = np.array([1000.5, -20.0, 3.0])
SIZE_M = 10.0
LABELS = load_labels("semantickitti")


class TwoProcesses:
    """Tasks on two other processes."""

    count = 2

    def map(self, function: Callable[[Any], Any], items: Sequence[Any], what: str, *, show: bool = True) -> Iterator:
        with ProcessPoolExecutor(2) as pool:
            yield from pool.map(function, items)


def splats(n: int, seed: int, low: tuple[float, float], name: str = "ground", **changed: Any) -> Splats:
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=(n, 3))
    columns = {
        "centre": np.c_[rng.uniform(0, SIZE_M, (n, 2)) + low, rng.normal(size=n)],
        "normal": normal / np.linalg.norm(normal, axis=1, keepdims=True),
        "radius": rng.uniform(0.05, 0.3, n),
        "label": rng.choice([40, 50, 70], n),
        "reflectance": rng.uniform(0, 1, n),
        "instance": 0,
        "extra": {"count": rng.integers(1, 9, n, dtype=np.int32), "intensity": rng.uniform(size=n).astype(np.float32)},
    }
    return Splats(**{**columns, "name": name, "depth": 8, **changed})


def volumes(n: int, seed: int, low: tuple[float, float]) -> Volumes:
    rng = np.random.default_rng(seed)
    mean = np.c_[rng.uniform(0, SIZE_M, (n, 2)) + low, rng.normal(size=n)]
    covariance = np.array([0.01, 0.0, 0.0, 0.02, 0.0, 0.01]) * rng.uniform(1, 2, (n, 1))
    return Volumes(mean, covariance, rng.uniform(0, 1, n), rng.uniform(0.1, 1, n), label=70, name="leaves")


def mesh(n: int, seed: int, low: tuple[float, float]) -> Mesh:
    rng = np.random.default_rng(seed)
    vertices = np.c_[rng.uniform(0, SIZE_M, (n, 2)) + low, rng.normal(size=n)]
    faces = rng.integers(0, n, (2 * n, 3))
    return Mesh(vertices, faces, label=rng.integers(0, 3, 2 * n), reflectance=0.25, name="roof")


def same_files(one: Path, other: Path) -> None:
    files = [sorted(file.relative_to(root) for file in root.rglob("*") if file.is_file()) for root in (one, other)]
    assert files[0] == files[1]
    for name in files[0]:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def joined(layers: Sequence[Any]) -> Any:
    """The rows of some layers behind each other, in memory."""
    first = layers[0]
    if isinstance(first, Mesh):
        before = np.cumsum([0, *(len(layer.vertices) for layer in layers)])
        faces = [layer.faces + at for layer, at in zip(layers, before.tolist(), strict=False)]
        columns = {
            name: np.concatenate([getattr(layer, name) for layer in layers])
            for name in ("label", "reflectance", "material", "instance")
        }
        return Mesh(
            np.concatenate([layer.vertices for layer in layers]), np.concatenate(faces), name=first.name, **columns
        )
    shape = ("centre", "normal", "radius") if isinstance(first, Splats) else ("mean", "covariance")
    more = () if isinstance(first, Splats) else ("permeability", "exposure_m")
    columns = {
        name: np.concatenate([getattr(layer, name) for layer in layers])
        for name in (*shape, *more, "label", "reflectance", "instance")
    }
    extra = {name: np.concatenate([layer.extra[name] for layer in layers]) for name in first.extra}
    settings = ("depth", "gap_m") if isinstance(first, Splats) else ("tau", "element_m")
    return type(first)(**columns, extra=extra, name=first.name, **{name: getattr(first, name) for name in settings})


def save_parts(folder: Path, parts: Sequence[Sequence[Any]]) -> list[Path]:
    return [
        save_world(World(layers, ORIGIN, labels=LABELS), folder / f"part-{i}.world", tile_size_m=SIZE_M)
        for i, layers in enumerate(parts)
    ]


def save_whole(path: Path, layers: Sequence[Any], meta: dict[str, Any]) -> Path:
    return save_world(World(layers, ORIGIN, meta, LABELS), path, tile_size_m=SIZE_M)


def assemble(parts: Sequence[Path], path: Path, **settings: Any) -> Path:
    given = {"origin": ORIGIN, "tile_size_m": SIZE_M, "meta": {"a": 1}, "labels": LABELS, "calibration": None}
    return assemble_world(parts, path, **{**given, **settings})


def test_the_bytes_are_those_of_one_world_saved_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "CHUNK_ROWS", 64)
    monkeypatch.setattr(assembling, "CHUNK_ROWS", 64)
    monkeypatch.setattr(assembling, "_TASK_BYTES", 100)
    a = [volumes(70, 1, (0, 0))]
    b = [splats(100, 2, (0, 10)), volumes(1, 3, (0, 10)), mesh(20, 4, (0, 10))]
    c = [splats(1, 5, (10, 0)), mesh(30, 6, (10, 0))]
    d = [splats(150, 7, (10, 10), label=50), volumes(60, 8, (10, 10))]
    parts = save_parts(tmp_path, [a, b, c, d])
    whole = [joined([b[0], c[0], d[0]]), joined([a[0], b[1], d[1]]), joined([b[2], c[1]])]
    expected = save_whole(tmp_path / "whole.world", whole, {"a": 1})
    same_files(assemble(parts, tmp_path / "one.world"), expected)
    same_files(assemble(parts, tmp_path / "two.world", workers=TwoProcesses()), expected)
    index = load_world(expected)
    assert [layer.kind for layer in index.layers] == ["splats", "volumes", "mesh"]


def test_parts_may_come_in_any_order_and_reach_into_each_other(tmp_path: Path) -> None:
    """Rows keep the order of the parts, and tiles that two parts share become one."""
    far = [splats(80, 1, (15, 5)), mesh(20, 3, (15, 5))]  # over four tiles
    near = [splats(50, 2, (12, 8)), mesh(25, 4, (12, 8))]
    parts = save_parts(tmp_path, [far, near])
    expected = save_whole(tmp_path / "whole.world", [joined(pair) for pair in zip(far, near, strict=True)], {"a": 1})
    same_files(assemble(parts, tmp_path / "one.world"), expected)


def test_columns_that_are_constant_in_parts_only(tmp_path: Path) -> None:
    one, other, third = (splats(20, i, (10.0 * i, 0)) for i in range(3))
    one = splats(20, 0, (0, 0), label=40, reflectance=0.0, extra={**one.extra, "count": np.full(20, 3, np.int32)})
    other = splats(20, 1, (10, 0), label=50, reflectance=0.0)
    third = splats(20, 2, (20, 0), label=50, reflectance=0.0)
    parts = save_parts(tmp_path, [[one], [other], [third]])
    expected = save_whole(tmp_path / "whole.world", [joined([one, other, third])], {"a": 1})
    assert load_world(expected).layers[0].reflectance.strides == (0,)
    same_files(assemble(parts, tmp_path / "one.world"), expected)


def test_chunks_of_zeros_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "CHUNK_ROWS", 16)
    monkeypatch.setattr(assembling, "CHUNK_ROWS", 16)
    parts = [[splats(40, i, (10.0 * i, 0), instance=i)] for i in range(2)]
    expected = save_whole(tmp_path / "whole.world", [joined([layers[0] for layers in parts])], {"a": 1})
    same_files(assemble(save_parts(tmp_path, parts), tmp_path / "one.world"), expected)


def test_the_order_of_layers_can_be_given(tmp_path: Path) -> None:
    parts = save_parts(tmp_path, [[volumes(5, 1, (0, 0))], [splats(5, 2, (10, 0))]])
    kinds = [layer.kind for layer in load_world(assemble(parts, tmp_path / "a.world")).layers]
    assert kinds == ["volumes", "splats"]
    wanted = [("splats", "ground"), ("mesh", "none"), ("volumes", "leaves")]
    made = assemble(parts, tmp_path / "b.world", layer_order=wanted)
    assert [layer.kind for layer in load_world(made).layers] == ["splats", "volumes"]


@pytest.mark.parametrize(
    ("other", "settings", "message"),
    [
        (splats(5, 1, (0, 0), depth=3), {}, r"part-1.world/world.json: layers\[0\]: depth are 3, those of .* are 8"),
        (splats(5, 1, (0, 0), extra={}), {}, r"extra are \[\], those of"),
        (splats(5, 1, (0, 0)), {"tile_size_m": 50.0}, "field 'tile_size_m' is 10.0, that of the whole is 50.0"),
        (splats(5, 1, (0, 0)), {"origin": np.zeros(3)}, "field 'origin' is"),
        (
            Instances(mesh(5, 1, (0, 0)), np.eye(4)[None, :3], name="stones"),
            {},
            "layers of kind 'instances' cannot be put together",
        ),
    ],
)
def test_parts_that_do_not_fit_are_refused(tmp_path: Path, other: Any, settings: dict[str, Any], message: str) -> None:
    parts = save_parts(tmp_path, [[splats(5, 1, (0, 0))], [other]])
    old = save_whole(tmp_path / "one.world", [mesh(5, 1, (0, 0))], {})
    with pytest.raises(ResweepError, match=message):
        assemble(parts, old, **settings)
    assert load_world(old).layers[0].kind == "mesh"


def test_a_damaged_part_leaves_the_old_world(tmp_path: Path) -> None:
    parts = save_parts(tmp_path, [[splats(50, 1, (0, 0))], [splats(50, 2, (10, 0))]])
    old = save_whole(tmp_path / "one.world", [mesh(5, 1, (0, 0))], {})
    (parts[1] / "layers/0000/radius/c/0").unlink()
    with pytest.raises(ResweepError, match=r"part-1.world/layers/0000/radius: is damaged \(chunk 0 is missing\)"):
        assemble(parts, old)
    assert load_world(old).layers[0].kind == "mesh"
    with pytest.raises(ResweepError, match="exists already"):
        assemble(parts[:1], old, overwrite=False)
    with pytest.raises(ResweepError, match="there is no part"):
        assemble([], old)
    assert stored_arrays.CHUNK_ROWS == assembling.CHUNK_ROWS
