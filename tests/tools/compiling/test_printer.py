"""Our printer prints the same text as xDSL's, and elides constants on request."""

from io import StringIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.printer import Printer

from npu_tools.compiling.printer import WeightPrinter

KINDS: dict[str, tuple[Attribute, str]] = {
    "i1": (IntegerType(1), "<i1"),
    "i8": (IntegerType(8), "<i1"),
    "i32": (IntegerType(32), "<i4"),
    "index": (IndexType(), "<i8"),
    "f16": (Float16Type(), "<f2"),
    "f32": (Float32Type(), "<f4"),
    "f64": (Float64Type(), "<f8"),
}


def constant(kind: str, values: list[float]) -> DenseIntOrFPElementsAttr:
    """A constant with these values."""
    element, dtype = KINDS[kind]
    data = np.array(values).astype(dtype).tobytes()
    tensor: TensorType[Attribute] = TensorType(element, [len(values)])
    return DenseIntOrFPElementsAttr(tensor, BytesAttr(data))  # pyright: ignore


def texts(attribute: DenseIntOrFPElementsAttr) -> tuple[str, str]:
    """The texts of our printer and of xDSL's."""
    ours, theirs = StringIO(), StringIO()
    WeightPrinter(stream=ours).print_attribute(attribute)
    Printer(stream=theirs).print_attribute(attribute)
    return ours.getvalue(), theirs.getvalue()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 2, 99, 100, 101, 300])
def test_same_text(kind: str, count: int) -> None:
    highest = 1 if kind == "i1" else 100
    for values in ([0.0] * count, [1.0] * count, [float(i % highest) for i in range(count)]):
        ours, theirs = texts(constant(kind, values))
        assert ours == theirs


@pytest.mark.parametrize("kind", ["f16", "f32", "f64"])
def test_same_text_for_odd_values(kind: str) -> None:
    odd = (
        [0.0] * 150 + [-0.0],
        [-0.0] + [0.0] * 150,
        [-0.0] * 150,
        [float("nan")] * 150,
        [float("inf")] * 150,
        [float("nan")] * 150 + [0.0],
    )
    for values in odd:
        ours, theirs = texts(constant(kind, values))
        assert ours == theirs


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, -0.0, 1.0, float("nan"), 2.0**-149]), min_size=101, max_size=105)
)
def test_same_text_for_mixtures(values: list[float]) -> None:
    ours, theirs = texts(constant("f32", values))
    assert ours == theirs


def test_elided() -> None:
    output = StringIO()
    printer = WeightPrinter(stream=output, elide_weights=True)
    printer.print_attribute(constant("f32", [float(i) for i in range(17)]))
    printer.print_string(" ")
    printer.print_attribute(constant("f32", [1.0, 2.0]))
    assert output.getvalue() == (
        "dense_resource<__elided__> : tensor<17xf32> "
        "dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>"
    )
