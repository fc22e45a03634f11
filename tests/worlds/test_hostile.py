"""Worlds and banks from strangers: nothing is run, followed or made large; each is one error that names the file."""

from __future__ import annotations

import json
import os
import pickle
import resource
import shutil
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import pytest
import zarr

from resweep.errors import ResweepError
from resweep.scenario import Asset, Bank, load_bank
from resweep.viewer.describe import describe
from resweep.worlds import Mesh, Splats, Volumes, World, load_world

GIB = 1 << 30


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    """No more than a gibibyte beyond what the process has: what is made too large fails instead of filling the disk."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + GIB, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(1)
    place = rng.uniform(-5, 5, (50, 3))
    up = np.tile([0.0, 0.0, 1.0], (50, 1))
    columns = {"label": rng.integers(0, 3, 50), "extra": {"seen": rng.integers(0, 3, 50)}}
    layers = [
        Splats(place, up, np.full(50, 0.1), **columns),
        Volumes(place, np.tile([1.0, 0, 0, 1, 0, 1], (50, 1)), 0.5, **columns),
        Mesh(rng.uniform(-5, 5, (30, 3)), rng.permutation(30).reshape(-1, 3), label=rng.integers(0, 3, 10)),
    ]
    return World(layers).save(tmp_path_factory.mktemp("harmless") / "a.world")


@pytest.fixture
def world(harmless: Path, tmp_path: Path) -> Path:
    shutil.copytree(harmless, tmp_path / "a.world")
    return tmp_path / "a.world"


def change(file: Path, how: Callable[[Any], Any]) -> None:
    data = json.loads(file.read_text())
    how(data)
    file.write_text(json.dumps(data))


def refused(path: Path, match: str, load: Callable[[Path], Any] = load_world) -> None:
    with pytest.raises(ResweepError, match=match) as error:
        load(path)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(str(path))


CENTRE = "layers/0000/centre"


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        (lambda a: a.update(zarr_format=2), "Zarr version 2; only arrays of version 3 are read"),
        (lambda a: a.update(node_type="group"), "only arrays of version 3"),
        (lambda a: a["codecs"].insert(0, {"name": "numcodecs.pickle"}), "codec 'numcodecs.pickle' is not allowed"),
        (lambda a: a["codecs"].insert(1, {"name": "gzip", "configuration": {"level": 1}}), "codec 'gzip'"),
        (lambda a: a.update(codecs=[{"name": "sharding_indexed", "configuration": {}}]), "codec 'sharding_indexed'"),
        (lambda a: a.update(codecs=a["codecs"][:1]), "is not allowed; bytes, blosc, crc32c are, in this order"),
        (lambda a: a["codecs"][1]["configuration"].update(cname="lz4"), "blosc has other settings"),
        (lambda a: a["codecs"][1].update(configuration=[]), "blosc has other settings"),
        (lambda a: a["codecs"][1].update(configuration="zstd"), "is no mapping"),
        (lambda a: a["codecs"][0]["configuration"].update(endian="big"), "not little-endian"),
        (lambda a: a.update(codecs={"bytes": 1}), "codecs are no list"),
        (lambda a: a.update(data_type="string"), "type 'string' is not allowed"),
        (lambda a: a.update(data_type={"name": "numpy.datetime64"}), "is not allowed"),
        (lambda a: a.update(data_type="variable_length_bytes"), "is not allowed"),
        (lambda a: a.update(shape=[-1, 3]), "no list of sizes"),
        (lambda a: a.update(shape=[True, 3]), "no list of sizes"),
        (lambda a: a.update(shape=[50, 1 << 40]), "not that of a column"),
        (lambda a: a.update(shape=[50, 3, 1, 1, 1]), "not that of a column"),
        (lambda a: a.update(shape=[1 << 50, 3]), "not that of a column"),
        (lambda a: a.update(shape=[1 << 39, 3]), "it has 549755813888 rows, the tiles 50"),
        (lambda a: a["chunk_grid"]["configuration"].update(chunk_shape=[1 << 33, 3]), "a chunk would have 103,079,"),
        (
            lambda a: a["chunk_grid"]["configuration"].update(chunk_shape=[40, 3]),
            "would unpack to 600 bytes, a chunk has",
        ),
        (lambda a: a["chunk_grid"]["configuration"].update(chunk_shape=[0, 3]), "are no rows of"),
        (lambda a: a["chunk_grid"].update(configuration=None), "no list of sizes"),
        (lambda a: a.update(chunk_key_encoding={"name": "v2"}), "chunk_key_encoding"),
        (lambda a: a.update(storage_transformers=[{"name": "x"}]), "storage_transformers"),
        (lambda a: a.update(must_understand={"evil": 1}), "'must_understand' is not allowed"),
        (lambda a: a.update(fill_value={"a": 1}), "fill_value"),
    ],
)
def test_only_arrays_as_we_write_them_are_opened(world: Path, how: Callable[[Any], Any], reason: str) -> None:
    change(world / CENTRE / "zarr.json", how)
    refused(world, rf"layers/0000/centre: is damaged \(.*{reason}")


def test_a_pickle_of_zarr_version_2_is_not_opened(world: Path, tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "pwned"),)

    folder = world / CENTRE
    shutil.rmtree(folder)
    codec = numcodecs.Pickle()
    array = zarr.create_array(
        str(folder), shape=(1,), chunks=(1,), dtype="int8", zarr_format=2, filters=None, compressors=None
    )
    assert array.metadata.zarr_format == 2
    change(folder / ".zarray", lambda a: a.update(dtype="|O", filters=[codec.get_config()], fill_value=None))
    (folder / "0").write_bytes(pickle.dumps(Evil()))
    refused(world, r"layers/0000/centre: is damaged \(it has no zarr.json; only Zarr version 3 is read\)")
    assert not (tmp_path / "pwned").exists()


def bomb(count: int) -> bytes:
    """A Blosc chunk of zeros with its checksum, which is tiny and unpacks to ``count`` bytes."""
    packed = numcodecs.Blosc("zstd", 1).encode(np.zeros(count, np.uint8))
    return numcodecs.CRC32C(location="end").encode(packed).tobytes()


def test_a_chunk_that_unpacks_to_more_than_a_chunk_is_not_unpacked(world: Path) -> None:
    data = bomb(GIB // 8)
    assert len(data) < 200_000
    (world / CENTRE / "c/0/0").write_bytes(data)
    refused(world, r"centre: is damaged \(chunk 0 would unpack to 134,217,728 bytes, a chunk has 600\)")
    (world / CENTRE / "c/0/0").write_bytes(data[:-10])
    refused(world, r"centre: is damaged \(chunk 0 has .* bytes, its header says")


def test_more_than_the_machine_holds_is_not_read(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_world(world)
    monkeypatch.setattr("resweep.worlds.store.stored_arrays.total_memory", lambda: 2000)
    refused(world, "the world takes more than 0 GiB, the limit on this machine; read a part of it with bounds")


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_counts_that_are_not_there_take_no_memory(world: Path, layer: int) -> None:
    entry = json.loads((world / "world.json").read_text())["layers"][layer]
    count = next(name for name in ("n_splats", "n_volumes", "n_faces") if name in entry)
    many = 1 << 41

    def claim(data: Any) -> None:
        data["layers"][layer].update({count: many, "counting": ["order"]})

    change(world / "world.json", claim)
    refused(world, f"tiles do not add up to {many} rows")
    rows = np.zeros((1, 10))
    rows[0, 2] = many
    folder = world / entry["path"] / "tiles"
    shutil.rmtree(folder)
    group = zarr.open_group(str(world), mode="a")
    from resweep.worlds.store.tiled_columns import _write_array

    _write_array(group, f"{entry['path']}/tiles", rows)
    refused(world, rf"is damaged \(it has \d+ rows, the tiles {many}\)")


def test_a_number_of_vertices_takes_no_memory(world: Path) -> None:
    change(world / "world.json", lambda data: data["layers"][2].update(n_vertices=1 << 50))
    one, other = load_world(world).layers[2], load_world(world).layers[2]
    np.testing.assert_array_equal(one.vertices[one.faces], other.vertices[other.faces])
    assert len(one.vertices) == 30


@pytest.mark.parametrize("path", ["/etc", "../b.world/layers/0000", "layers/../../b", "", "C:\\x", "a\\..\\b", "x\0y"])
def test_paths_that_lead_elsewhere_are_refused(world: Path, path: str) -> None:
    shutil.copytree(world, world.with_name("b.world"))
    change(world / "world.json", lambda data: data["layers"][0].update(path=path))
    refused(world, r"world\.json: layers\[0\]: path .* is not allowed; paths are relative, without '\.\.'")


def test_columns_that_lead_elsewhere_are_refused(world: Path) -> None:
    change(world / "world.json", lambda data: data["layers"][0].update(extra=["/../../0001/label"]))
    refused(world, r"world\.json: layers\[0\]: a column cannot be called")


@pytest.mark.parametrize(
    "name", ["layers", "layers/0000", CENTRE, f"{CENTRE}/zarr.json", f"{CENTRE}/c", f"{CENTRE}/c/0/0"]
)
@pytest.mark.parametrize("outside", [True, False])
def test_links_within_a_world_are_refused(world: Path, tmp_path: Path, name: str, outside: bool) -> None:
    place = (tmp_path if outside else world) / "elsewhere"
    shutil.move(world / name, place)
    (world / name).symlink_to(place)
    refused(world, "is or lies behind a link, which is not followed")


def test_an_index_that_is_a_link_is_refused_and_a_world_behind_one_is_not(world: Path, tmp_path: Path) -> None:
    (tmp_path / "link.world").symlink_to(world)
    assert len(load_world(tmp_path / "link.world").layers) == 3
    shutil.move(world / "world.json", tmp_path / "index.json")
    (world / "world.json").symlink_to(tmp_path / "index.json")
    refused(world, "is or lies behind a link")


TURNS = 2
WRONG: list[Any] = [None, True, -1, 1e300, 10**400, "x", [], {}, [[]], {"a": [1]}, "../x", float("nan")]


def places(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where each value of some JSON is; of long lists and of vocabularies only the first few."""
    if at:
        yield at
    if isinstance(data, dict | list):
        keys = list(data) if isinstance(data, dict) else range(len(data))
        for key in keys[: 3 if at[-1:] == ("classes",) or isinstance(data, list) else None]:
            yield from places(data[key], (*at, key))


