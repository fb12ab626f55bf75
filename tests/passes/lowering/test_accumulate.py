"""Layers that add to the contents of their destination, and their loops."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.dialects.memref import MemRef
from xdsl.parser import Parser

from helpers.layers_text import LayerText, layer_text
from npu_dialect.interpreters import run_function
from npu_dialect.npu import NPU
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass

CONV = layer_text(
    "npu.conv2d",
    "strides [1, 1] pads [1, 0, 1, 2] groups 2 accumulate then relu",
    [(2, 4, 6, 7), (6, 2, 3, 3)],
    (2, 6, 6, 7),
)
POINTWISE = layer_text("npu.conv2d", "accumulate", [(1, 5, 4, 4), (3, 5, 1, 1)], (1, 3, 4, 4))
DENSE = layer_text(
    "npu.fully_connected", "accumulate then clamp [-4.0, 4.0]", [(2, 9), (5, 9)], (2, 5)
)


@pytest.mark.parametrize("layer", [CONV, POINTWISE, DENSE])
@pytest.mark.parametrize("registers", [0, 16])
def test_loops_start_from_the_destination(layer: LayerText, registers: int) -> None:
    context = Context()
    for dialect in (Builtin, Func, MemRef, NPU):
        context.load_dialect(dialect)
    module = Parser(context, layer.text).parse_module()
    random = np.random.default_rng(1)
    arrays = [
        random.integers(-3, 4, shape).astype(np.float32) for shape in (*layer.inputs, layer.output)
    ]
    expected = run_function(module.clone(), None, arrays)[-1]
    nothing = [*arrays[:-1], np.zeros_like(arrays[-1])]
    without = run_function(module.clone(), None, nothing)[-1]
    assert (expected != without).any()
    LowerToLoopsPass(registers=registers).apply(context, module)
    np.testing.assert_array_equal(run_function(module, None, arrays)[-1], expected)
