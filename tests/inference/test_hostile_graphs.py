"""Networks that would hang, take all memory, crash or give nonsense are refused in one line that names their file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.inference import CheckedNetwork, InputShape, checked_network
from resweep.inference.checked_network import read_model_file
from tests.fuzz.samples_models import ONE_BRANCH

onnx = pytest.importorskip("onnx", reason="needs resweep[learn]")
pytest.importorskip("onnxruntime", reason="needs resweep[realism]")

helper = onnx.helper
FLOAT, INT = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
WIDTH = 9


def value(name: str, shape: list[Any], kind: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name: str, *values: Any, dtype: Any = np.int64) -> Any:
    return onnx.numpy_helper.from_array(np.array(values, dtype), name)


def scalar(name: str, given: Any, dtype: Any = np.int64) -> Any:
    return onnx.numpy_helper.from_array(np.array(given, dtype), name)


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    """A node; ``inputs`` and ``outputs`` are names with spaces between, ``_`` for one that is left out."""
    names = [name.replace("_", "") for name in inputs.split()]
    return helper.make_node(kind, names, outputs.split(), **attributes)


def make_model(*nodes: Any, constants: tuple[Any, ...] = (), output: str = "y", domains: tuple[str, ...] = ()) -> Any:
    """A model that takes ``x`` (n, 9) and gives ``y`` (n, 1): by the nodes, which end in it."""
    graph = helper.make_graph(list(nodes), "g", [value("x", ["n", WIDTH])], [value(output, ["n", 1])], list(constants))
    opsets = [helper.make_opsetid(domain, version) for domain, version in (("", 17), *((d, 1) for d in domains))]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def mean(source: str = "x") -> Any:
    return node("ReduceMean", source, "m", axes=[1], keepdims=1)


def call(model: Any, rows: int = 4) -> np.ndarray:
    """What a model gives for some rows."""
    data = model if isinstance(model, bytes) else model.SerializeToString()
    shapes = {"x": InputShape("float32", (None, WIDTH))}
    network = CheckedNetwork(data, "bad.onnx", shapes, {"x": (1, WIDTH)}, (1, 1), "learn it again")
    return network.run({"x": np.linspace(-1, 2, rows * WIDTH, dtype=np.float32).reshape(rows, -1)}, (rows, 1))


def refusal(model: Any) -> str:
    with pytest.raises(ResweepError) as caught:
        call(model)
    text = str(caught.value)
    assert text.startswith("bad.onnx: ")
    assert text.endswith("; learn it again")
    assert "\n" not in text
    return text


def test_a_good_one_runs() -> None:
    assert call(make_model(mean(), node("Sigmoid", "m", "y"))).shape == (4, 1)


def make_loop() -> Any:
    body = helper.make_graph(
        [node("Identity", "keep", "on"), node("Relu", "v", "out")],
        "body",
        [value("i", [], INT), value("keep", [], onnx.TensorProto.BOOL), value("v", ["n", 1])],
        [value("on", [], onnx.TensorProto.BOOL), value("out", ["n", 1])],
    )
    parts = (scalar("most", 2**62), scalar("true", True, bool))
    return make_model(mean(), node("Loop", "most true m", "y", body=body), constants=parts)


def make_branch() -> Any:
    branches = {
        name: helper.make_graph([node("Relu", "m", name)], name, [], [value(name, ["n", 1])]) for name in ("a", "b")
    }
    chosen = node("If", "true", "y", then_branch=branches["a"], else_branch=branches["b"])
    return make_model(mean(), chosen, constants=(scalar("true", True, bool),))


def make_scan() -> Any:
    body = helper.make_graph([node("Relu", "v", "out")], "body", [value("v", [1])], [value("out", [1])])
    return make_model(mean(), node("Scan", "m", "y", body=body, num_scan_inputs=1))


@pytest.mark.parametrize("make", [make_loop, make_branch, make_scan])
def test_control_flow(make: Callable[[], Any]) -> None:
    assert "graphs within its graph (control flow), which are not accepted" in refusal(make())


def test_operators_that_are_not_listed() -> None:
    assert "the operator 'NonZero' is not accepted" in refusal(
        make_model(node("NonZero", "x", "z"), node("Cast", "z", "y", to=FLOAT))
    )
    gelu = make_model(mean(), node("Gelu", "m", "y", domain="com.microsoft"), domains=("com.microsoft",))
    assert "the operator 'com.microsoft.Gelu' is not of ONNX itself" in refusal(gelu)


def test_functions() -> None:
    model = make_model(mean(), node("Twice", "m", "y", domain="own"), domains=("own",))
    inside = helper.make_function(
        "own", "Twice", ["a"], ["b"], [node("Add", "a a", "b")], [helper.make_opsetid("", 17)]
    )
    model.functions.append(inside)
    assert "it has functions, which are not accepted" in refusal(model)


HUGE = 2**30
SIZES = {
    "ConstantOfShape": ([node("ConstantOfShape", "s", "z")], [constant("s", HUGE, 8)]),
    "Expand": ([node("Expand", "m s", "z")], [constant("s", 1, HUGE)]),
    "Tile": ([node("Tile", "m s", "z")], [constant("s", 1, HUGE)]),
    "Range": ([node("Range", "a b c", "z")], [scalar("a", 0), scalar("b", HUGE), scalar("c", 1)]),
    "Resize": ([node("Resize", "m _ s", "z")], [constant("s", 1, HUGE, dtype=np.float32)]),
    "OneHot": (
        [node("Cast", "m", "i", to=INT), node("OneHot", "i s v", "z")],
        [scalar("s", HUGE), constant("v", 0, 1, dtype=np.float32)],
    ),
    "Pad": ([node("Pad", "m s", "z")], [constant("s", 0, 0, 0, HUGE)]),
}


@pytest.mark.parametrize("kind", list(SIZES))
def test_huge_values(kind: str) -> None:
    nodes, constants = SIZES[kind]
    last = [node("ReduceMax", "z", "top", keepdims=0), node("Add", "mf top", "y")]
    if kind == "Range":
        nodes = [*nodes, node("Cast", "z", "zf", to=FLOAT)]
        last[0] = node("ReduceMax", "zf", "top", keepdims=0)
    model = make_model(mean(), *nodes, node("Identity", "m", "mf"), *last, constants=tuple(constants))
    assert f"{kind}: it takes more than 0.3 GB for" in refusal(model)


def test_values_that_grow_step_by_step() -> None:
    """Each step is small for the one before; all of them together are not."""
    nodes = [node("Concat", f"z{at} z{at}", f"z{at + 1}", axis=1) for at in range(40)]
    model = make_model(node("Identity", "x", "z0"), *nodes, mean("z40"), node("Identity", "m", "y"))
    assert "Concat: it takes more than 0.3 GB" in refusal(model)


def test_sizes_that_depend_on_data() -> None:
    nodes = (
        mean(),
        node("ReduceMax", "x", "top", keepdims=0),
        node("Cast", "top", "i", to=INT),
        node("Unsqueeze", "i at", "s"),
        node("ConstantOfShape", "s", "z"),
        node("ReduceMax", "z", "zero", keepdims=0),
        node("Add", "m zero", "y"),
    )
    text = refusal(make_model(*nodes, constants=(constant("at", 0),)))
    assert "ConstantOfShape: its sizes depend on data, so its size is unknown before it runs" in text


def test_sizes_that_follow_from_shapes_are_taken() -> None:
    """As PyTorch writes them: a shape is taken apart, and its parts are joined again."""
    nodes = (
        node("Shape", "x", "s"),
        node("Gather", "s zero", "n", axis=0),
        node("Unsqueeze", "n at", "n1"),
        node("Concat", "n1 three", "sizes", axis=0),
        node("Reshape", "x sizes", "r"),
        node("ReduceMean", "r", "m", axes=[1, 2], keepdims=0),
        node("Unsqueeze", "m one", "y"),
    )
    parts = (scalar("zero", 0), constant("at", 0), constant("three", 3, 3), constant("one", 1))
    assert call(make_model(*nodes, constants=parts), rows=7).shape == (7, 1)


def test_too_much_work() -> None:
    wide = onnx.numpy_helper.from_array(np.ones((WIDTH, 1024), np.float32), "w")
    square = onnx.numpy_helper.from_array(np.ones((1024, 1024), np.float32), "q")
    products = [node("MatMul", f"h{at} q", f"h{at + 1}") for at in range(2000)]
    model = make_model(
        node("MatMul", "x w", "h0"), *products, mean("h2000"), node("Identity", "m", "y"), constants=(wide, square)
    )
    assert "MatMul: it needs more than 1.0e+09 multiply-adds for 9 numbers" in refusal(model)


def test_data_in_other_files(tmp_path: Path) -> None:
    for place in ("weights.bin", "../../etc/passwd", "/etc/passwd", "*/_ORT_MEM_ADDR_/*"):
        weight = constant("w", 1.0, dtype=np.float32)
        weight.ClearField("raw_data")
        weight.data_location = onnx.TensorProto.EXTERNAL
        weight.external_data.add(key="location", value=place)
        inside = node("Constant", "", "w", value=weight)
        assert "its weights lie in another file" in refusal(
            make_model(mean(), node("Mul", "m w", "y"), constants=(weight,))
        )
        assert "its weights lie in another file" in refusal(make_model(mean(), inside, node("Mul", "m w", "y")))
        weight.ClearField("external_data")
        assert "its weights lie in another file" in refusal(
            make_model(mean(), node("Mul", "m w", "y"), constants=(weight,))
        )


def test_outputs_of_another_shape() -> None:
    half = (constant("a", 0), constant("b", 2))
    rows = make_model(mean(), node("Slice", "m a b", "y"), constants=half)
    assert "gives float32 of shape [2, 1] in place of [4, 1]" in refusal(rows)
    assert "gives float32 of shape [9, 1] in place of [1, 1]" in refusal(
        make_model(node("Transpose", "x", "t"), node("ReduceMax", "t", "y", axes=[1]))
    )
    assert "gives float32 of shape [1] in place of [1, 1]" in refusal(
        make_model(node("ReduceMax", "x", "y", axes=[1], keepdims=0))
    )


def test_outputs_that_are_not_finite() -> None:
    assert "gives values that are not finite" in refusal(make_model(mean(), node("Log", "m", "y")))


def test_inputs_and_outputs_of_another_name_or_type() -> None:
    model = make_model(mean(), node("Relu", "m", "y"))
    model.graph.input.append(value("z", ["n", 2]))
    assert "takes x float32[any, 9], z float32[any, 2], where there is x float32[any, 9]" in refusal(model)
    model = make_model(mean(), node("Relu", "m", "y"))
    model.graph.output.append(value("m", ["n", 1]))
    assert "gives y float32[any, 1], m float32[any, 1], where one output of float32 is expected" in refusal(model)
    model = make_model(mean(), node("Cast", "m", "y", to=INT))
    model.graph.output[0].type.tensor_type.elem_type = INT
    assert "where one output of float32 is expected" in refusal(model)
    model.graph.output[0].type.tensor_type.elem_type = FLOAT
    assert "gives int64 of shape [1, 1]" in refusal(model)


def test_integers_divided_by_zero() -> None:
    """Which ends a process on some versions of onnxruntime."""
    for zero in ((scalar("d", 0),), ()):
        nodes = [node("Cast", "m", "i", to=INT), node("Div", "i d", "q"), node("Cast", "q", "y", to=FLOAT)]
        given = [] if zero else [node("Cast", "x", "j", to=INT), node("ReduceMin", "j", "d", axes=[1])]
        model = make_model(mean(), *given, *nodes, constants=zero)
        assert "Div: integers are divided by what is no constant above 0" in refusal(model)


def test_errors_of_onnxruntime_are_one_line() -> None:
    table = onnx.numpy_helper.from_array(np.ones((2, 1), np.float32), "t")
    nodes = (
        node("ReduceSum", "x", "s", keepdims=0),
        node("Cast", "m", "i", to=INT),
        node("Add", "i far", "j"),
        node("Squeeze", "j one", "k"),
        node("Gather", "t k", "y", axis=0),
    )
    model = make_model(mean(), *nodes, constants=(table, scalar("far", 1000), constant("one", 1)))
    assert "onnxruntime cannot run it (" in refusal(model)


def test_another_format_in_disguise() -> None:
    """A file that is ONNX, and that onnxruntime would take for its own format: what was checked is what runs."""
    plain = make_model(mean(), node("Relu", "m", "y")).SerializeToString()
    disguised = bytes([0x08, 9, 0x12, 4]) + b"ORTM" + plain[plain.index(b"\x3a") :]
    assert onnx.load_from_string(disguised).producer_name == "ORTM"
    assert call(disguised).shape == (4, 1)


def test_bytes_that_can_be_read_in_two_ways() -> None:
    model = make_model(mean(), node("Relu", "m", "y"))
    data = model.SerializeToString()
    graph = model.graph.SerializeToString()
    twice = data + b"\x3a" + bytes([len(graph) & 0x7F | 0x80, len(graph) >> 7]) + graph
    assert "the field 'graph' is given twice" in refusal(twice)
    assert "it has the field 99, which is unknown here" in refusal(data + bytes([0x98, 0x06, 0]))
    assert "the field 'graph' has another type" in refusal(b"\x38\x01")
    assert "it ends in the middle of a field" in refusal(data[:-3])
    assert "it is no protobuf message" in refusal(b"no onnx at all")
    assert "it holds no graph" in refusal(b"\x08\x09\x42\x04\x0a\x00\x10\x11")


def test_too_many_operators_and_too_large_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    many = make_model(mean(), *(node("Relu", "m", f"r{at}") for at in range(5001)), node("Relu", "m", "y"))
    assert "operators; at most 5,000 are accepted" in refusal(many)
    monkeypatch.setattr(checked_network, "MAX_BYTES", 100)
    assert "bytes; at most 100 are read" in refusal(make_model(mean(), node("Relu", "m", "y")))


def test_tensors_whose_numbers_do_not_fit() -> None:
    weight = constant("w", 1.0, dtype=np.float32)
    weight.dims[0] = 1000
    assert "a tensor of shape [1000] has 1 numbers" in refusal(
        make_model(mean(), node("Mul", "m w", "y"), constants=(weight,))
    )


def make_trees(**changes: Any) -> Any:
    """One branch and two leaves, with some attributes changed."""
    attributes = {
        **ONE_BRANCH,
        "nodes_featureids": [3, 0, 0],
        "nodes_values": [0.5, 0.0, 0.0],
        **changes,
    }
    trees = node("TreeEnsembleRegressor", "x", "y", domain="ai.onnx.ml", **attributes)
    return make_model(trees, domains=("ai.onnx.ml",))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"nodes_truenodeids": [0, 0, 0]}, "its nodes are no trees"),  # round and round
        ({"nodes_falsenodeids": [1, 0, 0]}, "its nodes are no trees"),
        ({"nodes_falsenodeids": [7, 0, 0]}, "its nodes are no trees"),
        ({"nodes_featureids": [9, 0, 0]}, "it asks for a channel that is not there; there are 9"),
        ({"nodes_featureids": [-1, 0, 0]}, "it asks for a channel that is not there; there are 9"),
        ({"target_ids": [0, 1]}, "its leaves are not accepted"),
        ({"target_nodeids": [1, 0]}, "a leaf is missing"),
        ({"nodes_values": [0.5]}, "its nodes are not accepted"),
        ({"n_targets": 2**40}, "its targets are not accepted"),
        ({"nodes_hitrates": [1.0, 1.0, 1.0]}, "one of its attributes, is not accepted"),
    ],
)
def test_trees_that_are_none(changes: dict, problem: str) -> None:
    assert sorted(set(call(make_trees()).ravel().tolist())) == [0.25, 0.75]
    assert problem in refusal(make_trees(**changes))


def test_trees_that_are_too_deep() -> None:
    depth = 3000
    count = 2 * depth + 1
    inner = list(range(0, 2 * depth, 2))
    model = make_trees(
        nodes_treeids=[0] * count,
        nodes_nodeids=list(range(count)),
        nodes_featureids=[0] * count,
        nodes_modes=["BRANCH_LEQ" if at in set(inner) else "LEAF" for at in range(count)],
        nodes_values=[0.0] * count,
        nodes_truenodeids=[at + 1 if at % 2 == 0 and at < 2 * depth else 0 for at in range(count)],
        nodes_falsenodeids=[at + 2 if at % 2 == 0 and at < 2 * depth else 0 for at in range(count)],
        target_treeids=[0],
        target_nodeids=[1],
        target_ids=[0],
        target_weights=[1.0],
    )
    assert "a tree is deeper than 1,100" in refusal(model)


def test_files_that_are_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.onnx")
    with pytest.raises(ResweepError, match=r"a.onnx: is no regular file; again"):
        read_model_file(tmp_path / "a.onnx", "again")
    with pytest.raises(ResweepError, match=r"b.onnx: cannot be read \(No such file or directory\); again"):
        read_model_file(tmp_path / "b.onnx", "again")