def mutants(file: Path) -> Iterator[tuple[Any, ...]]:
    """The JSON file with each of its values wrong in some ways, one after another, and without it."""
    whole = file.read_text()
    turns = cycle(WRONG)  # each place gets a few of them
    for at in places(json.loads(whole)):
        for value in [*islice(turns, TURNS), KeyError]:
            data = json.loads(whole)
            inner = data
            for key in at[:-1]:
                inner = inner[key]
            if value is KeyError:
                del inner[at[-1]]
            else:
                inner[at[-1]] = value
            file.write_text(json.dumps(data))
            yield at, value
    file.write_text(whole)


def count_errors(path: Path, index: str, load: Callable[[Path], Any]) -> int:
    """How many mutants of an index are refused; each must be read, or refused with lines that name the file."""
    messages = {}
    for where in mutants(path / index):
        try:
            load(path)
        except ResweepError as error:
            messages[str(where)] = str(error)
    for where, message in messages.items():
        assert all(line.startswith(str(path)) for line in message.splitlines()), where  # a line for each wrong field
    return len(messages)


def test_wrong_values_in_the_index_of_a_world_are_one_error(world: Path) -> None:
    calibration = {"elevation_rad": [0.1], "range_m": [0.2]}
    change(world / "world.json", lambda data: data.update(calibration=calibration, layers=data["layers"][1:]))
    assert count_errors(world, "world.json", load_world) > 60


