"""Rules for functions of one number: Sigmoid, Tanh, Elu, Gelu, Exp, Sqrt, ...; PRelu."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect.npu import AddOp, ClampOp, MapOp, MulOp, ReluOp
from npu_dialect.npu.enums import Function
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.pointwise import FunctionAttr
from npu_tools.importers.onnx.builder import Builder, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.recognised import WRITTEN_OUT
from npu_tools.importers.onnx.rules.channels import channel_vector

INFINITY = float("inf")
SELU = (1.67326319217681884765625, 1.05070102214813232421875)
"""The defaults of Selu: alpha and gamma."""

Reading = Callable[[Node], FunctionAttr]
"""The function that a node computes, with the parameters of its attributes."""


def plain(function: Function) -> Reading:
    """A function without parameters."""
    return lambda _: FunctionAttr.of(function)


def with_floats(function: Function, **defaults: float) -> Reading:
    """A function whose parameters are float attributes, with these defaults and in this order."""

    def read(node: Node) -> FunctionAttr:
        return FunctionAttr.of(function, [node.float(*each) for each in defaults.items()])

    return read


def gelu(node: Node) -> FunctionAttr:
    """Gelu, by erf or by tanh.

    Raises: NodeError if the attribute `approximate` is neither.
    """
    forms = {"none": Function.GELU, "tanh": Function.GELU_TANH}
    form = node.string("approximate", "none")
    if form not in forms:
        raise NodeError(f"approximate is '{form}'; expected none or tanh")
    return FunctionAttr.of(forms[form])


FUNCTIONS: Mapping[str, Reading] = {
    "Abs": plain(Function.ABS),
    "Acos": plain(Function.ACOS),
    "Acosh": plain(Function.ACOSH),
    "Asin": plain(Function.ASIN),
    "Asinh": plain(Function.ASINH),
    "Atan": plain(Function.ATAN),
    "Atanh": plain(Function.ATANH),
    "Ceil": plain(Function.CEIL),
    "Celu": with_floats(Function.CELU, alpha=1.0),
    "Cos": plain(Function.COS),
    "Cosh": plain(Function.COSH),
    "Elu": with_floats(Function.ELU, alpha=1.0),
    "Erf": plain(Function.ERF),
    "Exp": plain(Function.EXP),
    "Floor": plain(Function.FLOOR),
    "Gelu": gelu,
    "HardSigmoid": with_floats(Function.HARD_SIGMOID, alpha=0.2, beta=0.5),
    "HardSwish": plain(Function.HARD_SWISH),
    "LeakyRelu": with_floats(Function.LEAKY_RELU, alpha=0.01),
    "Log": plain(Function.LOG),
    "Mish": plain(Function.MISH),
    "Neg": plain(Function.NEG),
    "Reciprocal": plain(Function.RECIPROCAL),
    "Round": plain(Function.ROUND),
    "Selu": with_floats(Function.SELU, alpha=SELU[0], gamma=SELU[1]),
    "Shrink": with_floats(Function.SHRINK, bias=0.0, lambd=0.5),
    "Sigmoid": plain(Function.SIGMOID),
    "Sign": plain(Function.SIGN),
    "Sin": plain(Function.SIN),
    "Sinh": plain(Function.SINH),
    "Softplus": plain(Function.SOFTPLUS),
    "Softsign": plain(Function.SOFTSIGN),
    "Sqrt": plain(Function.SQRT),
    "Swish": with_floats(Function.SWISH, alpha=1.0),
    "Tan": plain(Function.TAN),
    "Tanh": plain(Function.TANH),
    "ThresholdedRelu": with_floats(Function.THRESHOLDED_RELU, alpha=1.0),
}
"""The functions of ONNX's operators of one map."""

MICROSOFT_FUNCTIONS: Mapping[str, Reading] = {
    "FastGelu": plain(Function.GELU_TANH),
    "Gelu": plain(Function.GELU),
    "QuickGelu": with_floats(Function.SWISH, alpha=1.702),
}
"""The functions of onnxruntime's own operators (com.microsoft)."""

WRITTEN_OUT_FUNCTIONS: Mapping[str, Reading] = {
    "Gelu": plain(Function.GELU),
    "GeluTanh": plain(Function.GELU_TANH),
    "HardSwish": plain(Function.HARD_SWISH),
    "Mish": plain(Function.MISH),
    "Silu": plain(Function.SILU),
}
"""The functions that models write out as several nodes."""

BY_DOMAIN: Mapping[str, Mapping[str, Reading]] = {
    "": FUNCTIONS,
    "com.microsoft": MICROSOFT_FUNCTIONS,
    WRITTEN_OUT: WRITTEN_OUT_FUNCTIONS,
}
"""The functions of all operators of one map, by domain."""


def read_function(node: Node) -> FunctionAttr:
    """The function that a node computes."""
    return BY_DOMAIN[node.proto.domain][node.op_type](node)


def function(node: Node, graph: Builder) -> Value:
    """One layer for any function of one number; one more for a bias that is added first."""
    source = graph.map(node, 0)
    if node.operand(1):
        number, bias = source, graph.map(node, 1)
        source = graph.emit(lambda out: AddOp(number, bias, out))
    return mapped(graph, source, read_function(node))


def mapped(graph: Builder, source: SSAValue, what: FunctionAttr) -> SSAValue:
    """Build a function of each element."""
    return graph.emit(lambda out: MapOp(source, what, out))


def prelu(node: Node, graph: Builder) -> Value:
    """PRelu with constant slopes.

    One slope, or one for each channel, are parameters of a function. Others are a map of their own:
    max(x, 0) + slope * min(x, 0).
    """
    source, slopes = graph.map(node, 0), graph.constant(node, 1)
    array, shape = graph.weight(node, 1), shape_of(source)
    numbers = array.reshape(1) if array.size == 1 else channel_vector(array, shape)
    if numbers is not None and array.ndim <= len(shape):
        slope = [float(number) for number in numbers]
        return mapped(graph, source, FunctionAttr.of(Function.PRELU, slope))
    check_slopes(array.shape, shape)
    factor = graph.materialise(slopes)
    negative = graph.emit(lambda out: ClampOp(source, -INFINITY, 0.0, out))
    small = graph.emit(lambda out: MulOp(negative, factor, out))
    positive = graph.emit(lambda out: ReluOp(source, out))
    return graph.emit(lambda out: AddOp(positive, small, out))


def check_slopes(slopes: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Check that slopes can be broadcast to the shape of a map.

    Raises: NodeError if not.
    """
    try:
        fits = np.broadcast_shapes(slopes, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise NodeError(
            f"slopes of shape {list(slopes)}; expected a shape that broadcasts to {list(shape)}"
        )
