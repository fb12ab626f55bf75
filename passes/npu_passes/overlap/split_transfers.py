"""`npu-split-transfers`: cut transfers of many runs into parts that channels prepare side by side.

Level of IR: loops over tiles with transfers, behind `npu-prefetch`, whose order it keeps. It
decides in how many parts each transfer moves, and on which channels (`npu_plans/prefetch/parts.py`
tries them on the machine's virtual clock).

    %t = dma.start %rows to %tile channel 1 : ...          // 240 runs
    dma.wait %t
->
    %a = memref.subview %rows[0, 0, 0, 0] [1, 120, 2, 19] [1, 1, 1, 1] : ...
    %b = memref.subview %tile[0, 0, 0, 0] [1, 120, 2, 19] [1, 1, 1, 1] : ...
    %0 = dma.start %a to %b channel 1 : ...                // 120 runs
    (the other 120 slices of both by dma.start on channel 2)
    dma.wait %0
    dma.wait %1

The parts move the same runs and the same bytes, in more transfers. A transfer is cut only where the
core goes on earlier for it. These are left alone: transfers of one run, those in blocks
(`npu-compress-spills`), those that are not waited for in their block, and those beside which
another transfer touches the same elements, since the order on one channel may be what keeps them
apart. So are functions whose loops have bounds that are not known, machines whose file does not say
how long things take, and those with a PL-330: each part would be a microcode program of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, product

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from npu_dialect.dma import StartOp, TokenType, WaitOp
from npu_dialect.machine import Machine
from npu_dialect.npu.maps import element_bytes
from npu_dialect.target import machine_of
from npu_passes.analysis.on_chip import functions
from npu_passes.analysis.timed_ops import NotTimed, moved_by
from npu_passes.overlap.pace import Pace
from npu_passes.overlap.prefetch import blocks_with_transfers
from npu_passes.overlap.read_block import touches_of
from npu_passes.support.loop_builder import LoopBuilder, memref_type
from npu_passes.support.refuse import RefusingPass
from npu_passes.support.transfer_runs import strides_of
from npu_plans.prefetch.parts import Step, parts_of, sizes_of
from npu_plans.prefetch.problem import Touch
from npu_plans.time.program import Rename, Start, Wait, Work
from npu_plans.transfers.runs import sliced_axis


@dataclass(frozen=True)
class SplitTransfersPass(RefusingPass):
    """Cut transfers of many runs into parts; see the module."""

    name = "npu-split-transfers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Cut the transfers of each function on a machine that says how long things take."""
        machine = machine_of(op)
        if machine is None or machine.dma_fifo_bytes or not machine.dma_jump_cycles:
            return
        for function in functions(op):
            pace = Pace.of(function, machine)
            if pace.rates is not None and pace.times is not None:
                for block in list(blocks_with_transfers(function)):
                    split(block, pace, machine)


@dataclass(frozen=True)
class Flight:
    """A transfer that a block starts and waits for, at some places among its ops."""

    start: StartOp
    wait: WaitOp
    first: int
    last: int

    @cached_property
    def axis(self) -> int | None:
        """The axis along which it can be cut without cutting its runs, if there is one."""
        return axis_of(self.start)

    @cached_property
    def touches(self) -> tuple[Touch, ...]:
        """What it reads and writes."""
        return touches_of(self.start)

    @property
    def slices(self) -> int:
        """How many slices it has along its axis."""
        return 1 if self.axis is None else memref_type(self.start.target).get_shape()[self.axis]

    def beside(self, other: Flight) -> bool:
        """Whether another transfer runs at the same time."""
        return self is not other and self.first < other.last and other.first < self.last

    def meets(self, other: Flight) -> bool:
        """Whether both touch the same elements, and one of them writes."""
        return any(one.meets(two) for one, two in product(self.touches, other.touches))


def split(block: Block, pace: Pace, machine: Machine) -> None:
    """Cut the transfers of a block."""
    flights = {each.start: each for each in flights_of(block)}
    slices: dict[int, int] = {}
    beside: dict[int, list[Flight]] = {}
    for each in flights.values():
        if each.slices > 1:
            beside[each.first] = [other for other in flights.values() if each.beside(other)]
            if not any(map(each.meets, beside[each.first])):
                slices[each.first] = each.slices
    if not slices or pace.rates is None:
        return
    again = isinstance(block.parent_op(), scf.ForOp)
    found = parts_of(tuple(steps_of(block, pace)), slices, pace.rates, again=again)
    for each in flights.values():
        if (parts := found.get(each.first, 1)) > 1:
            taken = Counter(other.start.channel.value.data for other in beside[each.first])
            cut(each, channels_for(each.start, parts, taken, machine.dma_channels))


