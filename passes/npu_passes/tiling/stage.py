"""The staging of one op as plain data: its loops, off-chip operands, tile buffers and traffic.

Nothing is changed and nothing is decided here. `staging.py` chooses the tiles, `tile_nest.py`
builds the loop nest. Both use the same spans, so the nest moves exactly what was counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

from xdsl.dialects import memref
from xdsl.ir import Operation, OpResult, SSAValue

from npu_dialect.computing import accumulates, computation_of, parameters_of
from npu_dialect.npu.attributes import DramSpace
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import Conv2dOp
from npu_dialect.npu.maps import element_bytes, shape_of
from npu_passes.analysis.on_chip import in_space
from npu_passes.support.loop_builder import memref_type
from npu_passes.tiling.domain_spaces import domain_space
from npu_passes.tiling.layer_spaces import loop_names, space_of, sums_residual
from npu_passes.tiling.pool_apart import apart_space, sums_axes
from npu_plans.tiles.operand_regions import Along, Cut, Loop, Moves, Space


@dataclass(frozen=True)
class Buffer:
    """A tile buffer: the indices of the operands that share it, its shape, bytes and copies.

    `bytes` are those of one copy; a double buffer has two copies, or up to four with late stores
    and loads two steps ahead. A `whole` buffer holds all of its operand, which is loaded once.
    """

    operands: tuple[int, ...]
    shape: tuple[int, ...]
    bytes: int
    copies: int
    whole: bool


@dataclass(frozen=True)
class Staging:
    """The chosen tiles of one layer, their buffers and their traffic.

    `transfers` and `bytes` are those of one run of the layer. With `double_buffer`, transfers of
    the innermost loop overlap with computing.
    """

    cut: Cut
    buffers: tuple[Buffer, ...]
    double_buffer: bool
    transfers: int
    bytes: int
    sums: Buffer | None = None
    """The buffer of the sums of a convolution whose pool is taken apart (`pool_apart.py`)."""
    late: bool = False
    """Whether a tile that is loaded and stored in the innermost loop is stored a step later, while
    the next one is loaded into a third copy."""
    ahead: bool = False
    """Whether tiles of the innermost loop are loaded two steps ahead, into one copy more."""

    @property
    def footprint(self) -> int:
        """Bytes on chip of all copies of the buffers, and of the sums."""
        return sum(self.allocated)

    @property
    def allocated(self) -> tuple[int, ...]:
        """Bytes on chip of each buffer with all its copies, and of the sums."""
        sums = () if self.sums is None else (self.sums.bytes,)
        return (*(buffer.bytes * buffer.copies for buffer in self.buffers), *sums)


class OperandMoves(NamedTuple):
    """What is moved of one operand: loaded, or `stored`."""

    operand: int
    moves: Moves
    stored: bool = False


@dataclass(frozen=True)
class Stage:
    """One way to stage an op: its loops and its off-chip operands.

    `staged`: for each tile buffer the indices of the operands that share it. `whole`: the operands
    that are brought on chip as a whole. `alignment`: that of on-chip buffers, in bytes. `sums`: how
    the axes of a buffer of sums follow the loops; empty if there is no such buffer.
    """

    op: Operation
    space: Space
    staged: tuple[tuple[int, ...], ...]
    whole: frozenset[int]
    alignment: int
    sums: tuple[Along, ...] = ()

    def buffer(
        self,
        cut: Cut,
        operands: tuple[int, ...],
        *,
        double: bool,
        late: bool = False,
        ahead: bool = False,
    ) -> Buffer:
        """The buffer that `operands` share, for tiles `cut`.

        With `double` it has two copies if its tile changes in the innermost loop. With `late`, one
        that is loaded and stored has one more, with `ahead`, one that is loaded; but there are no
        more copies than the loop has steps.
        """
        value, first = self.op.operands[operands[0]], operands[0]
        is_whole = first in self.whole
        shape = shape_of(value) if is_whole else cut.shape(first)
        changes = bool(cut.order) and cut.order[-1] in cut.indexing(first)
        copies = 2 if double and changes and not is_whole else 1
        if copies == 2 and (late or ahead):
            late = late and bool(stored_in_place(self.op, cut, operands))
            ahead = ahead and is_loaded(self.op, cut, operands)
            copies = min(2 + late + ahead, max(2, most_runs(cut)))
        return Buffer(operands, shape, self.bytes(shape, value), copies, is_whole)

    def bytes(self, shape: Sequence[int], value: SSAValue) -> int:
        """Aligned bytes of a buffer of this shape, with elements like those of `value`."""
        size = prod(shape) * element_bytes(memref_type(value))
        return -(-size // self.alignment) * self.alignment

    def sums_buffer(self, cut: Cut) -> Buffer | None:
        """The buffer of the sums, if there is one."""
        if not self.sums:
            return None
        last = len(self.op.operands) - 1
        shape = cut.largest(self.sums)
        return Buffer((last,), shape, self.bytes(shape, self.op.operands[last]), 1, whole=False)

    def staging(self, cut: Cut, *, double: bool, late: bool = False) -> Staging:
        """Buffers and traffic for tiles `cut`.

        `double` asks for double buffers, and `late` for a third copy of tiles of sums, where they
        help.
        """
        double = double and self.overlaps(cut)
        buffers = tuple(self.buffer(cut, operands, double=double) for operands in self.staged)
        moves = [each for operands in self.staged for each in self.moves(cut, operands)]
        found = Staging(
            cut,
            buffers,
            double,
            sum(each.moves.transfers for each in moves),
            sum(
                each.moves.elements * element_bytes(memref_type(self.op.operands[each.operand]))
                for each in moves
            ),
            self.sums_buffer(cut),
        )
        return (self.with_late(found) if late else None) or found

    def with_late(self, found: Staging) -> Staging | None:
        """The same tiles with late stores; None if no tile of the innermost loop is stored there.

        That is a tile that is loaded into a double buffer, and stored from it.
        """
        cut = found.cut
        last = len(self.op.operands) - 1
        if not found.double_buffer or cut.order[-1] not in cut.indexing(last):
            return None
        if not any(stored_in_place(self.op, cut, operands) for operands in self.staged):
            return None
        buffers = (self.buffer(cut, each, double=True, late=True) for each in self.staged)
        return replace(found, buffers=tuple(buffers), late=True)

    def with_ahead(self, found: Staging) -> Staging | None:
        """The same tiles, loaded two steps ahead; None if no innermost loop gains a copy by it."""
        cut, late = found.cut, found.late
        if not found.double_buffer or most_runs(cut) < 3:
            return None
        buffers = tuple(
            self.buffer(cut, each, double=True, late=late, ahead=True) for each in self.staged
        )
        if all(each.copies < 3 or each == old for each, old in zip(buffers, found.buffers)):
            return None
        return replace(found, buffers=buffers, ahead=True)

    def overlaps(self, cut: Cut) -> bool:
        """Whether the innermost loop becomes an `scf.for` in which some tile is moved."""
        if not cut.order or not cut.repeats(cut.order[-1]):
            return False
        return any(
            cut.order[-1] in cut.indexing(operands[0])
            for operands in self.staged
            if operands[0] not in self.whole
        )

    def moves(self, cut: Cut, operands: tuple[int, ...]) -> Iterator[OperandMoves]:
        """What moves through the buffer that `operands` share, operand by operand."""
        return operand_moves(self.op, cut, operands, whole=operands[0] in self.whole)


def operand_moves(
    op: Operation, cut: Cut, operands: tuple[int, ...], *, whole: bool
) -> Iterator[OperandMoves]:
    """What moves through one buffer: an input is loaded, the destination stored and read back."""
    last = len(cut.space.operands) - 1
    first = operands[0]
    if whole:
        yield OperandMoves(first, Moves(1, prod(shape_of(op.operands[first]))))
        return
    if first != last:
        yield OperandMoves(first, cut.loads(first, opening=first == started_from(op)))
    if operands[-1] == last:
        yield OperandMoves(last, cut.loads(last), stored=True)
        yield OperandMoves(last, reread(op, cut))


def started_from(op: Operation) -> int | None:
    """The index of the residual from which a convolution's sums start, if it has one.

    Later parts of the sums do not need it.
    """
    if isinstance(op, Conv2dOp) and sums_residual(op):
        return len(op.inputs) - 1
    return None


def reread(op: Operation, cut: Cut) -> Moves:
    """What is read back of the destination: sums that an outer loop has left unfinished.

    If the op adds to sums that were there before it, each tile is read whenever it is stored.
    """
    if accumulates(op):
        return cut.loads(len(cut.space.operands) - 1)
    return cut.rereads()


def stored_in_place(op: Operation, cut: Cut, operands: tuple[int, ...]) -> int:
    """How many tiles are stored from the buffer that `operands` share, and were loaded into it."""
    last = len(cut.space.operands) - 1
    if operands[-1] != last:
        return 0
    return (reread(op, cut) if operands[0] == last else cut.loads(last)).transfers


def is_loaded(op: Operation, cut: Cut, operands: tuple[int, ...]) -> bool:
    """Whether tiles are loaded into the buffer that `operands` share."""
    last = len(cut.space.operands) - 1
    return operands[0] != last or bool(reread(op, cut).transfers)


def most_runs(cut: Cut) -> int:
    """The most steps that an innermost loop has."""
    return max(each.runs for each in cut.segments(cut.order[-1]))


def off_chip_operands(op: Operation) -> set[SSAValue]:
    """The operands that lie in `#npu.dram`."""
    return {value for value in op.operands if in_space(value, DramSpace())}


def is_weight(op: Operation, value: SSAValue) -> bool:
    """Whether an operand is learned: a parameter of the layer, or a constant of the module."""
    if value in parameters_of(op):
        return True
    while isinstance(value, OpResult) and isinstance(
        value.op, memref.SubviewOp | memref.ReinterpretCastOp | memref.CastOp
    ):
        value = value.op.operands[0]
    return isinstance(value, OpResult) and isinstance(value.op, memref.GetGlobalOp)


def stage_of(op: Operation, off_chip: AbstractSet[SSAValue], alignment: int) -> Stage:
    """The first way to stage an op. Learned vectors are brought on chip as a whole.

    Operands share a buffer if they are the same value and follow the loops alike. A copy loads and
    stores its tiles through one buffer.
    """
    space = space_of_any(op)
    found: dict[tuple[SSAValue, tuple[Along, ...]], tuple[int, ...]] = {}
    for index, (value, axes) in enumerate(zip(op.operands, space.operands, strict=True)):
        if value in off_chip:
            found[value, axes] = (*found.get((value, axes), ()), index)
    if isinstance(op, memref.CopyOp):
        return Stage(op, space, ((0, 1),), frozenset(), alignment)
    parameters = parameters_of(op)
    whole = frozenset(
        index
        for index, value in enumerate(op.operands)
        if value in parameters and len(shape_of(value)) == 1
    )
    return Stage(op, space, tuple(found.values()), whole, alignment)


def space_of_any(op: Operation) -> Space:
    """The loops of a layer, of an op of another dialect, or of a copy."""
    if isinstance(op, LayerOp):
        return space_of(op)
    found = computation_of(op)
    return copy_space(op) if found is None else domain_space(found)


def copy_space(op: Operation) -> Space:
    """The loops of an op that copies one map to another of the same shape."""
    shape = shape_of(op.operands[0])
    names = loop_names(len(shape))
    axes = tuple(Along(extent, name) for name, extent in zip(names, shape, strict=True))
    loops = tuple(Loop(name, extent) for name, extent in zip(names, shape, strict=True))
    return Space(loops, (axes, axes))


def stages_of(op: Operation, off_chip: AbstractSet[SSAValue], alignment: int) -> Iterator[Stage]:
    """The ways to stage an op, best first.

    They are: the bias as a whole, the bias in tiles, and the pool of a convolution taken apart.
    """
    first = stage_of(op, off_chip, alignment)
    yield first
    last = replace(first, whole=frozenset())
    if first.whole:
        yield last
    if isinstance(op, Conv2dOp) and op.pool is not None:
        space = apart_space(op)
        yield replace(last, space=space, sums=sums_axes(op, space))
