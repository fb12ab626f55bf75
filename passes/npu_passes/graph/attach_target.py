"""`npu-attach-target{target=NAME}`: the machine that a module is compiled for, on the module.

    builtin.module { ... }
becomes
    builtin.module attributes {npu.target = #npu.target<"fe310", {sram_bytes = 16384 : i64, ...}>} {

The decision: later passes read the numbers of the machine from the IR, not from files or options,
so that a dump of the IR says for which machine it is. A target that was there before is replaced.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from npu_dialect.attributes import TARGET
from npu_dialect.machine import Machine, MachineError
from npu_dialect.target import TargetAttr
from npu_passes.support.refuse import Refusal, RefusingPass


@dataclass(frozen=True)
class AttachTargetPass(RefusingPass):
    """Set `npu.target` on the module.

    `target` is the name of a machine that ships with the package, or the path of a `.toml` file.
    (A pass has a `name` of its own, so the option cannot have that name.)
    """

    name = "npu-attach-target"

    target: str
    """A machine that ships with the package, or the path of a `.toml` file."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Load the machine.

        Raises: PassFailedException with the names that exist, or with what is wrong in the file.
        """
        try:
            machine = Machine.load(self.target)
        except MachineError as error:
            raise Refusal(str(error)) from None
        TARGET.set(op, TargetAttr.of(machine))
