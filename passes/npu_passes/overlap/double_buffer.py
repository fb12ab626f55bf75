"""`npu-double-buffer`: run the transfers of one step of a loop while another step computes.

Level of IR: loops over tiles, before buffers have offsets. It rewrites the loops with
`npu.double_buffer`; `overlap.py` decides which of their transfers can overlap with computing.

    scf.for %i = %c0 to %c8 step %c1 {          %t0 = dma.start %rows(0) to %a(0); dma.wait %t0
      %t = dma.start %rows(i) to %a             scf.for %i = %c0 to %c7 step %c1 {
      dma.wait %t                          =>     %t = dma.start %rows(i + 1) to %a((i + 1) mod 2)
      npu.conv2d ins(%a) outs(%b)                 npu.conv2d ins(%a(i mod 2)) outs(%b)
    } {npu.double_buffer}                         dma.wait %t
                                                } {npu.double_buffered}
                                                npu.conv2d ins(%a(1)) outs(%b)

Both halves of a double buffer are views of one allocation, twice as long along its outermost axis.
With `npu.late_sums`, a buffer that is loaded and stored has three parts: the next step's load, this
step and the last step's store each have one of them. With `npu.two_ahead`, loads start two steps
before the step that needs them, in one part more, so that the bus has data while they are
prepared. The loop then carries the token of the load that has been started and is not waited for:

    %t1 = dma.start ...                                  // tile 1; tile 0 has arrived
    scf.for %i = %c0 to %c6 step %c1 iter_args(%t = %t1) {
      %u = dma.start %rows(i + 2) to %a((i + 2) mod 3)
      npu.conv2d ins(%a(i mod 3)) outs(%b)
      dma.wait %t                                        // tile i + 1
      scf.yield %u
    }

(Unrolling the loop by two would save the `mod`, but double the code.) If the loop stores, the
stores of step i - 1 run while step i computes, and the first step stands in front of the loop.
Outer loops are rewritten before the loops inside them, which are then rewritten in every copy. A
loop that cannot be rewritten gets the reason:

    scf.for ... {npu.not_double_buffered = "its bounds are not known"}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import (
    MemRefType,
    ModuleOp,
    StridedLayoutAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.attributes import (
    DOUBLE_BUFFER,
    DOUBLE_BUFFERED,
    LATE_SUMS,
    NOT_DOUBLE_BUFFERED,
    RUNS,
    TILE,
    TWO_AHEAD,
)
from npu_dialect.dma import WaitOp
from npu_dialect.npu.layer import LayerOp
from npu_dialect.sram import AllocOp
from npu_passes.analysis.views import is_view
from npu_passes.overlap.overlap import NotPossible, Schedule, schedule_of
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type
from npu_passes.support.refuse import RefusingPass


@dataclass(frozen=True)
class DoubleBufferPass(RefusingPass):
    """Overlap transfers and computing in loops with `npu.double_buffer`; see the module."""

    name = "npu-double-buffer"

    ahead: Literal[1, 2] = 2
    """How many steps before its own a load may start. With 1, no loop carries tokens."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite all marked loops, outer ones first."""
        for loop in wanted(op) if self.ahead == 1 else ():
            TWO_AHEAD.drop(loop)
        for loop in wanted(op):
            give_own_buffers(loop)
        while loops := wanted(op):
            # Inner loops come in the next round: rewriting a loop makes copies of its body.
            for loop in outermost(loops):
                take_apart(loop)


def wanted(module: ModuleOp) -> list[scf.ForOp]:
    """The loops with `npu.double_buffer`, outer ones before those inside."""
    return [op for op in module.walk() if isinstance(op, scf.ForOp) and DOUBLE_BUFFER.is_on(op)]


def outermost(loops: list[scf.ForOp]) -> list[scf.ForOp]:
    """The loops that lie in no other one of `loops`, which lists outer ones before inner ones."""
    found: list[scf.ForOp] = []
    for loop in loops:
        if not found or not found[-1].is_ancestor(loop):
            found.append(loop)
    return found


def take_apart(loop: scf.ForOp) -> None:
    """Rewrite a loop so that its steps overlap, or write the reason why that is impossible."""
    schedule = None
    try:
        schedule = schedule_of(loop)
    except NotPossible as why:
        NOT_DOUBLE_BUFFERED.set(loop, str(why))
    DOUBLE_BUFFER.drop(loop)
    LATE_SUMS.drop(loop)
    TWO_AHEAD.drop(loop)
    if schedule is not None:
        Pipeline(schedule).build()


def give_own_buffers(loop: scf.ForOp) -> None:
    """Allocate the buffers of a loop right before it, so that each copy of it has its own."""
    try:
        schedule = schedule_of(loop)
    except NotPossible:
        return  # take_apart writes the reason
    for alloc in schedule.buffers:
        if loop.is_ancestor(alloc):
            continue
        own = alloc.clone()
        own.buffer.name_hint = alloc.buffer.name_hint
        Rewriter.insert_op(own, InsertPoint.before(loop))
        first = loop.body.block.first_op
        assert first is not None
        hand_over(loop, first, alloc.buffer, own.buffer)
        if not any(alloc.buffer.uses):
            Rewriter.erase_op(alloc)


