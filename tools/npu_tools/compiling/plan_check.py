"""`npu-compile --check-passes`: check byte by byte that no plan lets buffers harm each other.

`PlanCheck` is an observer of the driver. It looks at the IR after each pass from the one on that
chooses offsets; after `npu-lower-to-loops` the check is exact. See `npu_tools.shadow`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from npu_dialect.arenas import has_arenas
from npu_tools.compiling.check import is_in_parts
from npu_tools.shadow import NotFollowed, check
from npu_tools.shared.errors import UserError


@dataclass(frozen=True)
class PlanCheck:
    """Checks the plan of a module after each step, once its buffers have offsets."""

    def __call__(self, step: str, module: ModuleOp) -> None:
        """Check the plan. Raises: UserError that lists the faults, or says what is unknown."""
        if is_in_parts(module):  # the plan is that of the function before
            return
        if not any(isinstance(op, FuncOp) and has_arenas(op) for op in module.ops):
            return
        try:
            faults = check(module)
        except NotFollowed as error:
            raise UserError(f"the plan after {step} cannot be checked: {error}") from None
        if faults:
            lines = "\n  ".join(map(str, faults))
            raise UserError(f"the plan after {step} is wrong:\n  {lines}")
