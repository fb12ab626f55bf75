"""Networks on a small machine with DMA, from which maps have to leave the chip."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from helpers.pipeline import parse
from npu_dialect.attributes import SPILLED, TARGET
from npu_dialect.machine import Machine
from npu_dialect.target import TargetAttr

BUFFERS = "npu-bufferize,npu-concat-in-place"
"""What runs in front of `npu-spill-maps`."""


def with_machine(ctx: Context, text: str, sram_bytes: int) -> ModuleOp:
    """A module for a machine with DMA and maps in patches."""
    module = parse(ctx, text)
    machine = Machine(
        "small", sram_bytes, 0, row_multiple=4, column_multiple=4, kernel_group=2, dma_channels=4
    )
    TARGET.set(module, TargetAttr.of(machine))
    return module


def spilled_bytes(module: ModuleOp) -> int:
    """The sum of `npu.spilled_bytes` over the functions of a module."""
    said = map(SPILLED.get, module.walk())
    return sum(each for each in said if each is not None)
