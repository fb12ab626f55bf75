"""`npu-use-flash{prefer=small}`: choose whether weights may take more flash to save instructions.

    builtin.module {
becomes
    builtin.module attributes {npu.flash = "small"} {

The decision is stored on the module, from which `npu-lower-to-loops` reads it. `fast` stores 8-bit
weights as 16 bits for dual multiply-accumulates. `small` stores them as 8 bits. With `bytes`, the
module gets `npu.flash_bytes` instead: `npu-choose-flash` then makes as many layers fast as there is
flash for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npu_dialect.attributes import FLASH, FLASH_BYTES
from npu_dialect.machine_values import MOST
from npu_passes.support.refuse import Refusal, RefusingPass

Flash = Literal["fast", "small"]


@dataclass(frozen=True)
class UseFlashPass(RefusingPass):
    """Choose between fast kernels and small weights in flash; see the module."""

    name = "npu-use-flash"

    prefer: Flash | None = None
    """`fast`: weights may take more flash to save instructions. `small`: they may not. Default:
    `fast`, if there are no `bytes`."""
    bytes: int | None = None
    """The most bytes of flash for constants."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Set `npu.flash` or `npu.flash_bytes` on the module.

        Raises: PassFailedException if both are given, or if `bytes` is negative or no i64.
        """
        if self.bytes is None:
            FLASH.set(op, self.prefer or "fast")
            return
        if self.prefer is not None or self.bytes < 0:
            raise Refusal(
                f"expected either prefer or bytes of at least 0, got {self.prefer} and {self.bytes}"
            )
        if self.bytes > MOST:
            raise Refusal(f"expected bytes of at most {MOST}, got {self.bytes}")
        FLASH_BYTES.set(op, self.bytes)


def flash_of(op: Operation, default: Flash = "fast") -> Flash:
    """The value of `npu.flash` on a module or a layer; the default if there is none.

    Raises: PassFailedException if it is neither `fast` nor `small`.
    """
    found = FLASH.get(op) or default
    if found in ("fast", "small"):
        return found
    op.emit_error(
        "says something else about flash",
        Refusal(f'expected {FLASH.name} "fast" or "small", got "{found}"'),
    )
