"""The rules of `tosa` for layers that compute the same on floats and on integers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from npu_dialect.npu.enums import ReduceKind
from npu_dialect.npu.layers import MatmulOp, ReduceOp, SliceOp
from npu_dialect.npu.maps import shape_of
from npu_passes.conversion.builder import LayerBuilder, element_of
from npu_passes.conversion.elementwise import BINARY, added, clamped, mapped, pairwise
from npu_passes.conversion.foreign import Foreign, NoEquivalent, constant_array
from npu_passes.conversion.sliding import (
    Pads,
    Slides,
    bias_of,
    convolution,
    fully_connected,
    max_pool,
)
from npu_passes.conversion.stored import Stored, identity, inverse
from npu_passes.conversion.tensor_layers import joined

NHWC = (0, 3, 1, 2)
"""The order of the axes of a tensor with channels last that gives [N, C, H, W]."""


def slides_of(op: Foreign, *, has_dilation: bool = True) -> Slides:
    """How a window slides; `tosa` has the pads as (top, bottom, left, right)."""
    top, bottom, left, right = op.integers("pad", 4)
    dilations = op.integers("dilation", 2) if has_dilation else (1, 1)
    pads: Pads = (top, left, bottom, right)
    return Slides(NHWC, op.integers("stride", 2), pads, dilations)


def conv2d(op: Foreign, builder: LayerBuilder) -> Stored:
    """`tosa.conv2d`: the weight is [O, KH, KW, I]."""
    image, kernel, bias = (op.operand(index) for index in range(3))
    expect_axes(kernel, 4)
    weight = builder.ordered(kernel, NHWC)
    made = bias_of(builder, bias, shape_of(weight)[0])
    points = op.zero_points(2, 3)
    return convolution(builder, image, weight, made, slides_of(op), zero_points=points)


def depthwise_conv2d(op: Foreign, builder: LayerBuilder) -> Stored:
    """`tosa.depthwise_conv2d`: the weight is [KH, KW, C, M], for C * M outputs."""
    image, kernel, bias = (op.operand(index) for index in range(3))
    expect_axes(kernel, 4)
    rows, columns, channels, multiplier = shape_of(kernel)
    shape = (channels * multiplier, 1, rows, columns)
    weight = builder.arranged(kernel, (2, 3, 0, 1), shape)
    made = bias_of(builder, bias, shape[0])
    points = op.zero_points(2, 3)
    slides = slides_of(op)
    return convolution(builder, image, weight, made, slides, groups=channels, zero_points=points)


def dense(op: Foreign, builder: LayerBuilder) -> Stored:
    """`tosa.fully_connected`: the weight is [O, I]."""
    source, kernel, bias = (op.operand(index) for index in range(3))
    expect_axes(kernel, 2)
    weight = builder.ordered(kernel, (0, 1))
    made = bias_of(builder, bias, shape_of(weight)[0])
    points = op.zero_points(2, 3)
    return fully_connected(builder, builder.ordered(source, (0, 1)), weight, made, points)


def matmul(op: Foreign, builder: LayerBuilder) -> Stored:
    """`tosa.matmul` [B, M, K] x [B, K, N]; a constant of one matrix is a weight."""
    lhs, rhs = op.operand(0), op.operand(1)
    expect_axes(lhs, 3)
    expect_axes(rhs, 3)
    points = op.zero_points(2, 2)
    batch, rows, depth = shape_of(lhs)
    if builder.is_constant(rhs) and batch == shape_of(rhs)[0] == 1:
        columns = shape_of(rhs)[2]
        weight = builder.arranged(rhs, (0, 2, 1), [columns, shape_of(rhs)[1]])
        source = builder.arranged(lhs, (0, 1, 2), [rows, depth])
        product = fully_connected(builder, source, weight, None, points)
        return Stored.plain(builder.reshaped(product.value, [1, rows, columns]))
    if isinstance(element_of(lhs), IntegerType):
        raise NoEquivalent("expected floats, or a constant right operand")
    one, other = (builder.ordered(value, (0, 1, 2)) for value in (lhs, rhs))
    return Stored.plain(builder.emit(lambda out: MatmulOp(one, other, out)))


def max_pool2d(op: Foreign, builder: LayerBuilder) -> Stored:
    """`tosa.max_pool2d`."""
    slides = slides_of(op, has_dilation=False)
    return max_pool(builder, op.operand(0), op.integers("kernel", 2), slides)


def clamp(op: Foreign, builder: LayerBuilder) -> Stored:
    """`tosa.clamp`: bounds of floats and of integers have names of their own in MLIR 19."""
    value = op.operand(0)
    suffix = "int" if isinstance(element_of(value), IntegerType) else "fp"
    low, high = op.number("min_val", f"min_{suffix}"), op.number("max_val", f"max_{suffix}")
    if low is None or high is None:
        raise NoEquivalent("expected bounds `min_val` and `max_val`, or `min_fp` and `max_fp`")
    return clamped(builder, builder.stored(value), low, high)


def add(op: Foreign, builder: LayerBuilder) -> Stored:
    """`tosa.add`."""
    values = [op.operand(0), op.operand(1)]
    once = [value.has_one_use() for value in values]
    return added(builder, [*map(builder.stored, values)], op.result_type.get_shape(), once)


def two(op: Foreign, builder: LayerBuilder, kind: str) -> Stored:
    """An op of two operands."""
    operands = [builder.stored(op.operand(index)) for index in range(2)]
    return pairwise(builder, operands, op.result_type.get_shape(), BINARY[kind])


def mul(op: Foreign, builder: LayerBuilder) -> Stored:
    """`tosa.mul` without a shift."""
    shift = op.number("shift") or (op.scalar(2) if len(op.operands) > 2 else 0)
    if shift:
        raise NoEquivalent(f"expected a product without shift, got {shift}")
    return two(op, builder, "mul")


def function(op: Foreign, builder: LayerBuilder, name: str) -> Stored:
    """A function of each element."""
    return mapped(builder, builder.stored(op.operand(0)), name)


def negate(op: Foreign, builder: LayerBuilder) -> Stored:
    """`tosa.negate` without zero points."""
    if any(op.zero_points(2, 1)):
        raise NoEquivalent("expected no zero points")
    return mapped(builder, builder.stored(op.operand(0)), "neg")


# -- moves -----------------------------------------------------------------------------------------


def identity_(op: Foreign, builder: LayerBuilder) -> Stored:
    """`tosa.identity`."""
    return builder.stored(op.operand(0))


def reshape(op: Foreign, builder: LayerBuilder) -> Stored:
    """`tosa.reshape`: the type of the result says it all."""
    value, shape = op.operand(0), op.result_type.get_shape()
    return Stored.plain(builder.arranged(value, identity(len(shape_of(value))), shape))


def transpose(op: Foreign, builder: LayerBuilder) -> Stored:
    """`tosa.transpose`: the order is an attribute or a constant operand. It adds no layer."""
    value = op.operand(0)
    perm = op.integers("perms") if op.attribute("perms") else constant_integers(op, 1)
    if sorted(perm) != list(range(len(shape_of(value)))):
        raise NoEquivalent(f"expected an order of the axes of {value.type}, got {list(perm)}")
    return builder.stored(value).transposed(perm)


def constant_integers(op: Foreign, index: int) -> tuple[int, ...]:
    """The integers of a constant operand, in the order of their places.

    Raises: NoEquivalent if it is computed.
    """
    array = constant_array(op.operand(index))
    if array is None or array.dtype.kind not in "iu":
        raise NoEquivalent(f"expected operand {index} to be a constant of integers")
    return tuple(array.reshape(-1).tolist())


def concat(op: Foreign, builder: LayerBuilder) -> Stored:
    """`tosa.concat`, in the order in which the first part is stored."""
    axis = op.number("axis")
    return joined(builder, op.operands, -1 if axis is None else int(axis))


def pad(op: Foreign, builder: LayerBuilder) -> Stored:
    """`tosa.pad`: a layer behind it may take the pads as its own."""
    found = builder.unpadded(op.operand(0))
    flat = constant_integers(op, 1)
    if len(flat) != 2 * len(found.perm) or min(flat, default=0) < 0:
        raise NoEquivalent(f"expected pads before and after each axis, got {list(flat)}")
    around = tuple(zip(flat[::2], flat[1::2], strict=True))
    fill = op.scalar(2) if len(op.operands) > 2 else op.zero_points(1, 9)[0]
    return Stored(found.value, found.perm, around, float(fill))


def cut(op: Foreign, builder: LayerBuilder) -> Stored:
    """`tosa.slice`."""
    found = builder.unpadded(op.operand(0))
    names = ("start", "size")
    if op.attribute("start"):
        start, size = (op.integers(name, len(found.perm)) for name in names)
    else:
        start, size = constant_integers(op, 1), constant_integers(op, 2)
    if len(start) != len(found.perm) or len(size) != len(found.perm):
        raise NoEquivalent("expected a start and a size for each axis")
    order = inverse(found.perm)
    starts, sizes = ([values[axis] for axis in order] for values in (start, size))
    steps = [1] * len(order)
    value = builder.emit(lambda out: SliceOp(found.value, starts, sizes, steps, out))
    return Stored(value, found.perm)


def reduction(op: Foreign, builder: LayerBuilder, kind: ReduceKind) -> Stored:
    """A reduction along one axis."""
    found, axis = builder.unpadded(op.operand(0)), op.number("axis")
    if axis is None or not 0 <= axis < len(found.perm):
        raise NoEquivalent(f"expected an axis in [0, {len(found.perm)}), got {axis}")
    place = found.perm[int(axis)]
    value = builder.emit(lambda out: ReduceOp(found.value, kind, [place], out))
    return Stored(value, found.perm)


def expect_axes(value: SSAValue, count: int) -> None:
    """Check the number of axes of a tensor.

    Raises: NoEquivalent if it has others.
    """
    if len(shape_of(value)) != count:
        raise NoEquivalent(f"expected a tensor of {count} axes, got {value.type}")


FUNCTIONS = {
    name: name for name in ("abs", "ceil", "cos", "erf", "exp", "floor", "log", "sigmoid", "sin")
} | {"tanh": "tanh", "reciprocal": "reciprocal"}
"""Functions of each element, by the name of the op."""

REDUCTIONS = {
    "reduce_sum": ReduceKind.SUM,
    "reduce_max": ReduceKind.MAX,
    "reduce_min": ReduceKind.MIN,
    "reduce_product": ReduceKind.PROD,
}
"""Reductions, by the name of the op."""

TOSA_LAYERS: dict[str, Callable[[Foreign, LayerBuilder], Stored]] = {
    "tosa.conv2d": conv2d,
    "tosa.depthwise_conv2d": depthwise_conv2d,
    "tosa.fully_connected": dense,
    "tosa.matmul": matmul,
    "tosa.max_pool2d": max_pool2d,
    "tosa.clamp": clamp,
    "tosa.add": add,
    "tosa.sub": partial(two, kind="sub"),
    "tosa.maximum": partial(two, kind="max"),
    "tosa.minimum": partial(two, kind="min"),
    "tosa.pow": partial(two, kind="pow"),
    "tosa.mul": mul,
    "tosa.negate": negate,
    "tosa.identity": identity_,
    "tosa.reshape": reshape,
    "tosa.transpose": transpose,
    "tosa.concat": concat,
    "tosa.pad": pad,
    "tosa.slice": cut,
    **{f"tosa.{op}": partial(function, name=name) for op, name in FUNCTIONS.items()},
    **{f"tosa.{op}": partial(reduction, kind=kind) for op, kind in REDUCTIONS.items()},
}
"""The rules by the names of the ops."""
