"""Regions of layers with skip connections compute the same row by row, after every pass."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from helpers.chains import Case, outputs
from helpers.regions import regions, wrap_all
from npu_dialect.attributes import ROW_TIME
from npu_dialect.npu import NPU
from npu_passes.buffers.bufferize import BufferizePass
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass
from npu_passes.placing.assign_sram_offsets import AssignSramOffsetsPass


def agree(module: ModuleOp, expected: tuple[np.ndarray, ...]) -> None:
    module.verify()
    for got, want in zip(outputs(module.clone()), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@settings(max_examples=60, deadline=None)
@given(case=regions())
def test_every_stop_computes_the_same(case: Case) -> None:
    ctx, module = Context(), case.module.clone()
    ctx.load_dialect(NPU)
    expected = outputs(module.clone())
    assume(wrap_all(module))
    agree(module, expected)
    BufferizePass().apply(ctx, module)
    assert not any(ROW_TIME.get(op) for op in module.walk())
    AssignSramOffsetsPass().apply(ctx, module)
    agree(module, expected)
    LowerToLoopsPass().apply(ctx, module)
    agree(module, expected)
