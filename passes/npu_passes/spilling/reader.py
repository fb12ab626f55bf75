"""Reads the spill problem of one function: its buffers, ops and costs (on memrefs).

A map can leave the chip if it is an `sram.alloc` without an offset that only layers and copies use,
through views or not. Its uses must not all be in one loop, as those of the row windows of
`npu.rows` are. No view of it may be without elements, as a window is that lies in the padding: no
transfer moves that.

Its cost is the bytes that layers move if it is off chip: all of its bytes for each layer that
writes it and for each that reads it. A layer that uses a slice moves the slice only, and a layer in
a loop moves its rows in each step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import memref
from xdsl.ir import Operation, OpResult, SSAValue, Use

from npu_dialect.attributes import MOVES
from npu_dialect.computing import is_computed_on_buffers, parameters_of
from npu_dialect.npu.attributes import DramSpace, SramSpace
from npu_dialect.npu.maps import shape_of
from npu_dialect.sram import AllocOp
from npu_passes.analysis.lifetimes import Lifetimes, lifetimes_of
from npu_passes.analysis.on_chip import in_space
from npu_passes.analysis.views import uses_of, views_of
from npu_passes.spilling.traffic import lasting_traffic
from npu_plans.arena.fillings import in_use
from npu_plans.arena.problem import Buffer, Overlay
from npu_plans.spills.problem import OpMemory, Shared, SpillProblem, TileNeed

SUBSETS_OF = 4
"""The most maps of an op for which the tile bytes of all combinations are computed.