def flights_of(block: Block) -> Iterator[Flight]:
    """The transfers that a block starts and waits for, in the order of their starts."""
    place = {op: number for number, op in enumerate(block.ops)}
    for op in block.ops:
        if not isinstance(op, StartOp):
            continue
        waits = [use.operation for use in op.token.uses]
        if len(waits) == 1 and isinstance(waits[0], WaitOp) and waits[0] in place:
            yield Flight(op, waits[0], place[op], place[waits[0]])


def axis_of(op: StartOp) -> int | None:
    """The axis along which a transfer can be cut without cutting its runs, if there is one."""
    shape = memref_type(op.target).get_shape()
    to, from_ = strides_of(op.target), strides_of(op.source)
    if op.block is not None or 0 in shape or len(shape) != min(len(to), len(from_)):
        return None
    return sliced_axis(shape, to, from_, element_bytes(memref_type(op.target)))


def steps_of(block: Block, pace: Pace) -> Iterator[Step]:
    """The steps of a block; the place of a start is the token of its transfer.

    A loop is the work of its layers, and the waits for transfers whose tokens it takes: its own
    are mostly waited for inside of it.
    """
    carried = [each for each in block.args if isinstance(each.type, TokenType)]
    names: dict[SSAValue, int] = {each: -1 - number for number, each in enumerate(carried)}
    names |= {op.token: place for place, op in enumerate(block.ops) if isinstance(op, StartOp)}
    for op in block.ops:
        if isinstance(op, WaitOp):
            if op.token in names:
                yield Wait(names[op.token])
        elif isinstance(op, StartOp):
            with suppress(NotTimed):
                moved = moved_by(op)
                yield Start(names[op.token], moved.bytes, moved.runs)
        elif isinstance(op, scf.YieldOp):
            pairs = zip(op.operands[-len(carried) :], carried, strict=True) if carried else ()
            yield Rename(tuple((names[old], names[new]) for old, new in pairs))
        else:
            if cycles := pace.work(op):
                yield Work(cycles)
            yield from (Wait(names[each]) for each in op.operands if each in names)


def channels_for(
    start: StartOp, parts: int, taken: Mapping[int, int], channels: int
) -> Sequence[int]:
    """The channel of each part: those with the fewest other transfers first, beginning at its own.

    `taken`: how many other transfers each channel has meanwhile.
    """
    own = start.channel.value.data
    order = [(own + number) % channels for number in range(channels)]
    order.sort(key=lambda channel: taken.get(channel, 0))
    return [order[number % channels] for number in range(parts)]


def cut(flight: Flight, channels: Sequence[int]) -> None:
    """Replace a transfer by parts, one for each of the given channels."""
    op, axis, b = flight.start, flight.axis, LoopBuilder(flight.start)
    assert axis is not None
    sizes = sizes_of(flight.slices, len(channels))
    firsts = accumulate(sizes, initial=0)
    for channel, first, size in zip(channels, firsts, sizes, strict=False):
        source, target = (slice_of(b, value, axis, first, size) for value in (op.source, op.target))
        part = b.insert(StartOp(source, target, channel, weights=op.weights is not None))
        part.attributes.update(op.attributes)
        part.token.name_hint = op.token.name_hint
        assert flight.wait.parent is not None
        flight.wait.parent.insert_op_before(WaitOp(part.token), flight.wait)
    for each in (flight.wait, op):
        each.detach()
        each.erase()


def slice_of(b: LoopBuilder, value: SSAValue, axis: int, first: int, size: int) -> SSAValue:
    """Some slices of a buffer along an axis."""
    shape = memref_type(value).get_shape()
    at = [first if each == axis else 0 for each in range(len(shape))]
    sizes = [size if each == axis else extent for each, extent in enumerate(shape)]
    steps = [1] * len(shape)
    type_ = memref.SubviewOp.infer_result_type(memref_type(value), at, sizes, steps)
    return b.insert(memref.SubviewOp.get(value, at, sizes, steps, type_), "part").result
