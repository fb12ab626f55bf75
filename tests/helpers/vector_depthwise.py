"""Depthwise layers on vectors: their C on the host and on the emulated core, beside the layer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from helpers.c_harness import run_c, write_files
from helpers.depthwise import Shape
from helpers.emulated import require
from helpers.kernel_roads import VECTORS, lowered
from npu_dialect.interpreters import run_function
from npu_dialect.windows import Axis
from npu_passes.emit.c import emit
from npu_tools.compiling.check import random_inputs
from npu_tools.verifying.emulators import Interface, run_on


def axes(shape: Shape) -> tuple[Axis, Axis]:
    """The windows over rows and columns."""
    top, left, bottom, right = shape.pads
    rows = Axis(shape.input[2], shape.kernel[0], shape.strides[0], top, bottom, shape.dilation)
    return rows, Axis(shape.input[3], shape.kernel[1], shape.strides[1], left, right)


def check_loops(module: ModuleOp, layers: ModuleOp) -> str:
    """Check that the loops of a network give its bits; returns their text."""
    inputs = random_inputs(module, 5)
    (wanted,) = run_function(module, None, inputs)
    loops = lowered(layers, VECTORS)
    np.testing.assert_array_equal(run_function(loops, None, inputs)[0], wanted)
    return str(loops)


def check_host(module: ModuleOp, layers: ModuleOp) -> None:
    """Check the bits of C with sanitizers, in a poisoned arena between fences."""
    inputs = random_inputs(module, 6)
    (wanted,) = run_function(module, None, inputs)
    files = emit(lowered(layers, VECTORS))
    found = run_c(files, "f", inputs, [wanted.shape], output_types=[wanted.dtype.name])
    np.testing.assert_array_equal(found[0], wanted)


def check_core(module: ModuleOp, layers: ModuleOp, level: str, folder: Path) -> None:
    """Check the bits of the instructions on the emulated Cortex-M55."""
    machine = require(VECTORS.machine)
    inputs = random_inputs(module, 6)
    (wanted,) = run_function(module, None, inputs)
    write_files(folder, emit(lowered(layers, VECTORS)), "f")
    names = [each.name for each in Interface.read(folder / "f.h").inputs]
    case = dict(zip(names, inputs, strict=True))
    (run,) = run_on(machine, folder / "f.c", [case], flags=[level]).runs
    (found,) = run.outputs.values()
    np.testing.assert_array_equal(found.reshape(wanted.shape), wanted)