An op with more maps is taken to need the sum of what its maps need one by one.
"""

Needs: TypeAlias = Callable[[Operation, AbstractSet[SSAValue]], int]
"""Bytes of tile buffers of an op, given which of its operands are off chip."""


@dataclass(frozen=True)
class Reading:
    """The spill problem of a function; buffer i of the problem is buffer i of `lifetimes`."""

    lifetimes: Lifetimes
    problem: SpillProblem

    @property
    def function(self) -> Operation:
        """The function."""
        return self.lifetimes.function

    def alloc(self, index: int) -> AllocOp:
        """The allocation of a buffer that can leave the chip."""
        op = self.lifetimes.buffers[index].value.owner
        assert isinstance(op, AllocOp)
        return op


@dataclass(frozen=True)
class Reader:
    """Reads one function.

    `roots`: for each buffer that can leave the chip, and for each view of one, the position of the
    buffer in `lifetimes`.
    """

    lifetimes: Lifetimes
    roots: Mapping[SSAValue, int]

    @staticmethod
    def of(function: Operation) -> Reader:
        """The reader of a function.

        Raises: PassFailedException if `lifetimes_of` does.
        """
        lifetimes = lifetimes_of(function, SramSpace())
        roots = {
            value: index
            for index, buffer in enumerate(lifetimes.buffers)
            if is_movable(buffer.value)
            for value in (buffer.value, *views_of(buffer.value))
        }
        return Reader(lifetimes, roots)

    def read(self, needs: Needs, alignment: int, *, spills: bool = True) -> Reading:
        """The spill problem with the tile bytes that `needs` gives.

        `alignment`: the machine's alignment of buffers, in bytes. Without `spills`, no map of the
        problem can leave the chip; that is quicker to read.
        """
        buffers = tuple(
            Buffer(
                each.name,
                each.size,
                max(each.alignment, alignment),
                each.first,
                each.last,
                each.pin,
            )
            for each in self.lifetimes.buffers
        )
        movable = set(self.roots.values()) if spills else set[int]()
        costs = tuple(
            lasting_traffic(buffer.value) if index in movable else None
            for index, buffer in enumerate(self.lifetimes.buffers)
        )
        steps = tuple(self.steps(needs, self.roots if spills else {}))
        moves = tuple(self.moves()) if spills else ()
        overlays = self.lifetimes.overlays
        problem = SpillProblem(buffers, costs, steps, overlays, alignment, moves)
        return Reading(self.lifetimes, problem)

    def moves(self) -> Iterator[tuple[int, int]]:
        """The buffers between which `npu-split-lives` has put a copy."""
        for op in self.lifetimes.ops:
            if isinstance(op, memref.CopyOp) and MOVES.is_on(op):
                yield self.roots[op.source], self.roots[op.destination]

    def steps(self, needs: Needs, roots: Mapping[SSAValue, int]) -> Iterator[OpMemory]:
        """The ops at which a buffer begins to live, and those that may need tile buffers."""
        lifetimes = self.lifetimes
        starts = {buffer.first for buffer in lifetimes.buffers}
        for point, op in enumerate(lifetimes.ops):
            tiles = tuple(tile_needs(op, needs, roots)) if has_tiles(op) else ()
            if point in starts or tiles:
                spans = {
                    index: in_use(buffer.size, lifetimes.fillings[index], point)
                    for index, buffer in enumerate(lifetimes.buffers)
                    if buffer.first <= point <= buffer.last
                }
                live = tuple((index, end - start) for index, (start, end) in spans.items())
                partly = tuple(
                    (index, *spans[index])
                    for index, size in live
                    if 0 < size < lifetimes.buffers[index].size
                )
                rows = tuple(shared(live, lifetimes.overlays))
                yield OpMemory(point, live, tiles, rows, partly)


def shared(live: Sequence[tuple[int, int]], overlays: Sequence[Overlay]) -> Iterator[Shared]:
    """The pairs of live buffers that may share memory, row by row or because one is copied."""
    sizes = dict(live)
    pairs = {
        (each.below, each.above): None for each in overlays if each.exact or each.distance == 0
    }
    for one, two in pairs:
        if one in sizes and two in sizes:
            yield Shared(one, two, min(sizes[one], sizes[two]))


def tile_needs(op: Operation, needs: Needs, roots: Mapping[SSAValue, int]) -> Iterator[TileNeed]:
    """The tile bytes of an op, depending on which of its maps in `roots` are off chip."""
    off_chip = frozenset(value for value in op.operands if in_space(value, DramSpace()))
    own: dict[int, list[SSAValue]] = {}
    for value in op.operands:
        if (index := roots.get(value)) is not None:
            own.setdefault(index, []).append(value)

    def size(maps: Sequence[int]) -> int:
        spilled = off_chip.union(*(own[index] for index in maps))
        return needs(op, spilled) if spilled else 0

    if len(own) <= SUBSETS_OF:
        maps = tuple(own)
        subsets = (
            [each for bit, each in enumerate(maps) if mask >> bit & 1]
            for mask in range(1 << len(maps))
        )
        yield TileNeed(maps, tuple(size(subset) for subset in subsets))
        return
    base = size(())
    yield TileNeed((), (base,))
    for index in own:
        yield TileNeed((index,), (0, size((index,)) - base))


def is_moved(op: Operation) -> bool:
    """Whether an op can work on tiles of off-chip operands: a copy, or one that computes a map."""
    return isinstance(op, memref.CopyOp) or is_computed_on_buffers(op)


def has_tiles(op: Operation) -> bool:
    """Whether an op may need tile buffers; a move is a transfer between memories, or goes."""
    return is_moved(op) and not MOVES.is_on(op)


def is_movable(value: SSAValue) -> bool:
    """Whether a buffer can leave the chip."""
    if (
        not isinstance(value, OpResult)
        or not isinstance(value.op, AllocOp)
        or value.op.offset is not None
    ):
        return False
    uses, home = list(uses_of(value)), value.op.parent
    if home is None or not all(is_moved(use.operation) and not learned(use) for use in uses):
        return False
    if not all(in_space(view, SramSpace()) for view in views_of(value)):
        return False
    if any(0 in shape_of(view) for view in views_of(value)):
        return False
    places = {home.find_ancestor_op_in_block(use.operation) for use in uses}
    return len(places) > 1 or any(use.operation in places for use in uses)


def learned(use: Use) -> bool:
    """Whether a layer uses a value as one of its parameters."""
    return use.operation.operands[use.index] in parameters_of(use.operation)
