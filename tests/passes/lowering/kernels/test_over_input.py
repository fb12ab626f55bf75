"""Depthwise convolutions that write over their dying input by channel, on vectors."""

from __future__ import annotations

from dataclasses import replace
from itertools import starmap
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i8, i64
from xdsl.utils.exceptions import PassFailedException

from helpers.depthwise import Shape, give, network
from helpers.kernel_roads import VECTORS, lowered
from helpers.pipeline import context, run_passes
from helpers.vector_depthwise import axes, check_core, check_host, check_loops
from npu_dialect.attributes import BY_CHANNEL, OVER_INPUT, OVERLAYS
from npu_dialect.npu import Conv2dOp
from npu_dialect.sram import AllocOp
from npu_dialect.walking import walk_kind
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass
from npu_passes.overlap.overlay_maps import measure, shape_of
from npu_plans.kernels.plane_plan import PlanePlan
from npu_plans.kernels.window_plan import WindowPlan

FAR = 1 << 14
"""The offset of the output, behind all other buffers."""

SHAPES = st.builds(
    Shape,
    st.tuples(*starmap(st.integers, ((1, 1), (4, 6), (1, 9), (3, 25)))),
    st.just(1),
    st.just((3, 3)),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.tuples(*[st.integers(0, 2)] * 4),
    st.just(1),
    st.just(False),
    st.sampled_from((-128, -1, 3, 127)),
    st.just(1),
    st.just(False),
    st.sampled_from((-128, 9)),
    st.sampled_from((None, (-20.0, 30.0))),
)
PLAIN = Shape((1, 5, 12, 26), 1, (3, 3), (2, 2), (1, 1, 1, 1), 1, False, -128, 1, False, -128)


def fits(shape: Shape) -> bool:
    """Whether the kernel is for a layer."""
    rows, columns = axes(shape)
    if min(rows.size, columns.size, rows.outputs, columns.outputs) < 1:
        return False
    return WindowPlan.fits(rows, columns) and WindowPlan.pays(rows, columns)


def over_input(
    shape: Shape, apart: int | None = None, *, plane: bool = False
) -> tuple[ModuleOp, ModuleOp, int]:
    """The network, its layers on buffers, and the distance of the convolution's claim.

    Its output lies over its input, which begins `apart` bytes behind it; None: as the claim says.
    `plane`: channels are copied first, else windows are gathered.
    """
    module = network(shape)
    start = "npu-attach-target{target=cortex-m55},npu-bufferize,npu-choose-layouts"
    layers = run_passes(context(), module, start)
    (layer,) = walk_kind(layers, Conv2dOp)
    if plane:
        give(layer, PlanePlan(*axes(shape)).bytes, in_place=False, element=i8)
        (layer,) = walk_kind(layers, Conv2dOp)
    else:
        BY_CHANNEL.set(layer, True)
    OVER_INPUT.set(layer, True)
    pairs = [(0, len(layer.operands) - 1)]
    measured = measure(context(), layers, {layer: pairs}, LowerToLoopsPass())
    (claim,) = measured[shape_of(layer, pairs)]
    # Of a single pixel, all is read before the first output is stored, so any later byte will do.
    assert claim.exact or claim.forwards == 0
    distance = claim.forwards if apart is None else apart
    OVERLAYS.set(layer, replace(claim, forwards=distance).numbers())
    for buffer, at in ((layer.input, FAR + distance), (layer.output, FAR)):
        assert isinstance(buffer.owner, AllocOp)
        buffer.owner.offset = IntegerAttr(at, i64)
    places = "npu-assign-sram-offsets,npu-outline-layers"
    return module, run_passes(context(), layers, places), claim.forwards


@settings(deadline=None, max_examples=20)
@given(SHAPES.filter(fits))
def test_outputs_overwrite_their_own_channels_only(shape: Shape) -> None:
    module, layers, distance = over_input(shape)
    assert distance % shape.input[1] == 0
    rows, columns = axes(shape)
    plan = WindowPlan.best(rows, columns, over=True)
    if plan.can_overwrite(columns.size, columns.outputs):
        assert distance == 0
    run_passes(context(), lowered(layers, VECTORS), "npu-check-overlays")
    assert f"step {shape.input[1]}" in check_loops(module, layers)


@settings(deadline=None, max_examples=8)
@example(replace(PLAIN, input=(1, 4, 1, 3), pads=(0, 0, 2, 0)), 3)
@given(SHAPES, st.integers(3, 5))
def test_copied_channels_are_overwritten_anywhere(shape: Shape, kernel: int) -> None:
    shape = replace(shape, kernel=(kernel, 3), strides=(2, 2))
    rows, columns = axes(shape)
    if min(rows.outputs, columns.outputs) < 1 or not PlanePlan.fits(rows, columns):
        return
    module, layers, distance = over_input(shape, plane=True)
    assert distance == 0
    run_passes(context(), lowered(layers, VECTORS), "npu-check-overlays")
    assert "mve.gather_bytes" in check_loops(module, layers)


@pytest.mark.parametrize("apart", [1, 5 * 12 - 1])
def test_other_channels_are_not_overwritten(apart: int) -> None:
    _, layers, _ = over_input(PLAIN, apart)
    with pytest.raises(PassFailedException, match="are read after they are overwritten"):
        run_passes(context(), lowered(layers, VECTORS), "npu-check-overlays")


def test_any_later_pixel_will_do() -> None:
    module, layers, _ = over_input(PLAIN, 5)
    run_passes(context(), lowered(layers, VECTORS), "npu-check-overlays")
    check_loops(module, layers)


AHEAD = replace(PLAIN, input=(1, 5, 13, 5), strides=(1, 1), point=-7)
"""A layer whose patches of the next rows are gathered before it stores outputs."""


@settings(deadline=None, max_examples=10)
@given(SHAPES, st.integers(1, 17), st.integers(1, 8))
@example(replace(PLAIN, strides=(1, 1), pads=(0, 0, 0, 1)), 12, 2)  # a column that is all padding
def test_patches_are_gathered_ahead(shape: Shape, height: int, width: int) -> None:
    """Where windows move by one row, outputs overwrite the rows of which patches are there."""
    shape = replace(shape, input=(1, 5, height, width), strides=(1, shape.strides[1]))
    if not fits(shape):
        return
    module, layers, distance = over_input(shape)
    rows, columns = axes(shape)
    if WindowPlan.best(rows, columns, over=True).can_overwrite(columns.size, columns.outputs):
        assert distance == 0
    run_passes(context(), lowered(layers, VECTORS), "npu-check-overlays")
    check_loops(module, layers)


@pytest.mark.parametrize("level", ["-O2", pytest.param("-O3", marks=pytest.mark.slow)])
@pytest.mark.parametrize("shape", [PLAIN, AHEAD, replace(AHEAD, input=(1, 5, 9, 6))])
def test_helium(shape: Shape, level: str, tmp_path: Path) -> None:
    """The instructions on the emulated Cortex-M55."""
    check_core(*over_input(shape)[:2], level, tmp_path)


def test_host() -> None:
    """C with sanitizers, in a poisoned arena between fences."""
    check_host(*over_input(AHEAD)[:2])
