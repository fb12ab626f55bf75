"""Random networks compute the same after every pass, from the graph to loops in one arena."""

from __future__ import annotations

from typing import cast, get_args

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context

from helpers.chains import Case, networks, outputs
from npu_dialect.npu import NPU
from npu_passes.buffers.bufferize import BufferizePass
from npu_passes.buffers.choose_layouts import ChooseLayoutsPass
from npu_passes.graph.fold_batch_norm import FoldBatchNormPass
from npu_passes.graph.fuse_conv_relu_pool import FuseConvReluPoolPass, OverlapPolicy
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass
from npu_passes.lowering.outline_layers import OutlineLayersPass
from npu_passes.overlap.check_overlays import CheckOverlaysPass
from npu_passes.overlap.overlay_maps import OverlayMapsPass
from npu_passes.overlap.turn_layers import TurnLayersPass
from npu_passes.placing.assign_sram_offsets import AssignSramOffsetsPass
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
