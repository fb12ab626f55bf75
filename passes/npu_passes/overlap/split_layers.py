"""`npu-split-layers`: compute a layer beside a bare transfer in groups, so that it moves in parts.

Level of IR: loops over tiles with transfers, behind `npu-prefetch`, whose order it keeps. A
transfer is bare if no layer runs between its start and its wait, as there is no room on chip to
start it earlier, or to wait for it later. It decides in how many groups of output channels a layer
computes that a bare load waits for, or a bare store waits for (`npu_plans/prefetch/groups.py`).

    %t = dma.start weights %kernels to %w ...           // 64 kernels: nothing runs meanwhile
    dma.wait %t
    npu.conv2d ins(%x, %w) outs(%y)
->
    %0 = dma.start weights %kernels_0 to %w_0 ...       // 32 kernels
    %1 = dma.start weights %kernels_1 to %w_1 ...       // the other 32
    dma.wait %0
    npu.conv2d ins(%x, %w_0) outs(%y_0)                 // runs beside the second part
    dma.wait %1
    npu.conv2d ins(%x, %w_1) outs(%y_1)

The same bytes move, in more transfers. These are left alone: layers that do not work channel by
channel of their output, transfers in blocks (`npu-compress-spills`), and those between which and
the layer something else touches the same elements. So are functions for machines whose file does
not say how long things take, and those for machines with a PL-330: each part would be a microcode
program of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from npu_dialect.computing import accumulates
from npu_dialect.dma import StartOp
from npu_dialect.npu.maps import element_bytes, is_buffer_type
from npu_dialect.target import machine_of
from npu_passes.analysis.on_chip import functions
from npu_passes.analysis.timed_ops import NotTimed, Task, moved_by, task_of
from npu_passes.overlap.bare_transfers import (
    QUIET,
    Cut,
    Split,
    bytes_of,
    candidates_of,
)
from npu_passes.overlap.grouped_layer import build
from npu_passes.overlap.prefetch import blocks_with_transfers
from npu_passes.overlap.split_transfers import Flight, channels_for, flights_of
from npu_passes.support.loop_builder import memref_type
from npu_passes.support.refuse import RefusingPass
from npu_plans.prefetch.groups import Beside, groups_of
from npu_plans.prefetch.parts import sizes_of
from npu_plans.prefetch.plan import MOST_RUNNING
from npu_plans.time.program import Start
from npu_plans.time.rates import Rates, missing_keys


@dataclass(frozen=True)
class SplitLayersPass(RefusingPass):
    """Compute layers beside bare transfers in groups; see the module."""

    name = "npu-split-layers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Split the layers of each function on a machine that says how long things take."""
        machine = machine_of(op)
        if machine is None or machine.dma_fifo_bytes or missing_keys(machine):
            return
        rates = Rates.of(machine)
        for function in functions(op):
            for block in list(blocks_with_transfers(function)):
                for split in list(splits_of(block, rates)):
                    build(split)


def splits_of(block: Block, rates: Rates) -> Iterator[Split]:
    """The layers of a block that are to be split, each with the transfers that are cut for it."""
    flights = tuple(flights_of(block))
    least = rates.setup * rates.dma_bytes_per_cycle
    if not any(bytes_of(each) >= least for each in flights):
        return
    taken: set[StartOp] = set()
    for each in candidates_of(block, flights, least):
        earlier = tuple(cut for cut in each.earlier if cut.flight.start not in taken)
        found = with_long(replace(each, earlier=earlier), rates)
        try:
            sizes = groups(found, flights, rates) if found.cuts else ()
        except NotTimed:
            continue
        if sizes:
            taken.update(each.flight.start for each in found.stores)
            yield with_channels(replace(found, sizes=sizes), flights, rates.channels)


def with_long(split: Split, rates: Rates) -> Split:
    """A split of which transfers stay whole whose data take less time than a start."""
    least = rates.setup * rates.dma_bytes_per_cycle
    loads, stores, earlier = (
        tuple(each for each in cuts if bytes_of(each.flight) >= least)
        for cuts in (split.loads, split.stores, split.earlier)
    )
    others = (*split.others, *(each.flight for each in split.loads if each not in loads))
    return replace(split, loads=loads, stores=stores, others=others, earlier=earlier)


