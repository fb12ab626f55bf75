"""Compiled networks on emulated boards: build with a bare-metal harness, run under QEMU, measure.

    result = run_on("fe310", Path("out/lenet5.c"), [{"input": image}])
    result.runs[0].outputs["output"], result.runs[0].instructions, result.ram_bytes

What `npu-compile` wrote is built as it is, with a linker script that gives it the machine's RAM and
no more: a network that does not fit is a link error (`BuildError`).
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
