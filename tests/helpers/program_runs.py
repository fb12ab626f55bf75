"""Programs of loops as C, on the host and on emulated boards, with the bits that they must give."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from helpers.c_harness import run_c, write_files
from helpers.emulated import require
from helpers.kernel_roads import same
from helpers.quantized.build import Array
from npu_passes.emit.c import emit
from npu_tools.verifying.emulators import Interface, run_on

CONTRACTED = ("-O2", "-ffp-contract=fast")
"""Flags with which a C compiler may fuse multiply-adds."""


def check_host(
    loops: ModuleOp, inputs: Sequence[Array], wanted: Sequence[Array], what: object
) -> None:
    """Check the C of a program with sanitizers, in a poisoned arena between fences."""
    shapes, types = [each.shape for each in wanted], [each.dtype.name for each in wanted]
    same(run_c(emit(loops), "f", inputs, shapes, output_types=types), wanted, what)


def check_board(
    machine: str,
    loops: ModuleOp,
    inputs: Sequence[Array],
    wanted: Sequence[Array],
    folder: Path,
    flags: Sequence[str] = CONTRACTED,
) -> None:
    """Check the C of a program on the emulated board of a machine; it is written to a folder."""
    board = require(machine)
    write_files(folder, emit(loops), "f")
    names = [each.name for each in Interface.read(folder / "f.h").inputs]
    case = dict(zip(names, inputs, strict=True))
    (run,) = run_on(board, folder / "f.c", [case], flags=flags).runs
    same(list(run.outputs.values()), wanted, machine)
