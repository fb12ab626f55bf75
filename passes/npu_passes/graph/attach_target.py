"""`npu-attach-target{target=NAME}`: attach the target machine to the module.

    builtin.module { ... }
becomes
    builtin.module attributes {npu.target = #npu.target<"fe310", {sram_bytes = 16384 : i64, ...}>} {

The decision: later passes read the numbers of the machine from the IR, not from files or options.
So a dump of the IR says for which machine it was made. An existing target is replaced.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from npu_dialect.attributes import TARGET
from npu_dialect.machine import Machine
from npu_dialect.machine_values import MachineError
from npu_dialect.target import TargetAttr
from npu_passes.support.refuse import Refusal, RefusingPass


@dataclass(frozen=True)
class AttachTargetPass(RefusingPass):
    """Set `npu.target` on the module.

    `target` is the name of a machine that ships with the package, or the path of a `.toml` file.
    The option is not called `name` because every pass has an attribute of that name.
    """

    name = "npu-attach-target"

    target: str
    """A machine that ships with the package, or the path of a `.toml` file."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Load the machine.

        Raises: PassFailedException if there is no machine of that name or the file is wrong.
        """
        try:
            machine = Machine.load(self.target)
        except MachineError as error:
            raise Refusal(str(error)) from None
        TARGET.set(op, TargetAttr.of(machine))
