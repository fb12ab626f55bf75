"""For how long an op keeps the core waiting for memories that are slower than the first one.

    npu.relu ins(%x : memref<64xf32, #npu.memory<"psram">>) outs(%y : memref<64xf32, ... "sram">)

%x: 256 bytes at 0.5 bytes in a cycle instead of 4, so 448 cycles more. Level of IR: layers on
buffers. The bytes are those by which `npu-assign-memories` chooses (`core_accesses.py`), in one run
of the op. Constants lie in the read-only memory of the machine, of several in the one that was
chosen for them, unless a copy is in another one.
"""

from __future__ import annotations

from fractions import Fraction

from xdsl.dialects import memref
from xdsl.ir import Operation, OpResult, SSAValue

from npu_dialect.kept_attributes import KEPT_IN, STORED_IN, copy_of
from npu_dialect.npu.attributes import FlashSpace, MemorySpace
from npu_dialect.npu.maps import is_buffer_type
from npu_passes.analysis.core_accesses import accesses_once
from npu_passes.analysis.on_chip import space_of
from npu_passes.analysis.views import root_of
from npu_plans.time.rates import Rates


def stall_of(op: Operation, rates: Rates) -> Fraction:
    """The cycles that one run of an op takes more than with all its operands in the first memory.

    0 on a machine whose file says nothing about memories.
    """
    total = Fraction()
    if rates.memories:
        for value, accesses in accesses_once(op):
            if (memory := memory_named(value, rates)) is not None:
                total += rates.stall(memory, accesses.read, accesses.written)
    return total


def memory_named(value: SSAValue, rates: Rates) -> str | None:
    """The memory of a buffer, as the machine's file names it; None for the first one."""
    if not is_buffer_type(value.type):
        return None
    space, root = value.type.memory_space, root_of(value)
    if isinstance(space, MemorySpace):
        return space.memory
    if not isinstance(space, FlashSpace):
        return None
    if isinstance(root, OpResult) and isinstance(root.op, memref.GetGlobalOp):
        copied = copy_of(root.op)
        kept = KEPT_IN.get(root.op) if copied is None else copied.memory
        return kept or store_of(root.op) or rates.stored
    return rates.stored


def store_of(op: memref.GetGlobalOp) -> str | None:
    """The one of several read-only memories that holds a constant; None if none is chosen."""
    space = space_of(op.memref)
    return space.memory if isinstance(space, MemorySpace) else STORED_IN.get(op)
