"""`npu-compress-spills`: move maps off the chip without their zero blocks, or as bit planes.

Level of IR: layers on tiles and transfers, after `npu-tile-loops`, before `npu-double-buffer`. It
decides which of the spilled maps get an index, and of which kind: one bit for each block of zeros,
or four bits for each run of 16 bytes, which say how many bit planes it has.

    %map = dram.alloc : memref<1x8x32x32xf32, #npu.dram>
    %s = dma.start %tile to %part channel 3 : ...
becomes, with blocks of 4 x 4,
    %map_index = dram.alloc : memref<64xi8, #npu.dram>
    %map = dram.alloc : memref<1x8x32x32xf32, #npu.dram>
    %s = dma.start %tile to %part channel 3 blocks 4 zero 0 of %map, %map_index : ...

and likewise for every read of the map; or, for a map of bytes,

    %s = dma.start %tile to %part channel 3 planes blocks 16 zero -128 of %map, %map_index : ...

Each block or run keeps its place in the map, so any part of the map can be read. The buffer is as
large as before: only bytes moved are saved. Only blocks that are entirely zero are left out (all
bits of a float are 0, each byte is the zero point), and bit planes lose nothing, so results stay
the same to the bit. `npu-prune-zero-blocks`, run before, makes more zero blocks.

A map moves as bit planes if `npu-measure-zero-blocks` has found that these are fewer bytes than the
blocks that are not zero, each with its index (`npu.bit_planes`, `npu.zero_blocks`). Runs that a
tile cuts are counted whole. On a machine with `block_cycles` it is time that counts, as below, with
`plane_cycles` for bit planes. Tiles that are written must be whole runs, that is, mostly, whole
rows.

A map is not changed, and gets the reason as `npu.not_compressed`, if bit planes do not pay, and


- the expected share of elements in zero blocks (`npu.zero_blocks`) is too small to pay for the
  index: below 1 / (B b^2) for elements of B bits and blocks of b x b, equations (2) and (3) of
  paper 003;
- it loses time: the core encodes and decodes blocks (`block_cycles` of the machine), and that takes
  longer than the bytes saved would take on the bus (`dma_bytes_per_cycle`); a map of which nothing
  is known is taken to be all zero;
- its tiles cut blocks (`npu-tile-loops{block-size=4}` chooses tiles that do not), or it is written
  row by row;
- an op other than a transfer of a rectangular part of it uses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, i8
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect import dma, dram
from npu_dialect.attributes import NOT_COMPRESSED
from npu_dialect.machine import Machine
from npu_dialect.npu.attributes import DramSpace
from npu_dialect.npu.maps import element_bytes, shape_of
from npu_dialect.target import machine_of
from npu_passes.analysis.on_chip import functions
from npu_passes.support.loop_builder import memref_type
from npu_passes.support.refuse import Refusal, RefusingPass
from npu_passes.zero_blocks.code_costs import (
    blocks_cost,
    cycles_of_blocks,
    has_blocks,
    has_runs,
    planes_cost,
)
from npu_passes.zero_blocks.spilled_maps import NotInBlocks, SpilledMap, has_whole_blocks
from npu_plans.zero_blocks.codes import AS_IT_IS, BLOCKS, PLAIN, PLANES, best
from npu_plans.zero_blocks.model import break_even, time_break_even

NAME = "npu-compress-spills"


@dataclass(frozen=True)
class CompressSpillsPass(RefusingPass):
    """Let spilled maps move without their zero blocks or as bit planes; see the module.

    Rejects a block size below 1.
    """

    name = NAME

    block_size: int = 4
    """Rows and columns of a block."""
    code: Literal["auto", "blocks", "planes"] = "auto"
    """How maps move: as they were measured, or all without zero blocks, or as bit planes."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Decide for all maps, then rewrite."""
        if self.block_size < 1:
            raise Refusal(f"expected a block-size of at least 1, got {self.block_size}")
        machine = machine_of(op)
        for function in functions(op):
            for plan in plan_compressions(function, self.block_size, machine, self.code):
                rewrite(plan, self.block_size)


@dataclass(frozen=True)
class Compression:
    """The decision for a map off the chip; `reason`: why it is not compressed, None if it is."""

    alloc: dram.AllocOp
    map: SpilledMap | None
    reason: str | None
    planes: bool


