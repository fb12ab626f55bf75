"""Layers that do the same to each element, from the operands of foreign ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from npu_dialect.npu.enums import BinaryKind
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import (
    AddOp,
    ClampOp,
    Conv2dOp,
    FullyConnectedOp,
    MapOp,
    MulOp,
    PairwiseOp,
    ReluOp,
    ReshapeOp,
)
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.pointwise import FunctionAttr
from npu_passes.conversion.builder import LayerBuilder, element_of
from npu_passes.conversion.foreign import NoEquivalent, is_constant
from npu_passes.conversion.sliding import LARGEST_FLOAT, with_bias
from npu_passes.conversion.stored import Stored, identity, inverse

Build = Callable[[SSAValue, SSAValue, Attribute], LayerOp]
"""Makes a layer of two maps for a result type."""


def mapped(builder: LayerBuilder, stored: Stored, function: str) -> Stored:
    """A function of each element of a float map."""
    source = plain(builder, stored)
    if isinstance(element_of(source.value), IntegerType):
        raise NoEquivalent(f"expected floats, got {source.value.type}")
    rule = FunctionAttr.of(function)
    return each(builder, source, lambda value, out: MapOp(value, rule, out))


def each(
    builder: LayerBuilder, source: Stored, build: Callable[[SSAValue, Attribute], LayerOp]
) -> Stored:
    """A layer that does the same to each element.

    It comes before a view of sums, so that it can become part of the layer that computes them.
    """
    view = source.value.owner
    sums = view.input.owner if isinstance(view, ReshapeOp) else None
    if isinstance(view, ReshapeOp) and isinstance(sums, Conv2dOp | FullyConnectedOp):
        made = builder.emit(lambda out: build(view.input, out))
        return Stored(builder.reshaped(made, shape_of(view.results[0])), source.perm)
    return Stored(builder.emit(lambda out: build(source.value, out)), source.perm)


def clamped(builder: LayerBuilder, stored: Stored, low: float, high: float) -> Stored:
    """A map within bounds; a ReLU for the bounds 0 and infinity, nothing for no bounds."""
    source = plain(builder, stored)
    element = element_of(source.value)
    least, most = -LARGEST_FLOAT, LARGEST_FLOAT
    if isa(element, IntegerType):
        width = element.width.data
        least, most = -(2 ** (width - 1)), 2 ** (width - 1) - 1
    low, high = (-inf if low <= least else low), (inf if high >= most else high)
    if not low <= high:
        raise NoEquivalent(f"expected bounds in order, got [{low}, {high}]")
    if (low, high) == (-inf, inf):
        return source
    if (low, high) == (0, inf):
        return each(builder, source, ReluOp)
    return each(builder, source, lambda value, out: ClampOp(value, low, high, out))


def pairwise(
    builder: LayerBuilder, operands: Sequence[Stored], shape: tuple[int, ...], build: Build
) -> Stored:
    """A function of two tensors with numpy's broadcasting; the result has `shape`."""
    operands = [plain(builder, one) for one in operands]
    lead = next(
        (one for one in operands if not is_constant(one.value) and one.shape == shape),
        operands[0],
    )
    rank = len(shape)
    perm = lead.perm if all(len(one.perm) == rank for one in operands) else identity(rank)
    lhs, rhs = (in_order(builder, one, perm) for one in operands)
    return Stored(builder.emit(lambda out: build(lhs, rhs, out)), perm)


def plain(builder: LayerBuilder, stored: Stored) -> Stored:
    """A tensor whose pads, if any, are part of its map."""
    return Stored.plain(builder.as_is(stored)) if stored.pads else stored


def in_order(builder: LayerBuilder, stored: Stored, perm: tuple[int, ...]) -> SSAValue:
    """A tensor as a map whose axes are stored in the order `perm`."""
    same_rank = len(stored.perm) == len(perm)
    return builder.as_is(stored.transposed(inverse(perm)) if same_rank else stored)


def added(
    builder: LayerBuilder,
    operands: Sequence[Stored],
    shape: tuple[int, ...],
    once: Sequence[bool] = (True, True),
) -> Stored:
    """A sum of two tensors; a constant is the bias of a layer before it, where that has none.

    `once` says for each operand whether only the sum reads it.
    """
    for index in range(2):
        if once[index] and not is_constant(operands[index].value):
            found = with_bias(builder, operands[index], operands[1 - index], shape)
            if found is not None:
                return found
    return pairwise(builder, operands, shape, AddOp)


def binary(kind: BinaryKind) -> Build:
    """The layer of a function of two maps."""
    return lambda lhs, rhs, out: PairwiseOp(lhs, rhs, kind, out)


BINARY: dict[str, Build] = {
    "mul": MulOp,
    "sub": binary(BinaryKind.SUB),
    "div": binary(BinaryKind.DIV),
    "max": binary(BinaryKind.MAX),
    "min": binary(BinaryKind.MIN),
    "pow": binary(BinaryKind.POW),
}
"""Layers of two maps, by name."""
