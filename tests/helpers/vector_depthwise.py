"""Depthwise layers on vectors: their C on the host and on the emulated core, beside the layer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from helpers import program_runs
from helpers.depthwise import Shape, layouts, network
from helpers.kernel_roads import VECTORS, lowered
from helpers.pipeline import context, run_passes
from npu_dialect.attributes import BY_CHANNEL
from npu_dialect.interpreters import run_function
from npu_dialect.npu import Conv2dOp
from npu_dialect.walking import walk_kind
from npu_dialect.windows import Axis
from npu_tools.compiling.check import random_inputs


def axes(shape: Shape) -> tuple[Axis, Axis]:
    """The windows over rows and columns."""
    top, left, bottom, right = shape.pads
    rows = Axis(shape.input[2], shape.kernel[0], shape.strides[0], top, bottom, shape.dilation)
    return rows, Axis(shape.input[3], shape.kernel[1], shape.strides[1], left, right)


def on_buffers(
    shape: Shape, *, by_channel: bool = True, planar: bool = False
) -> tuple[ModuleOp, ModuleOp]:
    """The network, and its layers on buffers; the convolution may compute channel by channel.

    `planar`: maps lie in planes.
    """
    module = network(shape)
    layers = run_passes(context(), module, layouts(planar=planar))
    (layer,) = walk_kind(layers, Conv2dOp)
    if by_channel:
        BY_CHANNEL.set(layer, True)
    places = "npu-assign-sram-offsets,npu-outline-layers"
    return module, run_passes(context(), layers, places)


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
    program_runs.check_host(lowered(layers, VECTORS), inputs, [wanted], VECTORS)


def check_core(module: ModuleOp, layers: ModuleOp, level: str, folder: Path) -> None:
    """Check the bits of the instructions on the emulated Cortex-M55."""
    inputs = random_inputs(module, 6)
    (wanted,) = run_function(module, None, inputs)
    loops = lowered(layers, VECTORS)
    program_runs.check_board(VECTORS.machine, loops, inputs, [wanted], folder, [level])
