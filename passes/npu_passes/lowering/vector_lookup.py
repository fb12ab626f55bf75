"""Lower tables of bytes to loops over vectors, whose 16 bytes are looked up at once.

    scf.for %i = %c0 to %c4096 step %c16 {
      %x = mve.load %ifm[%i] : memref<4096xi8, #npu.sram> -> vector<16xi8>
      %y = mve.gather_bytes %lookup[%c0] at %x reach 256 : memref<256xi8, #npu.flash>
      mve.store %y, %ofm[%i] : vector<16xi8>, memref<4096xi8, #npu.sram>
    }

Level of IR: one layer on buffers that lie alike, or whose pixels are runs of channels; output and
input may be one buffer. A byte is a place without a sign, so the entries of negative bytes stand in
the second half of the table.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.pointwise import TableAttr
from npu_passes.lowering.vector_bytes import Runs
from npu_passes.support.integers import constant_table
from npu_passes.support.loop_builder import Index, LoopBuilder

SIXTEEN = 16
"""Bytes of a vector."""


def by_place(table: TableAttr) -> NDArray[np.int8]:
    """The entries in the order of their bytes without signs."""
    return np.roll(table.entries, table.least).view(np.int8)


def lookup_of_bytes(
    b: LoopBuilder, op: LayerOp, input: SSAValue, out: SSAValue, table: TableAttr
) -> bool:
    """Build the loops of a table; False if input and output do not lie alike."""
    runs = Runs.of(b, (input, out))
    if runs is None:
        return False
    entries = constant_table(b, op, "lookup", by_place(table))

    def some(starts: Sequence[Index], at: Index, count: int) -> None:
        first = None if count == SIXTEEN else count
        source, target = (b.value(b.add(start, at)) for start in starts)
        load = mve.LoadOp(runs.buffers[0], source, mve.I8X16, first)
        x = b.insert(load, "x").result
        found = b.insert(mve.GatherBytesOp(entries, b.value(0), x, len(table.entries)), "y")
        b.insert(mve.StoreOp(found.result, runs.buffers[1], target, first))

    runs.visit(b, SIXTEEN, some)
    return True
