"""Models of opset 1 to 6 become models of opset 7 that compute the same.

onnxruntime knows no operators older than opset 7, so what the old ones mean is in numpy here; the
suites `pytorch-converted` and `pytorch-operator` of the onnx package are models of opset 6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from helpers.onnx_models import Array, expected, int64, model, node, numbers, rejected
from npu_dialect.interpreters import run_function
from npu_tools.importers.onnx import build_module, import_model, load_model
from npu_tools.shared.errors import UserError

PLAIN: dict[str, Callable[[Array, Array], Array]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Pow": np.power,
    "Equal": np.equal,
    "Less": np.less,
}


def loaded(proto: ModelProto) -> ModelProto:
    """The model as the importer and onnxruntime read it."""
    found = load_model(proto.SerializeToString(), name="old", base_dir=None)
    assert found.opset_import[0].version == 7
    return found


def old_model(
    nodes: Sequence[NodeProto],
    shape: Sequence[int],
    opset: int,
    weights: dict[str, Array] | None = None,
    kind: int = TensorProto.UNDEFINED,
) -> ModelProto:
    """A model with one input `x` and one output `y` without a declared shape."""
    proto = model(nodes, {"x": shape}, ("y",), weights, opset)
    proto.graph.output[0].type.tensor_type.elem_type = kind or TensorProto.FLOAT
    proto.ir_version = 3
    names = {value.name for value in proto.graph.input}
    for tensor in proto.graph.initializer:  # IR 3 lists them among the inputs
        if tensor.name not in names:
            info = helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
            proto.graph.input.append(info)
    return proto


def check(proto: ModelProto, x: Array, want: Array, *, imports: bool = True) -> None:
    """Compare with numpy: onnxruntime on the new model, and our layers if there is a rule."""
    found = loaded(proto)
    (theirs,) = expected(found, {"x": x})
    np.testing.assert_allclose(theirs, want, rtol=1e-5, atol=1e-6)
    if imports:
        (ours,) = run_function(build_module(found, name="old"), None, [x])
        np.testing.assert_allclose(ours, want, rtol=1e-5, atol=1e-6)


@st.composite
def broadcasts(draw: st.DrawFn) -> tuple[tuple[int, ...], int, int]:
    """A shape, an axis, and how many axes the second operand has from there on."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=5)))
    axis = draw(st.integers(0, len(shape) - 1))
    return shape, axis, draw(st.integers(1, len(shape) - axis))


@settings(max_examples=40, deadline=None)
@given(
    found=broadcasts(),
    opset=st.sampled_from((1, 5, 6)),
    op=st.sampled_from(("Add", "Sub", "Mul")),
    negative=st.booleans(),
)
def test_an_operand_at_an_axis(
    found: tuple[tuple[int, ...], int, int], opset: int, op: str, negative: bool
) -> None:
    shape, axis, count = found
    x, b = numbers(*shape), numbers(*shape[axis : axis + count], seed=1)
    said = axis - len(shape) if negative else axis
    proto = old_model([node(op, "x b", broadcast=1, axis=said)], shape, opset, weights={"b": b})
    along = b.reshape(b.shape + (1,) * (len(shape) - axis - count))
    check(proto, x, PLAIN[op](x, along))


@pytest.mark.parametrize("op", ["Div", "Pow", "Equal", "Less"])
def test_other_operators_at_an_axis(op: str) -> None:
    x, b = np.abs(numbers(2, 3, 4)) + 1, np.abs(numbers(2, 3, seed=1))
    kind = TensorProto.BOOL if op in ("Equal", "Less") else TensorProto.FLOAT
    nodes = [node(op, "x b", broadcast=1, axis=0)]
    if op == "Equal":  # of integers only, before opset 11
        x, b = x.astype(np.int32), b.astype(np.int32)
        nodes = [node("Cast", "x", "i", to="INT32"), node(op, "i b", broadcast=1, axis=0)]
    proto = old_model(nodes, (2, 3, 4), 5, {"b": b}, kind)
    check(proto, x.astype(np.float32), PLAIN[op](x, b[:, :, np.newaxis]), imports=False)