@pytest.mark.parametrize("value", [*WRONG[2:], {"x": 1}, {"1": "x"}, {"1": None}, {"9" * 5000: 1}])
def test_what_an_index_says_of_its_labels_is_checked(world: Path, value: Any) -> None:
    change(world / "world.json", lambda data: data.update(label_counts={"1": 2}))
    assert describe(world)["labels"] == {"label 1": 2}
    change(world / "world.json", lambda data: data.update(label_counts=value))
    if value == {}:
        assert describe(world)["labels"] == {}
    else:
        refused(world, r"world\.json: (field 'label_counts' cannot be|cannot be read \(.*number)", describe)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"format": "resweep-world", "origin": ' + "9" * 5000 + "}", "\xff\xfe"]
)
def test_an_index_that_cannot_be_parsed_is_one_error(world: Path, text: str) -> None:
    (world / "world.json").write_bytes(text.encode("latin-1"))
    refused(world, r"world\.json: cannot be read")


def test_an_index_that_is_too_large_is_not_read(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resweep.files.untrusted.MAX_JSON_BYTES", 100)
    refused(world, r"world\.json: has .* bytes, at most 100 are read")


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    cube = Mesh([[0, 0, 0], [4, 0, 0], [0, 2, 1]], [[0, 1, 2]])
    return Bank([Asset("car-1", 10, "car", (4.0, 2.0, 1.5), (cube,))], {"log": "x"}).save(tmp_path / "bank")


def read_bank(path: Path) -> None:
    for asset in load_bank(path).values():
        assert asset.coverage


def test_wrong_values_in_the_index_of_a_bank_are_one_error(bank: Path) -> None:
    assert count_errors(bank, "bank.json", read_bank) > 30


def test_assets_behind_links_are_refused(bank: Path, tmp_path: Path) -> None:
    shutil.move(bank / "assets/car-1.world", tmp_path / "other.world")
    (bank / "assets/car-1.world").symlink_to(tmp_path / "other.world")
    refused(bank, "is or lies behind a link", read_bank)


def test_an_asset_of_a_bank_has_the_same_guards(bank: Path) -> None:
    array = next((bank / "assets/car-1.world").rglob("vertices/zarr.json"))
    change(array, lambda data: data["codecs"].insert(0, {"name": "numcodecs.pickle"}))
    refused(bank, r"vertices: is damaged \(codec 'numcodecs.pickle' is not allowed", read_bank)


def test_a_column_that_could_not_be_read_is_not_written(tmp_path: Path) -> None:
    words = Splats([[0.0, 0, 0]] * 2, [[0.0, 0, 1]] * 2, [1.0, 1.0], extra={"word": np.array(["a", "b"])})
    with pytest.raises(ResweepError, match="column 'extra-word': <U1 cannot be saved; make it numbers"):
        World([words]).save(tmp_path / "a.world")
