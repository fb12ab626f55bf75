"""Reductions, indices of maxima, Softmax and LogSoftmax over any axes, against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import NodeProto, TensorProto

from helpers.agreement import Array, agree, compare, lowered, typed_model
from helpers.onnx_models import imported, int64, layers, model, node, rejected
from npu_dialect.interpreters import run_function

SUMS = "ReduceMean ReduceSum ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare".split()
FLOATS = (*SUMS, "ReduceMax", "ReduceMin", "ReduceProd")
INTEGERS = ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1")
INDICES = ("ArgMax", "ArgMin")

SHAPES = st.lists(st.integers(1, 5), max_size=5).map(tuple)


def numbers(seed: int, shape: tuple[int, ...], kind: str = "float32") -> Array:
    """Random numbers; floats are positive, so that sums are not near zero and have a logarithm."""
    rng = np.random.default_rng(seed)
    if kind == "float32":
        return np.asarray(rng.uniform(0.5, 1.5, shape), kind)
    return np.asarray(rng.integers(-6 if kind == "int32" else 0, 7, shape), kind)


def reductions(ops: tuple[str, ...], operand: str, axes: str, **more: Any) -> list[NodeProto]:
    """A node for each operator."""
    names = [f"y_{op}_{operand}_{axes}_{len(more)}" for op in ops]
    return [
        node(op, f"{operand} {axes}", name, **more) for op, name in zip(ops, names, strict=True)
    ]


def indices(operand: str, axis: int, **more: Any) -> list[NodeProto]:
    """Nodes for the indices of the greatest and the smallest elements, as int32."""
    nodes: list[NodeProto] = []
    for op in INDICES:
        name = f"{op}_{operand}_{axis}_{len(more)}"
        nodes += [
            node(op, operand, name, axis=axis, **more),
            node("Cast", name, f"y_{name}", to=TensorProto.INT32),
        ]
    return nodes


@settings(max_examples=40, deadline=None)
@given(shape=SHAPES, kind=st.sampled_from(["float32", "int32"]), data=st.data())
def test_any_axes(shape: tuple[int, ...], kind: str, data: st.DataObject) -> None:
    rank = len(shape)
    axes = data.draw(st.lists(st.sampled_from(range(rank)), unique=True)) if rank else []
    axes = [axis - rank * data.draw(st.booleans()) for axis in axes]
    more = {"keepdims": data.draw(st.integers(0, 1))}
    nodes = reductions(FLOATS if kind == "float32" else INTEGERS, "x", "axes", **more)
    if rank:
        last = data.draw(st.integers(0, 1))
        axis = data.draw(st.integers(-rank, rank - 1))
        nodes += indices("x", axis, select_last_index=last, **more)
    x = numbers(1, shape, kind)
    if kind == "int32" and np.abs(x[x != 0]).prod(dtype=float) >= 2**31:
        x = np.sign(x)  # what onnxruntime computes for a product that overflows is no rule
    agree(nodes, {"x": x}, {"axes": int64(*axes)})


@settings(max_examples=20, deadline=None)
@given(shape=SHAPES, noop=st.integers(0, 1), opset=st.sampled_from([13, 18]))
def test_without_axes(shape: tuple[int, ...], noop: int, opset: int) -> None:
    ops = ("ReduceSum",) if opset == 13 else FLOATS
    agree(
        [node(op, "x", f"y_{op}", noop_with_empty_axes=noop) for op in ops],
        {"x": numbers(1, shape)},
        opset=opset,
    )


def test_axes_as_attribute() -> None:
    nodes = [node(op, "x", f"y_{op}", axes=[-1, 0]) for op in FLOATS if op != "ReduceSum"]
    agree(nodes, {"x": numbers(1, (2, 3, 4))}, opset=12)


AXES = {"first": (0,), "inner": (1, 2), "outside": (0, 3), "last": (3,), "all": (0, 1, 2, 3)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["float32", "int32", "uint8"])
def test_reductions_in_c(kind: str, tmp_path: Path) -> None:
    """Long and short axes, at the start, inside and at the end of the map."""
    ops = {"float32": FLOATS, "int32": INTEGERS, "uint8": ("ReduceMax", "ReduceMin")}[kind]
    axes = AXES if kind == "float32" else {"inner": AXES["inner"], "last": AXES["last"]}
    nodes = [n for name in axes for n in reductions(ops, "x", name)]
    nodes += [n for axis in (1, 3) for last in (0, 1) for n in indices_of(axis, last)]
    weights = {name: int64(*found) for name, found in axes.items()}
    agree(nodes, {"x": numbers(1, (2, 5, 3, 11), kind)}, weights, folder=tmp_path)


def indices_of(axis: int, last: int) -> list[NodeProto]:
    """Indices of the first or the last of equal elements of `x`."""
    return indices("x", axis, **({"select_last_index": 1} if last else {}))


def test_long_sums_are_precise() -> None:
    """The running sum of so many numbers is off by more than 1e-4 of its value."""
    x = np.full((2, 10000), 77.7, np.float32)
    agree([node("ReduceMean", "x axes")], {"x": x}, {"axes": int64(1)})


def test_odd_numbers(tmp_path: Path) -> None:
    rows = [[-np.inf, -np.inf], [np.inf, 1], [-np.inf, 1], [np.nan, 1], [1000, 1001], [-200, -201]]
    ops = ("ReduceLogSumExp", "ReduceSum", "ReduceMean", "ReduceL2")
    nodes = reductions(ops, "x", "axes")
    nodes += [node(op, "x", f"y_{op}", axis=1) for op in ("Softmax", "LogSoftmax")]
    agree(nodes, {"x": np.array(rows, np.float32)}, {"axes": int64(1)}, folder=tmp_path)


def test_the_greatest_of_nan_is_nan() -> None:
    """onnxruntime's result depends on the place of NaN; ours is that of ONNX's reference."""
    x = np.array([[1, np.nan, 3], [np.nan, 1, 2], [1, 2, np.nan], [1, 2, 3]], np.float32)
    nodes = reductions(("ReduceMax", "ReduceMin"), "x", "axes")
    proto = typed_model(nodes, {"x": x}, {"axes": int64(1)})
    module = imported(proto)
    wanted = [best(x, axis=1, keepdims=True) for best in (np.max, np.min)]
    compare("interpreter", "ab", run_function(module, None, [x]), wanted)
    compare("loops", "ab", run_function(lowered(module), None, [x]), wanted)


def test_spatial_axes_are_pools() -> None:
    shapes = {"x": (1, 2, 4, 4)}
    weights = {"axes": int64(-1, 2)}
    for op, pool in (("ReduceMean", "global_avg_pool2d"), ("ReduceMax", "global_max_pool2d")):
        module = agree([node(op, "x axes")], {"x": numbers(1, shapes["x"])}, weights)
        assert layers(module) == [f"npu.{pool}"]


@settings(max_examples=25, deadline=None)
@given(shape=SHAPES.filter(len), opset=st.sampled_from([11, 13]), data=st.data())
def test_softmax_over_any_axis(shape: tuple[int, ...], opset: int, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    nodes = [node(op, "x", f"y_{op}", axis=axis) for op in ("Softmax", "LogSoftmax")]
    agree(nodes, {"x": numbers(1, shape) * 9}, opset=opset)


def test_softmax_in_c(tmp_path: Path) -> None:
    nodes = [
        node(op, "x", f"y_{op}_{axis}", axis=axis)
        for op in ("Softmax", "LogSoftmax")
        for axis in range(4)
    ]
    agree(nodes, {"x": numbers(1, (2, 5, 3, 4)) * 9}, folder=tmp_path)


def test_all_and_any_of_bytes_as_int64(tmp_path: Path) -> None:
    nodes = [node("Greater", "x zero", "b"), node("Cast", "b", "i", to=TensorProto.INT64)]
    for op in ("ReduceMin", "ReduceMax"):
        nodes += [node(op, "i axes", op), node("Cast", op, f"y{op}", to=TensorProto.BOOL)]
    weights: dict[str, Array] = {"zero": np.zeros((), np.float32), "axes": int64(1)}
    agree(nodes, {"x": numbers(3, (4, 3))}, weights=weights, folder=tmp_path)
    cast = node("Cast", "x", "i", to=TensorProto.INT64)
    last = node("Cast", "j", to=TensorProto.FLOAT)
    for op, operands in (("Sub", "i i"), ("Mul", "i i"), ("Pow", "i three")):
        nodes = [cast, node(op, operands, "j"), last]
        three: dict[str, Array] = {"three": np.array(3, np.int64)}
        proto = model(nodes, {"x": (3, 3)}, weights=three, kind=TensorProto.UINT8)
        rejected(proto, "value 'j' is computed with int64 elements")


def test_what_is_rejected() -> None:
    x = {"x": (2, 3)}
    proto = model([node("ReduceSum", "x axes")], x, weights={"axes": int64(2)})
    rejected(proto, "node 'the_ReduceSum' (ReduceSum): axis 2 of a map of rank 2")
    proto = model([node("ReduceSum", "x axes")], {**x, "axes": (1,)})
    rejected(proto, "input 'axes' is computed; expected a constant")
    rejected(model([node("ArgMax", "x", axis=5)], x), "axis 5 of a map of rank 2")
    proto = model([node("ArgMax", "x", axis=1)], x)
    proto.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    elements = "float32, int8, uint8, int16, int32 or bool"
    rejected(proto, f"output 'y' holds int64 elements; expected {elements}")
    nodes = [node("ArgMax", "x", "i"), node("Add", "i i", "j"), node("Cast", "j", to=1)]
    rejected(model(nodes, x), "value 'j' is computed with int64 elements")
    proto = model([node("ReduceL2", "x", axes=[0])], x, kind=TensorProto.INT32)
    rejected(proto, "(ReduceL2): a map of int32 elements; expected float32")