def test_an_operand_that_ends_at_the_last_axis_and_one_of_the_same_shape() -> None:
    x = numbers(2, 3, 4)
    for b in (numbers(4), numbers(3, 4), numbers(2, 3, 4), numbers(1), np.array(3, np.float32)):
        proto = old_model([node("Add", "x b", broadcast=1)], x.shape, 6, {"b": b})
        check(proto, x, x + b)
    proto = old_model([node("Add", "x b", broadcast=0, axis=1)], x.shape, 6, {"b": x})
    check(proto, x, x + x)


def test_ranks_behind_other_layers() -> None:
    """The rank of the first operand is inferred through operators of all kinds."""
    nodes = [
        node("Conv", "x w", "c"),
        node("Add", "c b", "s", broadcast=1, axis=1),
        node("Relu", "s", "r"),
        node("Mul", "r b", "y", broadcast=1, axis=1),
    ]
    w, b, x = numbers(3, 2, 1, 1), numbers(3, seed=1), numbers(1, 2, 4, 5)
    proto = old_model(nodes, x.shape, 6, {"w": w, "b": b})
    sums = np.einsum("oi,nihw->nohw", w[:, :, 0, 0], x) + b.reshape(3, 1, 1)
    check(proto, x, np.maximum(sums, 0) * b.reshape(3, 1, 1))


def test_slopes_of_prelu_lie_along_the_channels() -> None:
    x, slope = numbers(2, 3, 4, 4), numbers(3, seed=1)
    proto = old_model([node("PRelu", "x s")], x.shape, 6, {"s": slope})
    check(proto, x, np.where(x < 0, x * slope.reshape(3, 1, 1), x), imports=False)
    proto = old_model([node("PRelu", "x s")], x.shape, 6, {"s": slope[:1]})
    check(proto, x, np.where(x < 0, x * slope[0], x), imports=False)


def test_attributes_that_became_operands_or_got_other_names() -> None:
    x = numbers(2, 3, 4)
    check(old_model([node("Reshape", "x", shape=[3, -1])], x.shape, 1), x, x.reshape(3, 8))
    padded = np.pad(x, ((0, 0), (0, 0), (1, 2)))
    pads = node("Pad", "x", paddings=[0, 0, 1, 0, 0, 2])
    check(old_model([pads], x.shape, 1), x, padded, imports=False)
    both = [node("Concat", "x x")]
    check(old_model(both, x.shape, 3), x, np.concatenate([x, x], axis=1))
    twice = node("Upsample", "x", height_scale=2.0, width_scale=3.0)
    image = numbers(1, 2, 2, 2)
    grown = image.repeat(2, axis=2).repeat(3, axis=3)
    check(old_model([twice], image.shape, 1), image, grown, imports=False)
    norm = [node("GlobalLpPool", "x", p=2.0)]
    want = np.sqrt((image**2).sum((2, 3), keepdims=True))
    check(old_model(norm, image.shape, 1), image, want, imports=False)


def test_casts_name_their_type() -> None:
    nodes = [node("Cast", "i", "f", to="FLOAT"), node("Add", "x f")]
    proto = old_model(nodes, (2, 3), 5, {"i": int64(1, 2, 3)})
    x = numbers(2, 3)
    proto.graph.node[1].attribute.append(helper.make_attribute("broadcast", 1))
    check(proto, x, x + np.arange(1, 4, dtype=np.float32))


def test_layers_of_inference_lose_their_mode() -> None:
    x, one = numbers(1, 3, 2, 2), np.ones(3, np.float32)
    mean = numbers(3, seed=1)
    nodes = [
        node("BatchNormalization", "x one m m one", "n", is_test=1, epsilon=0.0),
        node("Dropout", "n", "d", is_test=1),
        node("Relu", "d", consumed_inputs=[0]),
    ]
    weights: dict[str, Array] = {"one": one, "m": mean}
    proto = old_model([*nodes[:2], node("Relu", "d")], x.shape, 6, weights)
    check(proto, x, np.maximum(x, 0))
    nodes[0].attribute.append(helper.make_attribute("consumed_inputs", [0, 0, 0, 1, 1]))
    check(old_model(nodes, x.shape, 5, weights), x, np.maximum(x, 0))


