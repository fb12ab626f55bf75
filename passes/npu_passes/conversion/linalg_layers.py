"""The rules of named `linalg` ops, and of the `tensor` ops around them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue
from xdsl.utils.hints import isa

from npu_dialect.npu.attributes import PoolAttr
from npu_dialect.npu.layers import AddOp, AvgPool2dOp, MatmulOp
from npu_dialect.npu.maps import shape_of
from npu_passes.conversion.builder import LayerBuilder, element_of
from npu_passes.conversion.elementwise import BINARY, added, mapped, pairwise
from npu_passes.conversion.foreign import Foreign, NoEquivalent
from npu_passes.conversion.linalg_starts import Start, start_of
from npu_passes.conversion.sliding import (
    Slides,
    bias_of,
    convolution,
    fully_connected,
    max_pool,
    pad_limits,
    padded_input,
)
from npu_passes.conversion.stored import Perm, Stored, identity

NCHW: Perm = (0, 1, 2, 3)
NHWC: Perm = (0, 3, 1, 2)
"""The orders of the axes of a tensor that give [N, C, H, W]."""

CONVOLUTIONS: dict[str, tuple[Perm, Perm]] = {
    "conv_2d_nchw_fchw": (NCHW, (0, 1, 2, 3)),
    "conv_2d_nhwc_fhwc": (NHWC, (0, 3, 1, 2)),
    "conv_2d_nhwc_hwcf": (NHWC, (3, 2, 0, 1)),
}
"""The orders that give [N, C, H, W] and [O, I, KH, KW], by name."""
DEPTHWISE: dict[str, tuple[Perm, Perm]] = {
    "depthwise_conv_2d_nchw_chw": (NCHW, (0, 1, 2)),
    "depthwise_conv_2d_nhwc_hwc": (NHWC, (2, 0, 1)),
    "depthwise_conv_2d_nhwc_hwcm": (NHWC, (2, 3, 0, 1)),
}
"""The orders that give [N, C, H, W] and [C, KH, KW] or [C, M, KH, KW], by name."""


def slides_of(op: Foreign, order: Perm) -> Slides:
    """How the window of an op slides; pads are those of an op before it."""
    numbers = [op.integers(name, 2) for name in ("strides", "dilations")]
    return Slides(order, numbers[0], (0, 0, 0, 0), numbers[1])


def start(op: Foreign) -> SSAValue:
    """The operand that the sums of an op start from, its last one."""
    return op.operand(len(op.operands) - 1)


def expect_start(op: Foreign, *numbers: float) -> None:
    """Check that an op starts from one of some numbers.

    Raises: NoEquivalent if it starts from something else.
    """
    found = start_of(start(op))
    if found is None or found.number not in numbers:
        raise NoEquivalent(f"expected `linalg.fill` with {numbers[0]} as what it starts from")


def bias_and_rest(
    op: Foreign, builder: LayerBuilder, channel: int, count: int
) -> tuple[SSAValue | None, bool]:
    """The bias that sums start from, and whether the start is a tensor to be added behind them.

    `channel` is the axis of the channels, of which there are `count`.
    """
    found = start_of(start(op))
    if found == Start(number=0):
        return None, False
    if found is not None and found.vector is not None and found.axis == channel:
        return bias_of(builder, found.vector, count), False
    return None, True


def with_rest(op: Foreign, builder: LayerBuilder, made: Stored, *, is_rest: bool) -> Stored:
    """The sums, with the tensor added that they start from."""
    if not is_rest:
        return made
    operands = [made, builder.stored(start(op))]
    return pairwise(builder, operands, op.result_type.get_shape(), AddOp)


def points_of(op: Foreign) -> tuple[int, ...]:
    """The zero points of an op whose name ends with `_q`; else zeros."""
    return tuple(int(op.scalar(index)) for index in (2, 3)) if op.kind.endswith("_q") else (0, 0)


def conv(op: Foreign, builder: LayerBuilder) -> Stored:
    """A convolution."""
    image_order, weight_order = CONVOLUTIONS[op.kind.removesuffix("_q")]
    weight = builder.ordered(op.operand(1), weight_order)
    slides = slides_of(op, image_order)
    bias, is_rest = bias_and_rest(op, builder, slides.back.index(1), shape_of(weight)[0])
    points = points_of(op)
    made = convolution(builder, op.operand(0), weight, bias, slides, zero_points=points)
    return with_rest(op, builder, made, is_rest=is_rest)


def depthwise(op: Foreign, builder: LayerBuilder) -> Stored:
    """A depthwise convolution; with a multiplier the result has an axis more."""
    image_order, weight_order = DEPTHWISE[op.kind.removesuffix("_q")]
    kernel = op.operand(1)
    if len(shape_of(kernel)) != len(weight_order):
        raise NoEquivalent(f"expected a weight of {len(weight_order)} axes, got {kernel.type}")
    shape = [shape_of(kernel)[axis] for axis in weight_order]
    channels, filters = shape[0], shape[0] * (shape[1] if len(shape) == 4 else 1)
    whole = (filters, 1, *shape[-2:])
    weight = builder.arranged(kernel, weight_order, whole)
    slides = slides_of(op, image_order)
    bias, is_rest = None, start_of(start(op)) != Start(number=0)
    if len(shape) == 3:
        bias, is_rest = bias_and_rest(op, builder, slides.back.index(1), filters)
    made = convolution(
        builder,
        op.operand(0),
        weight,
        bias,
        slides,
        groups=channels,
        zero_points=points_of(op),
    )
    if len(shape) == 4:
        rows = shape_of(made.value)
        view = builder.reshaped(made.value, [rows[0], channels, shape[1], *rows[2:]])
        made = Stored(view, (0, 3, 4, 1, 2))
    return with_rest(op, builder, made, is_rest=is_rest)


def pool_max(op: Foreign, builder: LayerBuilder, order: Perm) -> Stored:
    """A maximum over windows; the second operand has the shape of the window."""
    image = op.operand(0)
    expect_start(op, *pad_limits(element_of(image)))
    return max_pool(builder, image, window_shape(op), slides_of(op, order))


def pool_sum(op: Foreign, builder: LayerBuilder, order: Perm) -> Stored:
    """A sum over windows of floats: their average, pads included, times the size of the window."""
    expect_start(op, 0)
    if isinstance(element_of(op.operand(0)), IntegerType):
        raise NoEquivalent("expected floats, whose sums are averages times a number")
    kernel, slides = window_shape(op), slides_of(op, order)
    source, pads = padded_input(builder, op.operand(0), slides, [0.0])
    window = PoolAttr.of(
        "avg", kernel, slides.strides, pads, slides.dilations, count_include_pad=True
    )
    average = Stored(builder.emit(lambda out: AvgPool2dOp(source, window, out)), slides.back)
    return builder.scaled(average, float(kernel[0] * kernel[1]))


def window_shape(op: Foreign) -> tuple[int, ...]:
    """The shape of the operand that stands for the window.

    Raises: NoEquivalent if it has not two axes.
    """
    shape = shape_of(op.operand(1))
    if len(shape) != 2:
        raise NoEquivalent(f"expected a window of 2 axes, got {op.operand(1).type}")
    return shape


def matmul(op: Foreign, builder: LayerBuilder, *, is_turned: bool = False) -> Stored:
    """A product of matrices; a constant right operand is the weight of a layer."""
    lhs, rhs = op.operand(0), op.operand(1)
    batch = (0,) if len(shape_of(lhs)) == 3 else ()
    rank = len(batch) + 2
    if any(len(shape_of(value)) != rank for value in (lhs, rhs)):
        raise NoEquivalent(f"expected matrices, got {lhs.type} and {rhs.type}")
    own, turned = identity(rank), (*batch, rank - 1, rank - 2)
    if builder.is_constant(rhs) and (not batch or shape_of(lhs)[0] == shape_of(rhs)[0] == 1):
        order = own if is_turned else turned
        weight = builder.arranged(rhs, order, [shape_of(rhs)[axis] for axis in order][-2:])
        source = builder.arranged(lhs, own, shape_of(lhs)[-2:])
        bias, is_rest = bias_and_rest(op, builder, rank - 1, shape_of(weight)[0])
        made = fully_connected(builder, source, weight, bias)
        shape = (*(1 for _ in batch), *shape_of(made.value))
        made = Stored.plain(builder.reshaped(made.value, shape))
        return with_rest(op, builder, made, is_rest=is_rest)
    if isa(element_of(lhs), IntegerType):
        raise NoEquivalent("expected floats, or a constant right operand")
    maps = builder.ordered(lhs, own), builder.ordered(rhs, own)
    value = builder.emit(lambda out: MatmulOp(*maps, out, transposed_rhs=is_turned))
    is_rest = start_of(start(op)) != Start(number=0)
    return with_rest(op, builder, Stored.plain(value), is_rest=is_rest)


def two(op: Foreign, builder: LayerBuilder, kind: str) -> Stored:
    """A named op of two tensors."""
    values = [op.operand(0), op.operand(1)]
    stored = [builder.stored(value) for value in values]
    shape = op.result_type.get_shape()
    if kind == "add":
        return added(builder, stored, shape, [value.has_one_use() for value in values])
    return pairwise(builder, stored, shape, BINARY[kind])


def one(op: Foreign, builder: LayerBuilder, name: str) -> Stored:
    """A named op of one tensor."""
    return mapped(builder, builder.stored(op.operand(0)), name)


def transpose(op: Foreign, builder: LayerBuilder) -> Stored:
    """`linalg.transpose`; it adds no layer."""
    value = op.operand(0)
    perm = op.integers("permutation", len(shape_of(value)))
    if sorted(perm) != list(range(len(perm))):
        raise NoEquivalent(f"expected an order of axes, got {list(perm)}")
    return builder.stored(value).transposed(perm)


LINALG_LAYERS: dict[str, Callable[[Foreign, LayerBuilder], Stored]] = {
    **{f"linalg.{name}{q}": conv for name in CONVOLUTIONS for q in ("", "_q")},
    **{f"linalg.{name}{q}": depthwise for name in DEPTHWISE for q in ("", "_q")},
    "linalg.pooling_nchw_max": partial(pool_max, order=NCHW),
    "linalg.pooling_nhwc_max": partial(pool_max, order=NHWC),
    "linalg.pooling_nchw_sum": partial(pool_sum, order=NCHW),
    "linalg.pooling_nhwc_sum": partial(pool_sum, order=NHWC),
    "linalg.matmul": matmul,
    "linalg.batch_matmul": matmul,
    "linalg.matmul_transpose_b": partial(matmul, is_turned=True),
    "linalg.batch_matmul_transpose_b": partial(matmul, is_turned=True),
    "linalg.transpose": transpose,
    **{f"linalg.{kind}": partial(two, kind=kind) for kind in ("add", *BINARY) if kind != "pow"},
    **{f"linalg.{name}": partial(one, name=name) for name in ("exp", "log", "sqrt")},
}
"""The rules by the names of the ops."""
