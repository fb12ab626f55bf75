"""npu-outline-layers keeps the numbers; npu-plan-as keeps the layers and divides the bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from xdsl.context import Context
from xdsl.dialects.builtin import i8, i16
from xdsl.dialects.func import FuncOp

from helpers.chains import Case, layers, networks, outputs
from npu_dialect.attributes import PLANNED_AS
from npu_dialect.npu.maps import bytes_of, map_type
from npu_passes.buffers.bufferize import BufferizePass
from npu_passes.graph.plan_as import PlanAsPass
from npu_passes.lowering.outline_layers import OutlineLayersPass


@settings(max_examples=25, deadline=None)
@given(case=networks(norms=True))
def test_outlining_keeps_the_numbers(case: Case) -> None:
    module = case.module
    before = outputs(module)
    BufferizePass().apply(Context(), module)
    count = len(layers(module))
    OutlineLayersPass().apply(Context(), module)
    module.verify()
    functions = [op for op in module.walk() if isinstance(op, FuncOp)]
    assert len(functions) == count + 1
    assert all(isinstance(layer.parent_op(), FuncOp) for layer in layers(module))
    for after, expected in zip(outputs(module), before, strict=True):
        np.testing.assert_array_equal(after, expected)


@pytest.mark.parametrize(("name", "element", "size"), [("i8", i8, 1), ("i16", i16, 2)])
@settings(max_examples=10, deadline=None)
@given(case=networks(norms=True))
def test_plan_as_divides_the_bytes(case: Case, name: str, element: object, size: int) -> None:
    module = case.module
    before = [(op.name, *(bytes_of(map_type(v)) for v in op.inputs)) for op in layers(module)]
    PlanAsPass("i8" if name == "i8" else "i16").apply(Context(), module)
    module.verify()
    after = [(op.name, *(bytes_of(map_type(v)) for v in op.inputs)) for op in layers(module)]
    assert PLANNED_AS.get(module) == element
    assert [(n, *(b * 4 // size for b in rest)) for n, *rest in after] == before
