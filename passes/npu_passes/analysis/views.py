"""Which values refer to the same buffer: the alias analysis of all passes.

    %map  = sram.alloc : memref<1x4x8x8xi8, #npu.sram>     // a buffer: the root of all three
    %rows = memref.subview %map[0, 0, 2, 0] ...            // a view of %map
    %flat = memref.collapse_shape %rows ...                // a view of %rows, and of %map

`root_of`, `views_of` and `uses_of` follow ops without side effects that turn one memref into
another. They look at traits and operands only, so they work for ops of other dialects. `aliases_of`
is for passes that must not miss an alias: it also follows calls, branches, loops and unknown ops.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    AnyFloat,
    IndexType,
    IntegerType,
    MemRefType,
    TensorType,
    VectorType,
)
from xdsl.ir import Operation, OpResult, Region, SSAValue, Use
from xdsl.traits import IsolatedFromAbove, IsTerminator, MemoryAllocEffect, is_side_effect_free

from npu_passes.support.refuse import refuse
from npu_passes.support.traits import has

FROM_BASE = (
    memref.CastOp,
    memref.CollapseShapeOp,
    memref.ExpandShapeOp,
    memref.MemorySpaceCastOp,
    memref.ReinterpretCastOp,
    memref.SubviewOp,
)
"""View ops whose result type has the offset from the start of the buffer in its layout.

Only for these is the type enough to compare elements or to print an address. `memref.view` has its
shift as an operand, and the layouts of other dialects' views are unknown.
"""


def is_buffer(value: SSAValue) -> bool:
    """Whether a value is a memref."""
    return isinstance(value.type, MemRefType)


def is_view(op: Operation) -> bool:
    """Whether an op makes a view of its first operand, its only memref, without side effects."""
    return bool(
        len(op.results) == 1
        and op.operands
        and is_buffer(op.results[0])
        and is_buffer(op.operands[0])
        and not any(map(is_buffer, op.operands[1:]))
        and is_side_effect_free(op)
    )


def viewed_by(value: SSAValue) -> SSAValue | None:
    """The buffer or view of which a view is directly taken; None if the value is no view."""
    return value.op.operands[0] if isinstance(value, OpResult) and is_view(value.op) else None


def root_of(value: SSAValue) -> SSAValue:
    """The buffer at the start of a chain of views; the value itself if it is no view."""
    while (whole := viewed_by(value)) is not None:
        value = whole
    return value


def base_of(value: SSAValue) -> SSAValue:
    """The value from which the layout offset of a view counts: the start of its `FROM_BASE` ops."""
    while isinstance(value.owner, FROM_BASE):
        value = value.owner.operands[0]
    return value


def key_of(value: SSAValue) -> object:
    """The identity of a buffer: its root, or the name of a global.

    Several `memref.get_global` ops can return the same global.
    """
    root = root_of(value)
    if isinstance(root, OpResult) and isinstance(root.op, memref.GetGlobalOp):
        return root.op.name_.string_value()
    return root


def views_of(value: SSAValue) -> Iterator[SSAValue]:
    """The views of a buffer and the views of these, each after the value it is taken of."""
    pending = [value]
    while pending:
        value = pending.pop()
        views = [use.operation.results[0] for use in value.uses if is_view(use.operation)]
        yield from views
        pending += views


def uses_of(value: SSAValue) -> Iterator[Use]:
    """The uses of a buffer and its views by ops that are no views."""
    for each in (value, *views_of(value)):
        yield from (use for use in each.uses if not is_view(use.operation))


def aliases_of(value: SSAValue) -> tuple[SSAValue, ...]:
    """All values through which a buffer can be reached, itself first.

    Raises: PassFailedException, attached to the allocation, if a loop allocates the buffer and
    carries it to its next iteration: one offset cannot hold the buffers of two iterations.
    """
    found = {value: None}
    pending = [value]
    while pending:
        for use in pending.pop().uses:
            for alias in carried(value, use.operation):
                if alias not in found:
                    found[alias] = None
                    pending.append(alias)
    return tuple(found)


def carried(buffer: SSAValue, user: Operation) -> Iterator[SSAValue]:
    """The values that may refer to a buffer after `user` has taken it as an operand."""
    if has(user, MemoryAllocEffect):
        return
    if isinstance(user, memref.DmaStartOp):
        yield user.tag
    yield from filter(carries, user.results)
    for region in user.regions:
        yield from carrying_arguments(region)
    parent = user.parent_op()
    if parent is None or not user.has_trait(IsTerminator) or is_function(parent):
        return
    yield from filter(carries, parent.results)
    for region in parent.regions:
        for arg in carrying_arguments(region):
            if isinstance(buffer, OpResult) and parent.is_ancestor(buffer.op):
                refuse(
                    buffer.op,
                    f"expected a buffer that {parent.name} carries to its next iteration to be "
                    "allocated before it: one offset cannot serve two iterations",
                )
            yield arg


def is_function(op: Operation) -> bool:
    """Whether an op is isolated: a terminator inside it leaves a function."""
    return has(op, IsolatedFromAbove)


def carrying_arguments(region: Region) -> Iterator[SSAValue]:
    """The block arguments of a region that can refer to a buffer."""
    for block in region.blocks:
        yield from filter(carries, block.args)


def carries(value: SSAValue) -> bool:
    """Whether a value can refer to a buffer, as memrefs, pointers and tokens do."""
    return not isinstance(value.type, AnyFloat | IntegerType | IndexType | VectorType | TensorType)