def test_gemm_broadcasts_its_last_operand() -> None:
    x, w, c = numbers(2, 3), numbers(3, 4, seed=1), numbers(4, seed=2)
    for opset in (1, 6):
        proto = old_model([node("Gemm", "x w c", broadcast=1)], x.shape, opset, {"w": w, "c": c})
        check(proto, x, x @ w + c)


SIZES = {"two": int64(2, 2)}


@pytest.mark.parametrize(
    ("nodes", "opset", "parts"),
    [
        ([node("BatchNormalization", "x w w w w")], 6, ["opset 6: is_test = 0 is training mode"]),
        ([node("Dropout", "x")], 6, ["'the_Dropout' (Dropout) of opset 6: is_test = 0"]),
        ([node("Cast", "w", "i", to="NUMBER"), node("Add", "x i")], 5, ["a cast to 'NUMBER'"]),
        ([node("Split", "x two", "y z", axis=1)], 1, ["opset 2 changed its operands"]),
        ([node("Tile", "x two two")], 5, ["opset 6 changed its operands"]),
        ([node("GlobalLpPool", "x", p=1.5)], 1, ["p = 1.5; expected an integer"]),
        ([node("Reshape", "x")], 1, ["it has no shape"]),
        ([node("Add", "x w", broadcast=1, axis=3)], 6, ["rank 1 at axis 3 of one of rank 2"]),
        ([node("Add", "x w", broadcast=1, axis=2)], 6, ["rank 1 at axis 2 of one of rank 2"]),
        ([node("Add", "x w", broadcast=1, axis=-9)], 6, ["at axis -9"]),
        ([node("Sin", "x")], 6, ["'the_Sin' (Sin) of opset 6: No Op registered for Sin"]),
        ([node("Relu", "x", alpha=1.0)], 6, ["(Relu) of opset 6: Unrecognized attribute: alpha"]),
        ([node("Crop", "x", "c"), node("Add", "c w", broadcast=1, axis=0)], 4, ["not known"]),
        ([node("Add", "x w", broadcast="a")], 6, ["(Add) of opset 6"]),
    ],
)
def test_what_is_refused(nodes: list[NodeProto], opset: int, parts: list[str]) -> None:
    weights = {"w": numbers(4), **SIZES}
    rejected(old_model(nodes, (4, 4), opset, weights), *parts)


def test_names_of_new_values_are_free() -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a/b"], "r"),
        helper.make_node("Add", ["a/b", "b"], ["y"], "a", broadcast=1, axis=0),
    ]
    proto = old_model(nodes, (2, 3), 6, {"b": numbers(2)})
    check(proto, numbers(2, 3), np.maximum(numbers(2, 3), 0) + numbers(2)[:, np.newaxis])


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
@example(seed=3_961_267_990)  # a name that is no UTF-8
def test_damaged_models_give_a_message(seed: int) -> None:
    random: Any = np.random.default_rng(seed)
    weights = {"b": numbers(3), "w": numbers(3, 2, 1, 1), "s": numbers(3, seed=1)}
    nodes = [
        node("Conv", "x w", "c"),
        node("Add", "c b", "a", broadcast=1, axis=1),
        node("PRelu", "a s", "p"),
        node("Reshape", "p", "y", shape=[1, -1]),
    ]
    data = bytearray(old_model(nodes, (1, 2, 4, 4), 1, weights).SerializeToString())
    for _ in range(int(random.integers(1, 4))):
        data[int(random.integers(len(data)))] = int(random.integers(256))
    with suppress(UserError):
        import_model(bytes(data), name="bad", base_dir=None)


def test_large_weights_are_not_copied_for_ranks() -> None:
    """Shape inference gets the dims of a large initialiser, not its data."""
    weight = numpy_helper.from_array(np.zeros((64, 64), np.float32), "b")
    proto = old_model([node("Add", "x b", broadcast=1, axis=1)], (2, 64, 64, 3), 6)
    proto.graph.initializer.append(weight)
    x = numbers(2, 64, 64, 3)
    check(proto, x, x)