def hand_over(loop: scf.ForOp, first: Operation, old: SSAValue, new: SSAValue) -> None:
    """Let a loop use `new` instead of `old`; views that it uses are copied in front of `first`.

    `first` is the first op of the loop's body.
    """
    for use in list(old.uses):
        user = use.operation
        if loop.is_ancestor(user):
            user.operands[use.index] = new
        elif is_view(user):
            copy = user.clone({old: new})
            copy.results[0].name_hint = user.results[0].name_hint
            Rewriter.insert_op(copy, InsertPoint.before(first))
            hand_over(loop, first, user.results[0], copy.results[0])
            for view in (copy, user):
                if not any(view.results[0].uses):
                    Rewriter.erase_op(view)


class Pipeline:
    """Builds the overlapping form of one loop in front of it, and removes the loop."""

    def __init__(self, schedule: Schedule) -> None:
        """Prepare to build; the IR is not changed yet."""
        self.schedule = schedule
        self.b = LoopBuilder(schedule.loop)
        self.doubled: dict[AllocOp, SSAValue] = {}

    def build(self) -> None:
        """Build the loads of the first step, the overlapping steps, and the last step's stores."""
        schedule, loop = self.schedule, self.schedule.loop
        for alloc in schedule.buffers:
            parts = schedule.parts(alloc)
            doubled = self.b.insert(AllocOp(times_as_long(memref_type(alloc.buffer), parts)))
            doubled.buffer.name_hint = alloc.buffer.name_hint
            self.doubled[alloc] = doubled.buffer
        head = int(bool(schedule.stores))
        end = schedule.rounds - (schedule.ahead if schedule.loads else 0)
        coming = self.first_loads()
        if head:
            coming = self.step(self.at(0), 1, coming, store=False)
        coming = self.steady(head, end, coming)
        for number in range(end, schedule.rounds):
            coming = self.step(self.at(number), 1, coming, load=False)
        if schedule.stores:
            self.run(schedule.stores, self.at(schedule.rounds - 1))
        buffers = [alloc for alloc in schedule.buffers if not loop.is_ancestor(alloc)]
        Rewriter.erase_op(loop)
        for alloc in buffers:
            Rewriter.erase_op(alloc)

    def at(self, number: int) -> int:
        """The value of the induction variable in step `number`."""
        return self.schedule.first + number * self.schedule.step

    def first_loads(self) -> list[WaitOp]:
        """Build the loads in front of step 0, and wait for its own.

        Returns the waits, not inserted yet, of those for step 1 that are under way.
        """
        if not self.schedule.loads:
            return []
        started = [
            self.run(self.schedule.loads, self.at(number), wait=False)
            for number in range(self.schedule.ahead)
        ]
        self.insert_all(started[0])
        return [wait for waits in started[1:] for wait in waits]

    def steady(self, start: int, end: int, coming: Sequence[WaitOp]) -> list[WaitOp]:
        """Build a loop over the steps from `start` to `end` (excluded), which are all alike.

        `coming`: the waits of the loads for the next step that are under way; the loop carries
        their tokens. Returns those behind the loop.
        """
        loop = self.schedule.loop
        blocks: list[Operation] = []
        left: list[WaitOp] = []

        def body(index: Index, tokens: Sequence[SSAValue]) -> list[SSAValue]:
            left[:] = self.step(index, end - start, with_tokens(coming, tokens))
            if isinstance(index, SSAValue) and (parent := index.owner.parent_op()) is not None:
                blocks.append(parent)
            return [wait.token for wait in left]

        hint = loop.body.block.args[0].name_hint or "i"
        tokens = [wait.token for wait in coming]
        bounds = (self.at(start), self.at(end))
        tokens = self.b.loop(*bounds, body, tokens, step=self.schedule.step, hint=hint)
        for made in blocks:
            made.attributes.update(loop.attributes)
            DOUBLE_BUFFERED.set(made, True)
        return with_tokens(left or coming, tokens)

    def step(
        self,
        index: Index,
        times: int,
        coming: Sequence[WaitOp],
        *,
        load: bool = True,
        store: bool = True,
    ) -> list[WaitOp]:
        """Build one step: start a later step's loads and the last step's stores, compute, wait.

        `times`: how often these ops will run. `coming`: the waits of the loads for the next step
        that are under way. Returns those behind this step.
        """
        b, schedule = self.b, self.schedule
        started: dict[bool, list[WaitOp]] = {True: [], False: []}
        # Transfers have the bus in the order of their starts: first what this step waits for.
        for loads in (True, False) if schedule.ahead == 1 else (False, True):
            if loads and load and schedule.loads:
                later = b.add(index, schedule.ahead * schedule.step)
                started[loads] = self.run(schedule.loads, later, wait=False)
            elif not loads and store and schedule.stores:
                last = b.sub(index, schedule.step)
                started[loads] = self.run(schedule.stores, last, wait=False)
        self.run(schedule.compute, index, times)
        if schedule.ahead == 1:
            self.insert_all((*started[True], *started[False]))
            return []
        self.insert_all((*coming, *started[False]))
        return started[True]

    def insert_all(self, ops: Sequence[Operation]) -> None:
        """Insert some ops."""
        for op in ops:
            self.b.insert(op)

    def run(
        self, ops: Sequence[Operation], index: Index, times: int = 1, *, wait: bool = True
    ) -> list[WaitOp]:
        """Copy a part of a step for the induction variable `index`; the copies run `times` times.

        Without `wait` the waits of transfers are not inserted, but returned.
        """
        b, loop = self.b, self.schedule.loop
        values: dict[SSAValue, SSAValue] = {loop.body.block.args[0]: b.value(index)}
        used = [a for a in self.schedule.buffers if any(uses(op, a.buffer) for op in ops)]
        numbers = {parts: self.part(index, parts) for parts in map(self.schedule.parts, used)}
        for alloc in used:
            values[alloc.buffer] = self.view(alloc, numbers[self.schedule.parts(alloc)])
        left: list[WaitOp] = []
        for op in ops:
            copy = op.clone(values)
            for old, new in list(zip(op.walk(), copy.walk(), strict=True)):
                follow(old, new, self.schedule.rounds, times)
                values.update(zip(old.results, new.results, strict=True))
            if isinstance(copy, WaitOp) and not wait:
                left.append(copy)
            else:
                b.insert(copy)
        return left

    def part(self, index: Index, parts: int) -> Index:
        """The number of the step with induction variable `index`, modulo `parts`."""
        b, schedule = self.b, self.schedule
        number = b.sub(index, schedule.first)
        if isinstance(number, int):
            return number // schedule.step % parts
        if schedule.step != 1:
            number = b.insert(arith.DivUIOp(b.value(number), b.value(schedule.step))).result
        hint = "half" if parts == 2 else "part"
        return b.insert(arith.RemUIOp(b.value(number), b.value(parts)), hint).result

    def view(self, alloc: AllocOp, part: Index) -> SSAValue:
        """A view of one part of a double buffer: the first one for number 0."""
        source, shape = self.doubled[alloc], memref_type(alloc.buffer).get_shape()
        first: Sequence[Index] = [self.b.mul(part, shape[0]), *[0] * (len(shape) - 1)]
        type_ = memref.SubviewOp.infer_result_type(
            memref_type(source), first, shape, [1] * len(shape)
        )
        op = memref.SubviewOp.get(source, first, shape, [1] * len(shape), type_)
        return self.b.insert(op, alloc.buffer.name_hint).result


