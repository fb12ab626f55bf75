"""`npu-use-flash{prefer=small}`: choose whether weights may take more flash to save instructions.

    builtin.module {
becomes
    builtin.module attributes {npu.flash = "small"} {

The decision is stored on the module, from which `npu-lower-to-loops` reads it. `fast` stores 8-bit
weights as 16 bits for dual multiply-accumulates. `small` stores them as 8 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npu_dialect.attributes import FLASH
from npu_passes.support.refuse import Refusal, RefusingPass

Flash = Literal["fast", "small"]


@dataclass(frozen=True)
class UseFlashPass(RefusingPass):
    """Choose between fast kernels and small weights in flash; see the module."""

    name = "npu-use-flash"

    prefer: Flash = "fast"
    """`fast`: weights may take more flash to save instructions. `small`: they may not."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Set `npu.flash` on the module."""
        FLASH.set(op, self.prefer)


def flash_of(module: Operation) -> Flash:
    """The value of `npu.flash` on the module; `fast` if there is none.

    Raises: PassFailedException if it is neither `fast` nor `small`.
    """
    found = FLASH.get(module) or "fast"
    if found in ("fast", "small"):
        return found
    module.emit_error(
        "says something else about flash",
        Refusal(f'expected {FLASH.name} "fast" or "small", got "{found}"'),
    )
