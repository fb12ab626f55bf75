"""Quantised layers as loops and as C: bit for bit what the interpreter says of the layers."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.context import Context

from emit.harness import run_c
from npu_dialect.interpreters import run_function
from npu_dialect.npu import NPU
from npu_passes.emit.c import emit
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass
from npu_passes.lowering.outline_layers import OutlineLayersPass
from npu_passes.memory.assign_sram_offsets import AssignSramOffsetsPass
from npu_passes.memory.bufferize import BufferizePass
from npu_tools.check import random_inputs
from quantized.random_layers import KINDS, LayerMaker


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_loops_and_c_mean_the_same(kind: str, seed: int) -> None:
    module = LayerMaker(seed).module(kind)
    module.verify()
    feeds = random_inputs(module, seed)
    if kind == "quantize":
        feeds = [np.where(value > 1, np.float32(1e9) * value, value) for value in feeds]
    wanted = run_function(module, None, feeds)
    passes = (
        BufferizePass(),
        AssignSramOffsetsPass(),
        OutlineLayersPass(),
        LowerToLoopsPass(registers=(0, 16, 32)[seed % 3], unroll=(1, 8, 256)[seed % 3]),
    )
    context = Context()
    context.load_dialect(NPU)
    for each in passes:
        each.apply(context, module)
        module.verify()
        np.testing.assert_array_equal(run_function(module, None, feeds)[0], wanted[0], each.name)
    if seed % 2 == 0:
        got = run_c(
            emit(module),
            "f",
            feeds,
            [value.shape for value in wanted],
            output_types=[value.dtype.name for value in wanted],
        )
        np.testing.assert_array_equal(got[0], wanted[0])
