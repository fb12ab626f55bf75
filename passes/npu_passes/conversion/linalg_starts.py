"""What the sums and maxima of `linalg` start from: zeros, a bias, the least number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, DenseArrayBase, IntegerType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap
from xdsl.utils.hints import isa

from npu_dialect.npu.maps import shape_of
from npu_passes.conversion.foreign import (
    Array,
    NoEquivalent,
    attribute_of,
    constant_array,
    is_constant,
    name_of,
)


@dataclass(frozen=True)
class Start:
    """The first values of sums: one number everywhere, or a vector along one axis."""

    number: float | None = None
    vector: SSAValue | None = None
    axis: int = 0


def start_of(value: SSAValue) -> Start | None:
    """What a tensor is, if it is a start; None for other tensors."""
    array = constant_array(value) if is_constant(value) else None
    if array is not None:
        return uniform(array)
    op = value.owner
    if not isinstance(op, Operation):
        return None
    match name_of(op):
        case "linalg.fill":
            array = constant_array(op.operands[0])
            return None if array is None else uniform(array)
        case "linalg.broadcast":
            return along(op.operands[0], broadcast_axes(op, len(shape_of(value))))
        case "linalg.generic" if is_copy(op) and len(op.operands) == 2:
            maps = maps_of(op)
            outer = axes_of(maps[1])
            inner = axes_of(maps[0])
            if None in outer or None in inner:
                return None
            return along(op.operands[0], [outer.index(axis) for axis in inner if axis in outer])
        case _:
            return None


def uniform(array: Array) -> Start | None:
    """A start of one number; None if the numbers differ."""
    first = array.reshape(-1)[0]
    same = array.size == 1 or np.array_equal(array, np.broadcast_to(first, array.shape))
    return Start(number=first.item()) if same else None


def along(value: SSAValue, axes: list[int]) -> Start | None:
    """A start that is a vector along one axis; None if it is no vector."""
    if len(axes) != 1 or len(shape_of(value)) != 1:
        return None
    array = constant_array(value) if is_constant(value) else None
    if array is not None and not array.any():
        return Start(number=0)
    return Start(vector=value, axis=axes[0])


def broadcast_axes(op: Operation, rank: int) -> list[int]:
    """The axes of a `linalg.broadcast` that its input has."""
    found = attribute_of(op, "dimensions")
    new = found.get_values() if isa(found, DenseArrayBase[IntegerType]) else ()
    return [axis for axis in range(rank) if axis not in new]


def body_of(op: Operation) -> Block:
    """The body of a `linalg` op.

    Raises: NoEquivalent if it has none.
    """
    if len(op.regions) != 1 or len(op.regions[0].blocks) != 1:
        raise NoEquivalent("expected a body of one block")
    return op.regions[0].block


def is_copy(op: Operation) -> bool:
    """Whether the body of a `linalg.generic` gives its first argument, and nothing else."""
    block = body_of(op)
    last = block.last_op
    return last is block.first_op and last is not None and [*last.operands] == [block.args[0]]


def maps_of(op: Operation) -> list[AffineMap]:
    """The indexing maps of a `linalg.generic`.

    Raises: NoEquivalent if there is not one for each operand.
    """
    found = attribute_of(op, "indexing_maps")
    if not isa(found, ArrayAttr[AffineMapAttr]) or len(found.data) != len(op.operands):
        raise NoEquivalent("expected an indexing map for each operand")
    return [each.data for each in found.data]


def axes_of(map_: AffineMap) -> list[int | None]:
    """The loop of each axis of an operand; None for index 0 everywhere.

    Raises: NoEquivalent for any other index.
    """
    return list(iterate(map_))


def iterate(map_: AffineMap) -> Iterator[int | None]:
    """The loops of the axes; see `axes_of`."""
    for result in map_.results:
        if isinstance(result, AffineDimExpr):
            yield result.position
        elif isinstance(result, AffineConstantExpr) and result.value == 0:
            yield None
        else:
            raise NoEquivalent(f"expected operands that are indexed by loops, got {map_}")
