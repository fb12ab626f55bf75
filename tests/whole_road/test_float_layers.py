"""Random networks compute the same after every pass, from the graph to loops in one arena."""

from __future__ import annotations

from typing import cast, get_args

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context

from helpers import pipeline
from helpers.chains import Case, agree, context, networks, outputs
from helpers.regions import regions
from npu_dialect.attributes import ARENA
from npu_dialect.npu import NPU
from npu_passes.buffers.bufferize import BufferizePass
from npu_passes.buffers.choose_layouts import ChooseLayoutsPass
from npu_passes.graph.fold_batch_norm import FoldBatchNormPass
from npu_passes.graph.fuse_additions import FuseAdditionsPass
from npu_passes.graph.fuse_conv_relu_pool import FuseConvReluPoolPass, OverlapPolicy
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass
from npu_passes.lowering.outline_layers import OutlineLayersPass
from npu_passes.overlap.check_overlays import CheckOverlaysPass
from npu_passes.overlap.overlay_maps import OverlayMapsPass
from npu_passes.overlap.reorder_inputs import ReorderInputsPass
from npu_passes.overlap.turn_layers import TurnLayersPass
from npu_passes.placing.assign_sram_offsets import AssignSramOffsetsPass
from npu_passes.rows.fuse_regions import FuseRegionsPass
from npu_tools.shadow import check

POLICIES = cast(tuple[OverlapPolicy, ...], get_args(OverlapPolicy))


@settings(max_examples=40, deadline=None)
@given(case=networks(norms=True), policy=st.sampled_from(POLICIES))
def test_every_pass_keeps_the_numbers(case: Case, policy: OverlapPolicy) -> None:
    module = case.module
    expected = outputs(module)
    context = Context()
    context.load_dialect(NPU)
    for step in (
        FoldBatchNormPass(),
        FuseConvReluPoolPass(policy),
        BufferizePass(),
        AssignSramOffsetsPass(),
        OutlineLayersPass(),
        LowerToLoopsPass(),
    ):
        step.apply(context, module)
        module.verify()
        for after, before in zip(outputs(module), expected, strict=True):
            scale = float(np.abs(before).max(initial=1.0))
            np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-5 * scale)


CLOSE = (
    FuseConvReluPoolPass("line-buffer"),
    BufferizePass(),
    ChooseLayoutsPass(rows=True),
    OverlayMapsPass(),
    AssignSramOffsetsPass(),
    TurnLayersPass(),
    OutlineLayersPass(),
    LowerToLoopsPass(),
    CheckOverlaysPass(),
)
"""The passes of `default` that let outputs follow inputs."""


@settings(max_examples=40, deadline=None)
@given(case=networks(norms=False))
def test_rows_over_rows_keep_the_numbers(case: Case) -> None:
    """Maps that are stored row by row, and outputs that overwrite inputs: numbers and bytes."""
    module = case.module
    expected = outputs(module)
    context = Context()
    context.load_dialect(NPU)
    for step in CLOSE:
        step.apply(context, module)
        module.verify()
    assert not check(module)
    for after, before in zip(outputs(module), expected, strict=True):
        scale = float(np.abs(before).max(initial=1.0))
        np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-5 * scale)


ROWS = (
    FuseRegionsPass(when="always", overlays=True),
    FuseAdditionsPass(),
    BufferizePass(),
    ChooseLayoutsPass(rows=True),
    ReorderInputsPass(),
    *CLOSE[3:],
)
"""The passes of `rows` that let rings and results follow inputs."""


@settings(max_examples=30, deadline=None)
@given(case=regions())
def test_rings_over_rows_keep_the_numbers(case: Case) -> None:
    """Rings that are stored row by row and fill over the input: numbers and bytes."""
    module = case.module
    expected = outputs(module)
    for step in ROWS:
        step.apply(context(), module)
    agree(module, expected, 1e-4)
    assert not check(module)


def test_a_ring_of_floats_lies_over_the_input() -> None:
    """A ring of all 16 rows takes the place of the input; a ring of 3 rows lies beside them."""
    module = pipeline.parse(
        pipeline.context(),
        """
        func.func @net(%x : tensor<1x4x16x16xf32>) -> tensor<1x4x1x1xf32> {
          %w = arith.constant dense<0.25> : tensor<4x4x3x3xf32>
          %0 = npu.conv2d %x, %w pads [1, 1, 1, 1] : (tensor<1x4x16x16xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x16x16xf32>
          %1 = npu.conv2d %0, %w pads [1, 1, 1, 1] : (tensor<1x4x16x16xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x16x16xf32>
          %2 = npu.max_pool2d %1 kernel [16, 16] : tensor<1x4x16x16xf32> -> tensor<1x4x1x1xf32>
          func.return %2 : tensor<1x4x1x1xf32>
        }
        """,  # noqa: E501
    )
    expected = outputs(module)
    for step in ROWS:
        step.apply(context(), module)
    agree(module, expected, 1e-4)
    arenas = [ARENA.get(op) for op in module.walk() if ARENA.is_on(op)]
    assert arenas == [(16 + 3) * 4 * 16 * 4]
