"""Runs compiled networks on emulated boards: bare-metal builds, executed and measured under QEMU.

    result = run_on("fe310", Path("out/lenet5.c"), [{"input": image}])
    result.runs[0].outputs["output"], result.runs[0].instructions, result.ram_bytes

The C that `npu-compile` wrote is built unchanged. The linker script offers exactly the machine's
RAM, so a network that does not fit is a link error (`BuildError`).
"""

from npu_tools.verifying.emulators.boards import BOARDS, Board
from npu_tools.verifying.emulators.build import Sizes
from npu_tools.verifying.emulators.errors import BuildError, EmulatorError, EmulatorMissing
from npu_tools.verifying.emulators.interface import Argument, Interface
from npu_tools.verifying.emulators.runner import EmulatedRun, Result, run_on

__all__ = [
    "BOARDS",
    "Argument",
    "Board",
    "BuildError",
    "EmulatedRun",
    "EmulatorError",
    "EmulatorMissing",
    "Interface",
    "Result",
    "Sizes",
    "run_on",
]
