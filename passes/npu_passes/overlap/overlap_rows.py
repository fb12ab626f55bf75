"""`npu-overlap-rows`: move rows of maps off chip while other rows of a region are computed.

Level of IR: loops of `npu.rows` with transfers, before buffers have offsets. A loop with
`npu.overlap_rows` computes some rows in each round:

    scf.for %t = %c0 to %c50 step %c1 {             t0 = dma.start %x(0) to %line; dma.wait t0
      %0 = dma.start %x(t) to %line                 scf.for %t = ... {
      dma.wait %0                                     copy %line to %ring
      copy %line to %ring                             %0 = dma.start %x(t + 1) to %line
      npu.conv2d ins(%ring) outs(%a)           =>     %1 = dma.start %row to %y(t - 1)
      npu.conv2d ins(%a) outs(%row)                   npu.conv2d ins(%ring) outs(%a)
      %1 = dma.start %row to %y(t)                    dma.wait %1
      dma.wait %1                                     npu.conv2d ins(%a) outs(%row)
    } {npu.overlap_rows}                              dma.wait %0
                                                    }

So a buffer needs one copy: the row of the next round arrives once that of this round has been read,
and the row of the last round leaves until the next one is computed. The first and the last round
stand in front of the loop and behind it. A loop that cannot be rewritten gets the reason:

    scf.for ... {npu.not_double_buffered = "its bounds are not known"}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from npu_dialect.attributes import DOUBLE_BUFFERED, NOT_DOUBLE_BUFFERED, OVERLAP_ROWS
from npu_passes.analysis.accesses import accesses, private
from npu_passes.overlap.double_buffer import follow
from npu_passes.overlap.overlap import (
    LoopTransfer,
    NotPossible,
    check_dram,
    check_places,
    is_load,
    is_pure,
    name_of,
    transfers_of,
    trip,
    with_addresses,
)
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_passes.support.refuse import RefusingPass


@dataclass(frozen=True)
class OverlapRowsPass(RefusingPass):
    """Move rows while others are computed, in loops with `npu.overlap_rows`; see the module."""

    name = "npu-overlap-rows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite all marked loops."""
        loops = [each for each in op.walk() if isinstance(each, scf.ForOp)]
        for loop in [each for each in loops if OVERLAP_ROWS.is_on(each)]:
            OVERLAP_ROWS.drop(loop)
            try:
                rounds = rounds_of(loop)
            except NotPossible as why:
                NOT_DOUBLE_BUFFERED.set(loop, str(why))
            else:
                Overlapping(rounds).build()


@dataclass(frozen=True)
class Rounds:
    """The rounds of a loop: `count`, the first with the value `first`, each `step` further.

    `rest` are the ops of a round but for the transfers `loads` and `stores`, which move in other
    rounds.
    """

    loop: scf.ForOp
    first: int
    step: int
    count: int
    loads: tuple[LoopTransfer, ...]
    stores: tuple[LoopTransfer, ...]
    rest: tuple[Operation, ...]

    def last_reader(self, load: LoopTransfer) -> Operation | None:
        """The last op of a round that reads what a transfer loads; None if none does."""
        readers = (op for op in reversed(self.rest) if touches(op, load))
        return next(readers, None)

    def first_writer(self, store: LoopTransfer) -> Operation | None:
        """The first op of a round that uses the buffer from which a transfer stores."""
        return next((op for op in self.rest if touches(op, store)), None)


def touches(op: Operation, transfer: LoopTransfer) -> bool:
    """Whether an op reads or writes the on-chip buffer of a transfer."""
    return any(each.root is transfer.alloc.buffer for each in accesses(op))


def rounds_of(loop: scf.ForOp) -> Rounds:
    """How the transfers of a loop can move in other rounds.

    Buffers that are allocated in the loop keep their transfers, as nothing says that they last from
    one round to the next.

    Raises: NotPossible if a condition does not hold; the message says which.
    """
    first, count, step = trip(loop)
    body = loop.body.block
    moved = [each for each in transfers_of(body) if not loop.is_ancestor(each.alloc)]
    loads = tuple(each for each in moved if is_load(each.start))
    stores = tuple(each for each in moved if not is_load(each.start))
    if not moved:
        raise NotPossible("it has no transfers of its own")
    buffers = [each.alloc for each in moved]
    for alloc in buffers:
        if buffers.count(alloc) > 1:
            raise NotPossible(f"{name_of(alloc.buffer)} is moved twice")
        if (why := private(alloc.buffer, loop)) is not None:
            raise NotPossible(f"{name_of(alloc.buffer)} {why}")
    check_places(body, loads, stores)
    check_dram(loop, loads, stores, (step, count))
    taken: set[Operation | None] = {op for each in moved for op in (each.start, each.wait)}
    taken.add(body.last_op)
    rest = tuple(op for op in body.ops if not is_pure(op) and op not in taken)
    return Rounds(loop, first, step, count, loads, stores, rest)


