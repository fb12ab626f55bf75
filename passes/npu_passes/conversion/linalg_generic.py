"""The rules of `linalg.generic` and `linalg.reduce`."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Operation, SSAValue
from xdsl.utils.hints import isa

from npu_dialect.npu.enums import ReduceKind
from npu_dialect.npu.layers import ReduceOp
from npu_dialect.npu.maps import shape_of
from npu_passes.conversion.builder import LayerBuilder
from npu_passes.conversion.foreign import Foreign, NoEquivalent, name_of
from npu_passes.conversion.linalg_starts import axes_of, body_of, maps_of, start_of
from npu_passes.conversion.scalar_program import Program
from npu_passes.conversion.sliding import LARGEST_FLOAT
from npu_passes.conversion.stored import Stored

REDUCTIONS: dict[str, tuple[ReduceKind, tuple[float, ...]]] = {
    "arith.addf": (ReduceKind.SUM, (0.0,)),
    "arith.addi": (ReduceKind.SUM, (0,)),
    "arith.mulf": (ReduceKind.PROD, (1.0,)),
    "arith.maximumf": (ReduceKind.MAX, (-inf, -LARGEST_FLOAT)),
    "arith.maxnumf": (ReduceKind.MAX, (-inf, -LARGEST_FLOAT)),
    "arith.minimumf": (ReduceKind.MIN, (inf, LARGEST_FLOAT)),
    "arith.minnumf": (ReduceKind.MIN, (inf, LARGEST_FLOAT)),
}
"""The reduction of each op, and the numbers that it starts from."""


def iterators(op: Foreign) -> list[str]:
    """The kind of each loop: `parallel` or `reduction`.

    Raises: NoEquivalent if they are not known.
    """
    found = op.attribute("iterator_types")
    if not isa(found, ArrayAttr):
        raise NoEquivalent("expected kinds of loops as `iterator_types`")
    return [str(getattr(each, "data", each)) for each in found.data]


def generic(op: Foreign, builder: LayerBuilder) -> Stored:
    """`linalg.generic`: layers for its body, or a reduction."""
    kinds, maps = iterators(op), [axes_of(each) for each in maps_of(op.op)]
    own = maps[-1]
    if any(each != "parallel" for each in kinds):
        if len(maps) != 2 or maps[0] != [*range(len(kinds))]:
            raise NoEquivalent("expected a reduction of one tensor along some of its axes")
        axes = [axis for axis, each in enumerate(kinds) if each != "parallel"]
        if own != [axis for axis in range(len(kinds)) if axis not in axes]:
            raise NoEquivalent("expected the axes of the result in the order of the loops")
        return reduced(op, builder, axes)
    if sorted(own, key=str) != sorted(range(len(kinds)), key=str):
        raise NoEquivalent("expected a result that all loops index")
    declared = op.result_type.get_shape()
    shape = tuple(declared[own.index(loop)] for loop in range(len(kinds)))
    body = body_of(op.op)
    program = Program(op, builder, shape, {})
    for value, axes, argument in zip(op.operands, maps, body.args, strict=False):
        if argument.uses:
            program.terms[argument] = over_loops(builder, value, axes, len(kinds))
    last = body.last_op
    if last is None or len(last.operands) != 1:
        raise NoEquivalent("expected a body that gives one number")
    found = program.term(last.operands[0])
    if not isinstance(found, Stored):
        raise NoEquivalent("expected a result that depends on a tensor")
    return found.transposed([axis for axis in own if axis is not None])


def over_loops(
    builder: LayerBuilder, value: SSAValue, axes: Sequence[int | None], loops: int
) -> Stored:
    """An operand over the loops: axis i is loop i, of extent 1 where no axis has that loop."""
    stored = builder.unpadded(value)
    if len(axes) != len(stored.perm):
        raise NoEquivalent(f"expected an indexing map of {len(stored.perm)} results")
    named = [axis for axis in axes if axis is not None]
    if len(set(named)) != len(named):
        raise NoEquivalent("expected each loop once in an indexing map")
    if sorted(named) == [*range(loops)]:
        return stored.transposed([axes.index(loop) for loop in range(loops)])
    fixed = [place for place, axis in enumerate(axes) if axis is None]
    if any(stored.shape[place] != 1 for place in fixed):
        raise NoEquivalent("expected operands of which every element is read")
    free = [loop for loop in range(loops) if loop not in named]
    if len(stored.perm) == loops and len(free) == len(fixed):
        full = [fixed.pop(0) if loop in free else axes.index(loop) for loop in range(loops)]
        return stored.transposed(full)
    order = sorted(range(len(axes)), key=lambda place: (axes[place] is None, axes[place] or 0))
    turned = builder.as_is(stored.transposed(order))
    extents = {loop: stored.shape[axes.index(loop)] for loop in named}
    return Stored.plain(builder.viewed(turned, [extents.get(loop, 1) for loop in range(loops)]))


def reduce(op: Foreign, builder: LayerBuilder) -> Stored:
    """`linalg.reduce`."""
    return reduced(op, builder, list(op.integers("dimensions")))


def reduced(op: Foreign, builder: LayerBuilder, axes: list[int]) -> Stored:
    """A reduction along some axes, which the result has no more."""
    source = builder.unpadded(op.operand(0))
    kind, starts = kind_of(op.op)
    found = start_of(op.operand(len(op.operands) - 1))
    if found is None or found.number not in starts or not axes:
        raise NoEquivalent(f"expected `linalg.fill` with {starts[0]} as what it starts from")
    if any(not 0 <= axis < len(source.perm) for axis in axes):
        raise NoEquivalent(f"expected axes in [0, {len(source.perm)}), got {axes}")
    places = sorted(source.perm[axis] for axis in axes)
    value = builder.emit(lambda out: ReduceOp(source.value, kind, places, out))
    left = [place for place in range(len(source.perm)) if place not in places]
    kept = [place for place in source.perm if place not in places]
    view = builder.reshaped(value, [shape_of(value)[place] for place in left])
    return Stored(view, tuple(left.index(place) for place in kept))


def kind_of(op: Operation) -> tuple[ReduceKind, tuple[float, ...]]:
    """What a reduction computes: its body is one op of an element and the result so far.

    Raises: NoEquivalent if the body is something else.
    """
    body = body_of(op)
    first, last = body.first_op, body.last_op
    if first is None or last is None or first.next_op is not last or len(body.args) != 2:
        raise NoEquivalent("expected a reduction whose body is one op")
    reads = set(first.operands) == set(body.args) and [*last.operands] == [*first.results]
    if not reads or name_of(first) not in REDUCTIONS:
        raise NoEquivalent(f"no layer reduces by `{name_of(first)}`")
    return REDUCTIONS[name_of(first)]
