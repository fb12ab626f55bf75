"""The indices, conditions and buffers that decide what a program of transfers does.

Values are computed when they are asked for: constants, elements of constant tables, `arith` on
indices, `affine.apply` and `affine.min` of known values. `deciding_values` are those that anything
depends on at all; the iterations of a loop whose index is not among them are alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects import affine, memref, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, MemRefType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineConstraintKind, AffineMap
from xdsl.utils.hints import isa

from npu_dialect.walking import walk
from npu_passes.analysis.index_values import result_of
from npu_passes.analysis.timed_ops import NotTimed
from npu_passes.analysis.views import root_of
from npu_passes.support.symbols import global_read

Known: TypeAlias = int | SSAValue | None
"""A number, a buffer, or None for a value that decides nothing."""

Values: TypeAlias = dict[SSAValue, Known]
"""The numbers of indices and conditions, and the buffers that arguments of loops stand for."""


def number(value: SSAValue, values: Values) -> int:
    """The number of an index or condition; it is noted in `values`.

    Raises: NotTimed if it does not follow from constants and the indices of loops.
    """
    known = values.get(value)
    if not isinstance(known, int):
        known = computed(value, values)
        values[value] = known
    return known


def computed(value: SSAValue, values: Values) -> int:
    """The number of a value that is not known yet.

    Raises: NotTimed as `number` does.
    """
    op = value.owner
    if isinstance(op, affine.ApplyOp):
        return evaluated(op.map.data, op.mapOperands, values)[0]
    if isinstance(op, affine.MinOp):
        return min(evaluated(op.map.data, op.arguments, values))
    if isinstance(op, memref.LoadOp):
        return of_table(op, values)
    if isinstance(op, Operation) and not op.regions:
        found = result_of(op, lambda each: number(each, values))
        if found is not None:
            return found
    raise NotTimed(f"{named(value)} does not follow from constants and indices of loops")


def of_table(op: memref.LoadOp, values: Values) -> int:
    """The number that a load reads from a constant table of integers.

    Raises: NotTimed if it reads something else.
    """
    source, type_ = op.memref.owner, op.memref.type
    if isinstance(source, memref.GetGlobalOp) and isa(type_, MemRefType[IntegerType]):
        table = global_read(source)
        if table is not None and table.constant is not None:
            held = table.initial_value
            if isinstance(held, DenseIntOrFPElementsAttr):
                place = 0
                for extent, index in zip(type_.get_shape(), op.indices, strict=True):
                    place = place * extent + number(index, values)
                size, held_bytes = type_.element_type.size, held.data.data
                place = 0 if len(held_bytes) == size else place * size
                return int.from_bytes(held_bytes[place : place + size], "little", signed=True)
    raise NotTimed(f"{named(op.res)} is read from a buffer that is no table of integers")


def named(value: SSAValue) -> str:
    """A value in messages: its name, or the op that it comes from."""
    if value.name_hint:
        return f"%{value.name_hint}"
    return (
        f"a result of {value.owner.name}" if isinstance(value.owner, Operation) else "an argument"
    )


def evaluated(map_: AffineMap, operands: Sequence[SSAValue], values: Values) -> Sequence[int]:
    """The results of an affine map.

    Raises: NotTimed as `number` does.
    """
    numbers = [number(each, values) for each in operands]
    return map_.eval(numbers[: map_.num_dims], numbers[map_.num_dims :])


def holds(op: affine.IfOp, values: Values) -> bool:
    """Whether the condition of an `affine.if` holds.

    Raises: NotTimed as `number` does.
    """
    condition = op.condition.data
    numbers = [number(each, values) for each in op.args]
    dims, symbols = numbers[: condition.num_dims], numbers[condition.num_dims :]
    for each in condition.constraints:
        rest = each.lhs.eval(dims, symbols) - each.rhs.eval(dims, symbols)
        match each.kind:
            case AffineConstraintKind.ge:
                if rest < 0:
                    return False
            case AffineConstraintKind.le:
                if rest > 0:
                    return False
            case AffineConstraintKind.eq:
                if rest != 0:
                    return False
    return True


def buffer_of(value: SSAValue, values: Values) -> SSAValue:
    """The buffer at the start of a chain of views, also through arguments of loops."""
    root = root_of(value)
    while isinstance(passed := values.get(root), SSAValue):
        root = root_of(passed)
    return root


DECIDING = (scf.IfOp, affine.IfOp, memref.DmaStartOp, memref.DmaWaitOp)
"""Ops all of whose operands decide what happens."""


def deciding_values(top: Operation) -> frozenset[SSAValue]:
    """The values from which a bound, a condition, or the tag or size of a transfer follows.

    Iterations of a loop whose arguments are not among them are alike.
    """
    pending: list[SSAValue] = []
    calls: dict[str, list[CallOp]] = {}
    for op in walk(top):
        if isinstance(op, CallOp):
            calls.setdefault(op.callee.string_value(), []).append(op)
        pending += deciding_operands(op)
    found: set[SSAValue] = set()
    while pending:
        value = pending.pop()
        if value not in found:
            found.add(value)
            pending += sources_of(value, calls)
    return frozenset(found)


def deciding_operands(op: Operation) -> Sequence[SSAValue]:
    """The operands of an op that decide what happens."""
    if isinstance(op, scf.ForOp):
        return op.operands[:3]
    if isinstance(op, affine.ForOp):
        return op.operands[: len(op.operands) - len(op.inits)]
    return op.operands if isinstance(op, DECIDING) else ()


def sources_of(value: SSAValue, calls: Mapping[str, list[CallOp]]) -> Iterator[SSAValue]:
    """The values from which a value follows directly."""
    if isinstance(value, OpResult):
        op, place = value.op, value.index
        if not op.regions:
            yield from op.operands
        elif isinstance(op, scf.ForOp | affine.ForOp):
            yield op.operands[len(op.operands) - len(op.results) + place]
        for region in op.regions:
            for block in region.blocks:
                if isinstance(block.last_op, scf.YieldOp | affine.YieldOp):
                    yield block.last_op.operands[place]
        return
    assert isinstance(value, BlockArgument)
    parent, place = value.block.parent_op(), value.index
    if isinstance(parent, FuncOp):
        yield from (call.operands[place] for call in calls.get(parent.sym_name.data, ()))
    elif isinstance(parent, scf.ForOp | affine.ForOp) and place:
        yield parent.operands[len(parent.operands) - len(parent.results) + place - 1]
        last = value.block.last_op
        if last is not None and len(last.operands) >= place:
            yield last.operands[place - 1]
