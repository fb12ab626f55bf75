"""`npu-use-flash{prefer=small}`: whether weights may take more flash where that saves instructions.

    builtin.module {
becomes
    builtin.module attributes {npu.flash = "small"} {

The decision stands on the module, where `npu-lower-to-loops` finds it: `fast` stores weights of
bytes as 16 bits for dual multiply-accumulates, `small` as they are.
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
    """Say what flash is used for; see the module."""

    name = "npu-use-flash"

    prefer: Flash = "fast"
    """`fast` or `small`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Write it on the module."""
        FLASH.set(op, self.prefer)


def flash_of(module: Operation) -> Flash:
    """What flash is used for: as the module says, else `fast`.

    Raises: PassFailedException for an attribute that says something else.
    """
    found = FLASH.get(module) or "fast"
    if found in ("fast", "small"):
        return found
    module.emit_error(
        "says something else about flash",
        Refusal(f'expected {FLASH.name} "fast" or "small", got "{found}"'),
    )