def groups(split: Split, flights: Sequence[Flight], rates: Rates) -> tuple[int, ...]:
    """The slices of each group in which a layer should compute; none if it should stay.

    Raises: NotTimed if the bytes of a transfer depend on the data, or nobody says how long the
    layer takes.
    """
    task = task_of(split.layer, rates)
    assert task is not None
    loads, stores, earlier = (
        tuple(start_of(c.flight) for c in cuts)
        for cuts in (split.loads, split.stores, split.earlier)
    )

    def work(count: int) -> list[int]:
        sizes = sizes_of(split.extent, count)
        cycles = {size: cycles_of(split, task, size, rates) for size in set(sizes)}
        return [cycles[size] for size in sizes]

    cuts = [each.flight for each in split.cuts]
    running = sum(any(each.beside(one) for one in cuts) for each in flights)
    most = 1 + (MOST_RUNNING - running) // max(len(loads) + len(earlier), len(stores))
    others = tuple(map(start_of, split.others))
    beside = Beside(loads, stores, others, behind(split, rates), earlier, since(split, rates))
    found = groups_of(beside, split.extent, work, rates, most)
    return tuple(sizes_of(split.extent, found)) if found > 1 else ()


def behind(split: Split, rates: Rates) -> int:
    """The cycles that are computed behind a layer before something waits for one of its stores.

    Raises: NotTimed if nobody says how long an op takes, as if it is a loop.
    """
    if not split.stores:
        return 0
    end = min((each.flight for each in split.stores), key=lambda flight: flight.last)
    return computed(split.layer, end.wait, rates)


def since(split: Split, rates: Rates) -> int:
    """The cycles that are computed between the stores of what a layer overwrites and the layer.

    Raises: NotTimed if nobody says how long an op takes, as if it is a loop.
    """
    if not split.earlier:
        return 0
    last = max((each.flight for each in split.earlier), key=lambda flight: flight.first)
    return computed(last.start, split.layer, rates)


def computed(first: Operation, end: Operation, rates: Rates) -> int:
    """The cycles that are computed behind an op and in front of another one of its block.

    Raises: NotTimed if nobody says how long an op takes, as if it is a loop.
    """
    cycles, op = 0, first.next_op
    while op is not None and op is not end:
        task = task_of(op, rates) if not isinstance(op, QUIET) else None
        cycles += 0 if task is None else task.cycles(rates)
        op = op.next_op
    return cycles


def start_of(flight: Flight) -> Start:
    """A transfer as a step of the virtual clock.

    Raises: NotTimed if its bytes depend on the data.
    """
    moved = moved_by(flight.start)
    return Start(flight.first, moved.bytes, moved.runs)


def cycles_of(split: Split, task: Task, count: int, rates: Rates) -> int:
    """The cycles of a layer on some of its slices."""
    tile = split.tile(0, count)
    layer, sizes = split.layer, list[int]()
    for value, axes in zip(layer.operands, split.space.operands, strict=True):
        if is_buffer_type(value.type):
            elements = prod(axis.span(tile).size for axis in axes)
            sizes.append(elements * element_bytes(memref_type(value)))
    moved = sum(sizes) + (sizes[-1] if accumulates(layer) else 0)
    return rates.work(-(-task.macs * count // split.extent), task.element, moved)


def with_channels(split: Split, flights: Sequence[Flight], channels: int) -> Split:
    """A split with the channels of all parts."""

    def cut(each: Cut) -> Cut:
        beside = (other.start for other in flights if other.beside(each.flight))
        taken = Counter(start.channel.value.data for start in beside)
        parts = channels_for(each.flight.start, len(split.sizes), taken, channels)
        return replace(each, channels=parts)

    loads, stores, earlier = (
        tuple(map(cut, each)) for each in (split.loads, split.stores, split.earlier)
    )
    return replace(split, loads=loads, stores=stores, earlier=earlier)
