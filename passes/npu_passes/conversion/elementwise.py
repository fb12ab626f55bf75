"""Layers that do the same to each element, from the operands of foreign ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from xdsl.dialects.builtin import Attribute, IntegerType
from xdsl.ir import SSAValue
from xdsl.utils.hints import isa

from npu_dialect.npu.enums import BinaryKind
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import AddOp, ClampOp, MapOp, MulOp, PairwiseOp, ReluOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.pointwise import FunctionAttr
from npu_passes.conversion.builder import LayerBuilder, element_of
from npu_passes.conversion.foreign import NoEquivalent, is_constant
from npu_passes.conversion.sliding import LARGEST_FLOAT, with_bias
from npu_passes.conversion.stored import Stored, identity, inverse

Build = Callable[[SSAValue, SSAValue, Attribute], LayerOp]
"""Makes a layer of two maps for a result type."""


def mapped(builder: LayerBuilder, value: SSAValue, function: str) -> Stored:
    """A function of each element of a float map."""
    source = builder.unpadded(value)
    if isinstance(element_of(source.value), IntegerType):
        raise NoEquivalent(f"expected floats, got {value.type}")
    rule = FunctionAttr.of(function)
    return Stored(builder.emit(lambda out: MapOp(source.value, rule, out)), source.perm)


def clamped(builder: LayerBuilder, value: SSAValue, low: float, high: float) -> Stored:
    """A map within bounds; a ReLU for the bounds 0 and infinity, nothing for no bounds."""
    source, element = builder.unpadded(value), element_of(value)
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
        made = builder.emit(lambda out: ReluOp(source.value, out))
    else:
        made = builder.emit(lambda out: ClampOp(source.value, low, high, out))
    return Stored(made, source.perm)


def pairwise(
    builder: LayerBuilder, operands: Sequence[SSAValue], shape: tuple[int, ...], build: Build
) -> Stored:
    """A function of two tensors with numpy's broadcasting; the result has `shape`."""
    lead = next(
        (one for one in operands if not is_constant(one) and shape_of(one) == shape),
        operands[0],
    )
    perm = builder.unpadded(lead).perm
    if len(perm) != len(shape) or any(len(shape_of(one)) != len(shape) for one in operands):
        perm = identity(len(shape))
    lhs, rhs = (in_order(builder, one, perm) for one in operands)
    return Stored(builder.emit(lambda out: build(lhs, rhs, out)), perm)


def in_order(builder: LayerBuilder, value: SSAValue, perm: tuple[int, ...]) -> SSAValue:
    """A tensor as a map whose axes are stored in the order `perm`."""
    rank = len(shape_of(value))
    order = inverse(perm) if rank == len(perm) else identity(rank)
    return builder.ordered(value, order)


def added(
    builder: LayerBuilder, operands: Sequence[SSAValue], shape: tuple[int, ...]
) -> Stored:
    """A sum of two tensors; a constant is the bias of a layer before it, where that has none."""
    for map_, addend in (operands, reversed(operands)):
        if map_.has_one_use() and not is_constant(map_):
            found = with_bias(builder, builder.stored(map_), addend, shape)
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
