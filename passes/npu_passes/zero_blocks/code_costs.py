"""What a map off the chip is expected to cost, in blocks without zeros and as bit planes.

Level of IR: layers on tiles and transfers. An analysis: nothing is changed.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod

from xdsl.dialects import scf
from xdsl.ir import Operation

from npu_dialect import dma
from npu_dialect.machine import Machine
from npu_dialect.npu.maps import element_bytes, shape_of
from npu_passes.analysis.affine_index import constant_of
from npu_passes.support.block_runs import runs_met
from npu_passes.support.loop_builder import memref_type
from npu_passes.zero_blocks.spilled_maps import (
    SpilledMap,
    has_whole_blocks,
    has_whole_runs,
    middle_of,
)
from npu_plans.zero_blocks.codes import Cost, moved_share


def has_blocks(spilled: SpilledMap, block: int) -> bool:
    """Whether the tiles that are written are whole blocks."""
    whole = spilled.alloc.buffer
    return all(has_whole_blocks(op.target, whole, block) for op in spilled.stores)


def has_runs(spilled: SpilledMap) -> bool:
    """Whether a map has bytes, and the tiles that are written are whole runs."""
    whole = spilled.alloc.buffer
    if middle_of(memref_type(whole)) is None:
        return False
    return all(has_whole_runs(op.target, whole) for op in spilled.stores)


def cycles_of_blocks(size: int, machine: Machine | None) -> Fraction:
    """Cycles of the core for an element of `size` bytes that moves in blocks, in one direction."""
    cycles = dict(machine.block_cycles) if machine else {}
    return cycles.get("i8" if size == 1 else "f32", Fraction())


def blocks_cost(spilled: SpilledMap, block: int, machine: Machine | None) -> Cost:
    """The cost of a map in blocks; one of which nothing is known is taken to be all zero."""
    size = element_bytes(memref_type(spilled.alloc.buffer))
    share = 1.0 if spilled.predicted is None else spilled.predicted
    moved = moved_share(1 - share, 8 * size, block * block, dma.BLOCK_BITS)
    return Cost(moved, cycles_of_blocks(size, machine) / size)


def planes_cost(spilled: SpilledMap, machine: Machine | None) -> Cost | None:
    """The cost of a map as bit planes; None if nothing is known, or if the core cannot do it."""
    share = spilled.predicted_planes
    unable = machine is not None and machine.block_cycles and not machine.plane_cycles
    if share is None or unable:
        return None
    moved = moved_share(share * cut(spilled), 8, dma.RUN, dma.RUN_BITS)
    return Cost(moved, machine.plane_cycles if machine else Fraction())


def cut(spilled: SpilledMap) -> float:
    """The bytes of all runs that the transfers meet, for each byte that they want.

    It is more than 1 where tiles that are read cut runs, as these move whole.
    """
    whole, wanted, met = spilled.alloc.buffer, 0, 0
    width = shape_of(whole)[3]
    for op in (*spilled.stores, *spilled.loads):
        part = op.source if op in spilled.loads else op.target
        *rows, columns = shape_of(part)
        lines = prod(rows) * times(op)
        most = columns
        if not has_whole_runs(part, whole):
            most = min(width, dma.RUN * runs_met(columns, width))
        wanted += lines * columns
        met += lines * most
    return met / wanted if wanted else 1.0


def times(op: Operation) -> int:
    """How often an op in loops of constant bounds runs; other loops count once."""
    count, parent = 1, op.parent_op()
    while parent is not None:
        if isinstance(parent, scf.ForOp):
            first, end, step = (constant_of(each) for each in (parent.lb, parent.ub, parent.step))
            if first is not None and end is not None and step:
                count *= max(1, -(-(end - first) // step))
        parent = parent.parent_op()
    return count
