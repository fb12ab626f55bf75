"""Networks that run row by row compute the same after every pass."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.chains import Case, Network, agree, context, networks, outputs
from npu_dialect.attributes import ARENA, RING
from npu_dialect.npu import AvgPool2dOp, ClampOp, Conv2dOp, MaxPool2dOp, PoolAttr
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.row_windows import row_window
from npu_dialect.npu.rows import RowsOp
from npu_dialect.sram import AllocOp
from npu_passes.buffers.bufferize import BufferizePass
from npu_passes.graph.fuse_conv_relu_pool import FuseConvReluPoolPass
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass
from npu_passes.placing.assign_sram_offsets import AssignSramOffsetsPass
from npu_passes.rows.fuse_rows import FuseRowsPass


@settings(max_examples=40, deadline=None)
@given(case=networks(norms=True, grows=True), fused=st.booleans())
def test_every_stop_computes_the_same(case: Case, fused: bool) -> None:
    ctx, module = context(), case.module.clone()
    expected = outputs(module.clone())
    if fused:
        FuseConvReluPoolPass().apply(ctx, module)
    FuseRowsPass(when="always").apply(ctx, module)
    agree(module, expected)
    BufferizePass().apply(ctx, module)
    AssignSramOffsetsPass().apply(ctx, module)
    agree(module, expected)
    LowerToLoopsPass().apply(ctx, module)
    agree(module, expected)


@settings(max_examples=40, deadline=None)
@given(case=networks())
def test_rings_have_the_reach_of_the_layer_behind(case: Case) -> None:
    module = case.module.clone()
    FuseRowsPass(when="always").apply(context(), module)
    for op in module.walk():
        if not isinstance(op, RowsOp):
            continue
        for layer, behind in zip(op.layers, op.layers[1:], strict=False):
            window = row_window(behind)
            assert window is not None
            assert RING.get(layer) == window.reach


@settings(max_examples=30, deadline=None)
@given(case=networks())
def test_no_inner_map_has_a_buffer(case: Case) -> None:
    """Between two layers there is a buffer for a window of rows, or none, but never a whole map."""
    module = case.module.clone()
    FuseRowsPass(when="always").apply(context(), module)
    inner = {
        shape_of(layer.output)
        for op in module.walk()
        if isinstance(op, RowsOp)
        for layer in op.layers[:-1]
        if (window := row_window(layer)) is not None and window.rows > 3
    }
    kept = {
        shape_of(op.results[0]) for op in module.walk() if not isinstance(op, RowsOp) and op.results
    }
    BufferizePass().apply(context(), module)
    buffers = {shape_of(op.buffer) for op in module.walk() if isinstance(op, AllocOp)}
    rings = {shape for shape in buffers if len(shape) == 4}
    assert not (inner - kept) & rings


def test_arena_shrinks() -> None:
    """Of a large map between two convolutions, only a window of rows is on chip."""
    network = Network.start((1, 1, 16, 16), 0)
    for filters, channels in ((8, 1), (1, 8)):
        weight = network.constant(filters, channels, 3, 3)
        network.add(lambda x, out, w=weight: Conv2dOp(x, w, None, out))
    whole, rows = network.module(), None
    rows = whole.clone()
    FuseRowsPass(when="always").apply(context(), rows)
    arenas: list[int] = []
    for module in (whole, rows):
        BufferizePass().apply(context(), module)
        AssignSramOffsetsPass().apply(context(), module)
        function = next(iter(module.body.block.ops))
        while not ARENA.is_on(function):
            assert function.next_op is not None
            function = function.next_op
        arenas.append(ARENA.get(function) or 0)
    image, window, scores = 16 * 16, 8 * 3 * 14, 12 * 12
    assert arenas[1] == 4 * (image + window + scores)
    assert arenas[1] < arenas[0] / 2


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_padding_never_wins(kind: str, ceil_mode: bool) -> None:
    """Rows outside a map of negative numbers never win a maximum, and are zeros in an average."""
    network = Network.start((1, 1, 6, 5), 0)
    network.add(lambda x, out: ClampOp(x, float("-inf"), -0.5, out))
    pads = (1, 1, 1, 1)
    pool = PoolAttr.of(
        kind, (3, 3), (2, 2), pads, ceil_mode=ceil_mode, count_include_pad=not ceil_mode
    )
    layer = MaxPool2dOp if pool.is_max else AvgPool2dOp
    network.add(lambda x, out: layer(x, pool, out))
    module = network.module()
    expected = outputs(module.clone())
    FuseRowsPass(when="always").apply(context(), module)
    rows = any(isinstance(op, RowsOp) for op in module.walk())
    assert rows == (kind == "max" or not ceil_mode)
    BufferizePass().apply(context(), module)
    agree(module, expected)
