"""toy-opt: the opt tool of somebody else's compiler.

It registers its own dialect and pass. The dialects, passes and targets of npu-dialect are there
without a line for them, because npu-dialect is installed (entry point `xdsl.universe`).
"""

from __future__ import annotations

from toy import TOY, ToyToNpuPass
from xdsl.xdsl_opt_main import xDSLOptMain


class ToyOptMain(xDSLOptMain):
    """xDSL's driver with one more dialect and one more pass."""

    def register_all_dialects(self) -> None:
        """Register all installed dialects, and `toy`."""
        super().register_all_dialects()
        self.ctx.register_dialect(TOY.name, lambda: TOY)

    def register_all_passes(self) -> None:
        """Register all installed passes, and `toy-to-npu`."""
        super().register_all_passes()
        self.register_pass(ToyToNpuPass.name, lambda: ToyToNpuPass)


if __name__ == "__main__":
    ToyOptMain(description="toy-opt").run()
