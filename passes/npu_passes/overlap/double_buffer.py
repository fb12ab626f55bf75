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
step and the last step's store each have one of them.
(Unrolling the loop by two would save the `mod`, but double the code.) If the loop stores, the
stores of step i - 1 run while step i computes, and the first step stands in front of the loop.
Outer loops are rewritten before the loops inside them, which are then rewritten in every copy. A
loop that cannot be rewritten gets the reason:

    scf.for ... {npu.not_double_buffered = "its bounds are not known"}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite all marked loops, outer ones first."""
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
        last = schedule.rounds - 1
        if schedule.loads:
            self.run(schedule.loads, self.at(0))
        head, end = bool(schedule.stores), last if schedule.loads else last + 1
        if head:
            self.step(self.at(0), 1, store=False)
        self.steady(int(head), end)
        if schedule.loads:
            self.step(self.at(last), 1, load=False)
        if schedule.stores:
            self.run(schedule.stores, self.at(last))
        buffers = [alloc for alloc in schedule.buffers if not loop.is_ancestor(alloc)]
        Rewriter.erase_op(loop)
        for alloc in buffers:
            Rewriter.erase_op(alloc)

    def at(self, number: int) -> int:
        """The value of the induction variable in step `number`."""
        return self.schedule.first + number * self.schedule.step

    def steady(self, start: int, end: int) -> None:
        """Build a loop over the steps from `start` to `end` (excluded), which are all alike."""
        loop = self.schedule.loop
        blocks: list[Operation] = []

        def body(index: Index, _: Sequence[SSAValue]) -> tuple[()]:
            self.step(index, end - start)
            if isinstance(index, SSAValue) and (parent := index.owner.parent_op()) is not None:
                blocks.append(parent)
            return ()

        hint = loop.body.block.args[0].name_hint or "i"
        self.b.loop(self.at(start), self.at(end), body, step=self.schedule.step, hint=hint)
        for made in blocks:
            made.attributes.update(loop.attributes)
            DOUBLE_BUFFERED.set(made, True)

    def step(self, index: Index, times: int, *, load: bool = True, store: bool = True) -> None:
        """Build one step: start the next step's loads and the last step's stores, compute, wait.

        `times`: how often these ops will run.
        """
        b, schedule = self.b, self.schedule
        waits: list[Operation] = []
        if load and schedule.loads:
            waits += self.run(schedule.loads, b.add(index, schedule.step), wait=False)
        if store and schedule.stores:
            waits += self.run(schedule.stores, b.sub(index, schedule.step), wait=False)
        self.run(schedule.compute, index, times)
        for wait in waits:
            b.insert(wait)

    def run(
        self, ops: Sequence[Operation], index: Index, times: int = 1, *, wait: bool = True
    ) -> list[Operation]:
        """Copy a part of a step for the induction variable `index`; the copies run `times` times.

        Without `wait` the waits of transfers are not inserted, but returned.
        """
        b, loop = self.b, self.schedule.loop
        values: dict[SSAValue, SSAValue] = {loop.body.block.args[0]: b.value(index)}
        used = [a for a in self.schedule.buffers if any(uses(op, a.buffer) for op in ops)]
        numbers = {parts: self.part(index, parts) for parts in map(self.schedule.parts, used)}
        for alloc in used:
            values[alloc.buffer] = self.view(alloc, numbers[self.schedule.parts(alloc)])
        left: list[Operation] = []
        for op in ops:
            copy = op.clone(values)
            for old, new in list(zip(op.walk(), copy.walk(), strict=True)):
                follow(old, new, self.schedule.rounds, times)
                values.update(zip(old.results, new.results, strict=True))
            if isinstance(op, WaitOp) and not wait:
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
