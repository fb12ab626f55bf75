"""The rules of `tensor` ops: views, pads, slices, and concatenations piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.hints import isa

from npu_dialect.npu.layers import ConcatOp, SliceOp
from npu_dialect.npu.maps import shape_of
from npu_passes.conversion.builder import LayerBuilder
from npu_passes.conversion.foreign import (
    Foreign,
    NoEquivalent,
    attribute_of,
    constant_array,
    is_constant,
    name_of,
)
from npu_passes.conversion.linalg_starts import body_of
from npu_passes.conversion.stored import Stored, identity, inverse

INSERT = "tensor.insert_slice"


def groups_of(op: Foreign) -> list[list[int]]:
    """The groups of axes of a view.

    Raises: NoEquivalent if there are none.
    """
    found = op.attribute("reassociation")
    if not isa(found, ArrayAttr[ArrayAttr[IntegerAttr]]):
        raise NoEquivalent(f"expected groups of axes as `reassociation`, got {found}")
    return [[axis.value.data for axis in group] for group in found.data]


def view(op: Foreign, builder: LayerBuilder) -> Stored:
    """`tensor.collapse_shape` and `tensor.expand_shape`, in the order of the map if possible."""
    value, shape = op.operand(0), op.result_type.get_shape()
    stored, groups = builder.stored(value), groups_of(op)
    if not is_constant(stored.value):
        is_collapse = op.kind == "collapse_shape"
        axes = len(stored.perm) if is_collapse else len(shape)
        if sorted(axis for group in groups for axis in group) == list(range(axes)):
            found = stored.grouped(groups) if is_collapse else stored.split(groups, shape)
            if found is not None:
                return Stored(builder.reshaped(stored.value, found[1]), found[0])
        return Stored.plain(builder.reshaped(builder.as_is(stored), shape))
    return Stored.plain(builder.arranged(value, identity(len(stored.perm)), shape))


def pad(op: Foreign, builder: LayerBuilder) -> Stored:
    """`tensor.pad` with a constant; a layer behind it may take the pads as its own."""
    found = builder.unpadded(op.operand(0))
    rank, operands = len(found.perm), iter(op.operands[1:])
    low, high = (
        tuple(
            known(operands) if each == DYNAMIC_INDEX else each for each in op.integers(name, rank)
        )
        for name in ("static_low", "static_high")
    )
    last = body_of(op.op).last_op
    fill = None if last is None or len(last.operands) != 1 else constant_array(last.operands[0])
    if fill is None or fill.size != 1 or min(*low, *high, 0) < 0:
        raise NoEquivalent("expected pads of at least 0 that hold a constant")
    return Stored(
        found.value, found.perm, tuple(zip(low, high, strict=True)), float(fill.reshape(-1)[0])
    )


def known(operands: Iterator[SSAValue]) -> int:
    """The next operand, a constant number.

    Raises: NoEquivalent if it is computed, or if there is none.
    """
    value = next(operands, None)
    array = None if value is None else constant_array(value)
    if array is None or array.size != 1 or array.dtype.kind not in "iu":
        raise NoEquivalent("expected pads that are known")
    return int(array.reshape(-1)[0])


def boxes(op: Operation) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The offsets, sizes and strides of a slice.

    Raises: NoEquivalent if they are not known.
    """
    found: list[tuple[int, ...]] = []
    for name in ("static_offsets", "static_sizes", "static_strides"):
        values = attribute_of(op, name)
        if not isinstance(values, DenseArrayBase) or min(values.get_values(), default=0) < 0:
            raise NoEquivalent("expected slices that are known")
        found.append(tuple(int(value) for value in values.get_values()))
    return found[0], found[1], found[2]