class Overlapping:
    """Builds the rounds of a loop with their transfers in other rounds, and removes the loop."""

    def __init__(self, rounds: Rounds) -> None:
        """Prepare to build; the IR is not changed yet."""
        self.rounds = rounds
        self.b = LoopBuilder(rounds.loop)

    def build(self) -> None:
        """Build the first loads, the rounds, and the last stores."""
        rounds = self.rounds
        start, last = int(bool(rounds.stores)), rounds.count - 1
        end = last if rounds.loads else last + 1
        for each in rounds.loads:
            self.move(each, self.at(0), wait=True)
        if rounds.stores:
            self.round(self.at(0), 1, store=False)
        made: list[Operation] = []

        def body(index: Index, _: Sequence[SSAValue]) -> tuple[()]:
            self.round(index, end - start)
            if isinstance(index, SSAValue) and (parent := index.owner.parent_op()) is not None:
                made.append(parent)
            return ()

        hint = rounds.loop.body.block.args[0].name_hint or "t"
        self.b.loop(self.at(start), self.at(end), body, step=rounds.step, hint=hint)
        for loop in made:
            loop.attributes.update(rounds.loop.attributes)
            DOUBLE_BUFFERED.set(loop, True)
        if rounds.loads:
            self.round(self.at(last), 1, load=False)
        for each in rounds.stores:
            self.move(each, self.at(last), wait=True)
        Rewriter.erase_op(rounds.loop)

    def at(self, number: int) -> int:
        """The value of the induction variable in round `number`."""
        return self.rounds.first + number * self.rounds.step

    def round(self, index: Index, times: int, *, load: bool = True, store: bool = True) -> None:
        """Build one round: it starts the next one's loads, and the last one's stores.

        `times`: how often these ops will run.
        """
        b, rounds = self.b, self.rounds
        late: dict[Operation | None, list[Operation]] = {}
        waits: list[Operation] = []
        early: dict[Operation | None, list[LoopTransfer]] = {}
        for each in rounds.stores if store else ():
            wait = self.move(each, b.sub(index, rounds.step), wait=False)
            late.setdefault(rounds.first_writer(each), []).append(wait)
        for each in rounds.loads if load else ():
            early.setdefault(rounds.last_reader(each), []).append(each)
        ahead = b.add(index, rounds.step) if early else 0
        waits += [self.move(each, ahead, wait=False) for each in early.get(None, ())]
        values: dict[SSAValue, SSAValue] = {rounds.loop.body.block.args[0]: b.value(index)}
        for op in with_addresses(rounds.loop.body.block, rounds.rest, anything=True):
            for wait in late.pop(op, ()):
                b.insert(wait)
            self.clone(op, values, times)
            waits += [self.move(each, ahead, wait=False) for each in early.get(op, ())]
        for wait in (*waits, *(wait for group in late.values() for wait in group)):
            b.insert(wait)

    def move(self, transfer: LoopTransfer, index: Index, *, wait: bool) -> Operation:
        """Start a transfer of the round of `index`; returns the wait, in the IR if `wait`."""
        block = self.rounds.loop.body.block
        values: dict[SSAValue, SSAValue] = {block.args[0]: self.b.value(index)}
        for op in with_addresses(block, [transfer.start]):
            self.clone(op, values, 1)
        left = transfer.wait.clone(values)
        if wait:
            self.b.insert(left)
        return left

    def clone(self, op: Operation, values: dict[SSAValue, SSAValue], times: int) -> None:
        """Insert a copy of an op that will run `times` times."""
        copy = op.clone(values)
        for old, new in list(zip(op.walk(), copy.walk(), strict=True)):
            follow(old, new, self.rounds.count, times)
            values.update(zip(old.results, new.results, strict=True))
        self.b.insert(copy)
