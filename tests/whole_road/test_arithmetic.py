"""Arithmetic, comparisons, selections and casts of maps, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import NodeProto, TensorProto

from helpers.agreement import Array, agree
from helpers.onnx_models import node

ORDER = ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")
FLOATS = ("Sub", "Div", "Max", "Min", "Add", "Mul", *ORDER)
INTEGERS = ("Sub", "Div", "Max", "Min", "Add", "Mul", "Mod", *ORDER)
LOGIC = ("And", "Or", "Xor")
ODD = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.5)
"""Numbers of which all pairs are combined."""

SHAPES = st.lists(st.integers(1, 4), max_size=5).map(tuple)


def broadcast_to(data: st.DataObject, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to `shape`: some extents are 1, some leading axes are left out."""
    cut = data.draw(st.integers(0, len(shape)))
    return tuple(data.draw(st.sampled_from([1, extent])) for extent in shape[cut:])


def filled(seed: int, kind: str, shape: tuple[int, ...]) -> Array:
    """Random numbers; floats are not near zero, integers are small and never zero."""
    rng = np.random.default_rng(seed)
    if kind == "float32":
        return np.asarray(rng.uniform(0.5, 2, shape) * rng.choice([-1, 1], shape), kind)
    if kind == "bool":
        return np.asarray(rng.integers(0, 2, shape), kind)
    low = 1 if kind == "uint8" else -9
    numbers = rng.integers(low, 100, shape)
    return np.asarray(np.where(numbers == 0, 7, numbers), kind)


def pairs(ops: tuple[str, ...], one: str = "a", other: str = "b") -> list[NodeProto]:
    """A node for each operator, whose output is called after it."""
    return [node(op, f"{one} {other}", f"y_{op}_{one}_{other}") for op in ops]


OPERATORS = {"float32": FLOATS, "int32": INTEGERS, "bool": LOGIC}


@settings(max_examples=40, deadline=None)
@given(shape=SHAPES, kind=st.sampled_from(sorted(OPERATORS)), data=st.data())
def test_broadcasting(shape: tuple[int, ...], kind: str, data: st.DataObject) -> None:
    feeds = {"a": filled(1, kind, shape), "b": filled(2, kind, broadcast_to(data, shape))}
    if data.draw(st.booleans()):
        feeds = {"a": feeds["b"], "b": feeds["a"]}
    agree(pairs(OPERATORS[kind]), feeds)


@settings(max_examples=30, deadline=None)
@given(shape=SHAPES, kind=st.sampled_from(["float32", "int32", "uint8"]), data=st.data())
def test_where_broadcasts(shape: tuple[int, ...], kind: str, data: st.DataObject) -> None:
    parts = [("c", "bool"), ("a", kind), ("b", kind)]
    whole = data.draw(st.integers(0, 2))
    feeds = {
        name: filled(i, each, shape if i == whole else broadcast_to(data, shape))
        for i, (name, each) in enumerate(parts)
    }
    agree([node("Where", "c a b")], feeds)


def test_infinities_and_nan(tmp_path: Path) -> None:
    odd = np.array(ODD, np.float32)
    feeds = {"a": np.repeat(odd, len(odd)), "b": np.tile(odd, len(odd))}
    nodes = [*pairs((*FLOATS, "Pow")), node("Mod", "a b", "y_rest", fmod=1)]
    nodes += [node("Cast", "a", "y_bool", to=TensorProto.BOOL)]
    agree(nodes, feeds, folder=tmp_path)


SQUEEZED = (1, 6, 5, 7)


@pytest.mark.parametrize(
    "kind",
    [
        "float32",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("int32", "int8", "uint8")),
    ],
)
def test_all_operators_in_c(kind: str, tmp_path: Path) -> None:
    """Maps of equal shape, one number for each channel, one row, one number for all."""
    ops = FLOATS if kind == "float32" else INTEGERS if kind == "int32" else ("Max", "Min")
    others = {"b": SQUEEZED, "gate": (1, 6, 1, 1), "row": (7,), "one": ()}
    feeds = {name: filled(i, kind, shape) for i, (name, shape) in enumerate(others.items())}
    feeds["a"] = filled(9, kind, SQUEEZED)
    weights = {"w": filled(5, kind, (1, 6, 1, 1)), "k": filled(6, kind, ())}
    nodes = [n for other in (*others, "w", "k") for n in pairs(ops, "a", other)]
    nodes += [n for other in ("gate", "w") for n in pairs(ops, other, "a")]
    agree(nodes, feeds, weights, folder=tmp_path)