def cut(op: Foreign, builder: LayerBuilder) -> Stored:
    """`tensor.extract_slice`."""
    found, box = builder.unpadded(op.operand(0)), boxes(op.op)
    rank = len(found.perm)
    if any(len(part) != rank for part in box):
        raise NoEquivalent(f"expected a slice of {rank} axes")
    order = inverse(found.perm)
    offsets, sizes, steps = ([part[axis] for axis in order] for part in box)
    value = builder.emit(lambda out: SliceOp(found.value, offsets, sizes, steps, out))
    stored = Stored(value, found.perm)
    if stored.shape == op.result_type.get_shape():
        return stored
    shape = op.result_type.get_shape()  # axes of extent 1 are dropped
    return Stored.plain(builder.reshaped(builder.as_is(stored), shape))


def concat(op: Foreign, builder: LayerBuilder) -> Stored:
    """`tensor.concat`."""
    axis = op.number("dim")
    return joined(builder, op.operands, int(axis) if axis is not None else -1)


def inserted(op: Foreign, builder: LayerBuilder) -> Stored:
    """The last `tensor.insert_slice` of a row of them, which together are a concatenation."""
    pieces = sorted(parts(op.op), key=lambda piece: piece[0])
    shape, end = op.result_type.get_shape(), 0
    first = shape_of(pieces[0][1])
    axes = [axis for axis, extent in enumerate(shape) if first[axis : axis + 1] != (extent,)]
    axis = axes[0] if len(axes) == 1 else 0
    for offsets, part in pieces:
        wanted = tuple(end if place == axis else 0 for place in range(len(shape)))
        if offsets != wanted or len(shape_of(part)) != len(shape):
            raise NoEquivalent("expected parts one behind the other along one axis")
        end += shape_of(part)[axis]
    return joined(builder, [part for _, part in pieces], axis)


def is_link(op: Operation) -> bool:
    """Whether an op is a `tensor.insert_slice` of a row, but not its last one."""
    use = op.results[0].get_user_of_unique_use() if name_of(op) == INSERT else None
    return use is not None and name_of(use) == INSERT and use.operands[1] is op.results[0]


def parts(op: Operation) -> Iterator[tuple[tuple[int, ...], SSAValue]]:
    """The parts of a row of `tensor.insert_slice`, with their offsets, the last one first.

    Raises: NoEquivalent if the row does not start from an empty tensor.
    """
    last: Operation | Block = op
    while isinstance(last, Operation) and name_of(last) == INSERT:
        if len(last.operands) != 2:
            raise NoEquivalent("expected slices that are known")
        offsets, sizes, strides = boxes(last)
        if sizes != shape_of(last.operands[0]) or set(strides) != {1}:
            raise NoEquivalent("expected parts of the rank of the whole, without strides")
        yield offsets, last.operands[0]
        last = last.operands[1].owner
    if not isinstance(last, Operation) or name_of(last) not in ("tensor.empty", "linalg.fill"):
        raise NoEquivalent("expected parts that are inserted into an empty tensor")


def joined(builder: LayerBuilder, values: Sequence[SSAValue], axis: int) -> Stored:
    """A concatenation, in the order in which the first part is stored."""
    if not values:
        raise NoEquivalent("expected parts")
    first = next((value for value in values if not is_constant(value)), values[0])
    perm = builder.unpadded(first).perm
    if any(len(shape_of(value)) != len(perm) for value in values) or not 0 <= axis < len(perm):
        raise NoEquivalent(f"expected parts of one rank and an axis of them, got axis {axis}")
    maps = [builder.ordered(value, inverse(perm)) for value in values]
    place = perm[axis]
    return Stored(builder.emit(lambda out: ConcatOp(maps, place, out)), perm)


TENSOR_LAYERS: dict[str, Callable[[Foreign, LayerBuilder], Stored]] = {
    "tensor.collapse_shape": view,
    "tensor.expand_shape": view,
    "tensor.pad": pad,
    "tensor.extract_slice": cut,
    "tensor.concat": concat,
    INSERT: inserted,
}
"""The rules by the names of the ops."""