def plan_compressions(
    function: Operation, block: int, machine: Machine | None, code: str
) -> tuple[Compression, ...]:
    """The decision for each map off the chip; `block`: rows and columns of a block."""
    found: list[Compression] = []
    for alloc in [op for op in function.walk() if isinstance(op, dram.AllocOp)]:
        spilled, reason, planes = None, None, False
        try:
            spilled = SpilledMap.of(alloc, function)
            planes = moves_as_planes(spilled, block, machine, code)
            if not planes:
                check(spilled, block, code)
                check_time(spilled, block, machine)
        except NotInBlocks as why:
            reason = str(why)
        found.append(Compression(alloc, spilled, reason, planes))
    return tuple(found)


def moves_as_planes(spilled: SpilledMap, block: int, machine: Machine | None, code: str) -> bool:
    """Whether a map moves as bit planes."""
    if code == "blocks" or not has_runs(spilled):
        return False
    planes = planes_cost(spilled, machine)
    if planes is None:
        return code == "planes"
    costs = {AS_IT_IS: PLAIN}
    if code == "auto" and has_blocks(spilled, block):
        costs[BLOCKS] = blocks_cost(spilled, block, machine)
    rate = machine.dma_bytes_per_cycle if machine and machine.block_cycles else Fraction()
    return best({**costs, PLANES: planes}, rate) == PLANES


def check(spilled: SpilledMap, block: int, code: str) -> None:
    """Check that a map can move in blocks, and that it is expected to pay.

    Raises: NotInBlocks if too few zero blocks are expected, or if its tiles cut blocks.
    """
    if code == "planes":
        raise NotInBlocks("bit planes are not possible, or save nothing")
    whole = spilled.alloc.buffer
    bits = 8 * element_bytes(memref_type(whole))
    least, share = float(break_even(bits, block)), spilled.predicted
    if share is not None and share < least:
        raise NotInBlocks(
            f"{100 * share:.3g} % of it are expected in zero blocks, an index pays from "
            f"{100 * least:.3g} % on"
        )
    for store in spilled.stores:
        if not has_whole_blocks(store.target, whole, block):
            rows, columns = shape_of(store.target)[2:]
            raise NotInBlocks(f"its tiles of {rows} x {columns} cut blocks of {block} x {block}")


def check_time(spilled: SpilledMap, block: int, machine: Machine | None) -> None:
    """Check that a machine whose core encodes blocks gains time by them.

    Raises: NotInBlocks if it loses time.
    """
    if machine is None or not machine.block_cycles or not machine.dma_bytes_per_cycle:
        return
    size = element_bytes(memref_type(spilled.alloc.buffer))
    cycles = cycles_of_blocks(size, machine)
    share = 1.0 if spilled.predicted is None else spilled.predicted
    if not cycles:
        return
    least = float(time_break_even(8 * size, block, cycles, machine.dma_bytes_per_cycle))
    if share < least:
        when = f"save time from {100 * least:.3g} % of zero blocks on"
        raise NotInBlocks(
            f"blocks {when if least <= 1 else 'never save time'}: they take the core "
            f"{float(cycles):g} cycles an element"
        )


def rewrite(plan: Compression, block: int) -> None:
    """Give a map an index and let its transfers use it, or write why it is not compressed."""
    alloc = plan.alloc
    if plan.map is None or plan.reason is not None:
        NOT_COMPRESSED.set(alloc, plan.reason or "")
        return
    size, zero = (dma.RUN, plan.map.plane_zero) if plan.planes else (block, plan.map.zero)
    count = dma.index_bytes(shape_of(alloc.buffer), size, planes=plan.planes)
    index = dram.AllocOp(MemRefType(i8, [count], memory_space=DramSpace()))
    index.buffer.name_hint = f"{alloc.buffer.name_hint or 'map'}_index"
    Rewriter.insert_op(index, InsertPoint.before(alloc))
    for start in (*plan.map.stores, *plan.map.loads):
        new = start.in_blocks(size, zero, alloc.buffer, index.buffer, planes=plan.planes)
        new.token.name_hint = start.token.name_hint
        Rewriter.replace_op(start, new)


def compressed(function: Operation) -> bool:
    """Whether a function has transfers in blocks."""
    return any(isinstance(op, dma.StartOp) and op.block is not None for op in function.walk())