def test_maps_compared_with_themselves_in_c(tmp_path: Path) -> None:
    """g++ warns about `a[i] <= a[i]` of integers; of floats it says whether one is NaN."""
    feeds = {"a": filled(1, "int32", (2, 3)), "f": np.array(ODD, np.float32)}
    nodes = [*pairs(ORDER, "a", "a"), *pairs(ORDER, "f", "f")]
    agree(nodes, feeds, folder=tmp_path, language="c++")


def test_logic_and_selection_in_c(tmp_path: Path) -> None:
    feeds = {name: filled(i, "bool", (3, 5)) for i, name in enumerate("cd")}
    feeds |= {"a": filled(3, "float32", (3, 5)), "b": filled(4, "float32", (5,))}
    nodes = [
        *pairs(LOGIC, "c", "d"),
        node("Not", "c", "y_not"),
        node("Where", "c a b", "y_where"),
        node("Where", "d k a", "y_constant"),
        node("Greater", "a b", "above"),
        node("And", "above c", "both"),
        node("Where", "both a zero", "y_kept"),
        node("Cast", "both", "y_numbers", to=TensorProto.FLOAT),
        node("Max", "a b k", "y_max"),
        node("Min", "k a", "y_min"),
        node("Mean", "a b k", "y_mean"),
        node("Sum", "a b a", "y_sum"),
        *[node("Pow", f"a {p}", f"y_{p}") for p in ("square", "cube", "half", "row")],
    ]
    weights = {
        "zero": np.array(0, np.float32),
        "k": np.array(0.75, np.float32),
        "square": np.array(2, np.int64),
        "cube": np.array([3], np.float32),
        "half": np.array(-1.5, np.float32),
        "row": np.array([1, 2, 0, -1, 3], np.int32),
    }
    module = agree(nodes, feeds, weights, folder=tmp_path)
    text = str(module)
    assert "npu.clamp" in text, "Max with a number is a clamp"
    assert text.count("with pow") == 2, "small powers are products"


CASTS = {
    "float32": np.array([0.0, 1.9, -1.9, 100.5, -0.0, 2.0], np.float32),
    "int32": np.array([0, 1, -1, 127, 255, -128], np.int32),
    "int8": np.array([0, 1, -1, 127, 5, -128], np.int8),
    "uint8": np.array([0, 1, 255, 127, 5, 128], np.uint8),
    "bool": np.array([False, True, True, False, True, False]),
}
TARGETS = {
    "float32": TensorProto.FLOAT,
    "int32": TensorProto.INT32,
    "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8,
    "bool": TensorProto.BOOL,
}


def test_casts(tmp_path: Path) -> None:
    nodes = [
        node("Cast", source, f"y_{source}_{name}", to=target)
        for source, values in CASTS.items()
        for name, target in TARGETS.items()
        if name != source and not (name == "uint8" and (values < 0).any())
    ]
    agree(nodes, CASTS, folder=tmp_path)


def test_masks_and_indices_in_other_layers(tmp_path: Path) -> None:
    """What a comparison or ArgMax gives is moved, cast, reduced and compared again."""
    nodes = [
        node("Greater", "x zero", "b"),
        node("Cast", "b", "m", to=TensorProto.FLOAT),
        node("Mul", "x m", "y_product"),
        node("ReduceMean", "m axis", "y_mean"),
        node("ReduceMax", "m axis", "y_max"),
        node("Sub", "m m", "y_nothing"),
        node("Reshape", "b shape", "turned"),
        node("Not", "turned", "y_not"),
        node("Concat", "b b", "y_both", axis=1),
        node("Where", "b x least", "masked"),
        node("Softmax", "masked", "y_soft", axis=-1),
        node("ArgMax", "x", "index", axis=1),
        node("Equal", "index two", "y_is_two"),
        node("Mod", "index two", "odd"),
        node("Where", "y_is_two odd index", "chosen"),
        node("Cast", "chosen", "y_chosen", to=TensorProto.INT32),
        node("Cast", "index", "real", to=TensorProto.FLOAT),
        node("Div", "real third", "y_share"),
    ]
    weights = {
        "zero": np.zeros((), np.float32),
        "least": np.array(-1e9, np.float32),
        "third": np.array(3, np.float32),
        "two": np.array(2, np.int64),
        "axis": np.array([1], np.int64),
        "shape": np.array([6, 20], np.int64),
    }
    agree(nodes, {"x": filled(1, "float32", (2, 3, 4, 5))}, weights, folder=tmp_path)
