"""`npu-verify-attributes`: reject attributes of ours that are misspelt, mistyped or misplaced.

It runs on any level of IR and changes nothing. `npu-opt` and `npu-compile` do the same check after
every pass. Other drivers can insert this pass where they want it.

    npu.relu %x {npu.double_bufer}      unknown attribute npu.double_bufer: did you mean ...
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from npu_dialect.contract import check_attributes
from npu_passes.support.refuse import RefusingPass


@dataclass(frozen=True)
class VerifyAttributesPass(RefusingPass):
    """Check discardable attributes against the table of attributes."""

    name = "npu-verify-attributes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """See the module's docstring."""
        check_attributes(op)