def with_tokens(waits: Sequence[WaitOp], tokens: Sequence[SSAValue]) -> list[WaitOp]:
    """The same waits, for the transfers that other tokens stand for."""
    for wait, token in zip(waits, tokens, strict=True):
        wait.operands[0] = token
    return list(waits)


def times_as_long(type_: MemRefType[Attribute], parts: int) -> MemRefType[Attribute]:
    """The type of a buffer `parts` times as long along its outermost axis."""
    first, *others = type_.get_shape()
    shape = [parts * first, *others]
    return MemRefType(type_.element_type, shape, type_.layout, type_.memory_space)


def uses(op: Operation, value: SSAValue) -> bool:
    """Whether an op, or one in its regions, has a value as operand."""
    return any(value in inner.operands for inner in op.walk())


def follow(old: Operation, new: Operation, rounds: int, times: int) -> None:
    """Adapt a copy of an op: names, the type of a view of a half, how often a layer runs.

    `npu.tile` stays only on the first copy of a layer.
    """
    TILE.drop(old)
    for before, after in zip(old.results, new.results, strict=True):
        after.name_hint = before.name_hint
    if isinstance(old, memref.SubviewOp) and isinstance(new, memref.SubviewOp):
        if (type_ := moved(old, new)) != new.result.type:
            Rewriter.replace_value_with_new_type(new.result, type_)
    runs = RUNS.get(new)
    if isinstance(new, LayerOp) and runs is not None and runs % rounds == 0:
        RUNS.set(new, runs // rounds * times)


def moved(old: memref.SubviewOp, new: memref.SubviewOp) -> MemRefType[Attribute]:
    """The type of a view whose source has become a half: its offset changes with the source's."""
    type_ = memref_type(new.result)
    before, after = memref_type(old.source).get_offset(), memref_type(new.source).get_offset()
    strides, offset = type_.get_strides(), type_.get_offset()
    if before == after or strides is None:
        return type_
    place = None
    if before is not None and after is not None and offset is not None:
        place = offset + after - before
    return MemRefType(
        type_.element_type, type_.get_shape(), StridedLayoutAttr(strides, place), type_.memory_space
    )
