"""Depthwise convolutions with sixteen channels in lanes, on vectors: random shapes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import starmap
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.depthwise import Shape, as_unsigned, layouts, network
from helpers.kernel_roads import DSP, VECTORS, lowered
from helpers.pipeline import context, run_passes
from helpers.vector_depthwise import check_core, check_host, check_loops, on_buffers
from npu_dialect.attributes import OVER_INPUT
from npu_dialect.npu import Conv2dOp
from npu_dialect.walking import walk_kind
from npu_passes.lowering.kernels.working_memory import beats_planes, has_sixteen
from npu_passes.support.common import LoopOptions
from npu_plans.kernels.sixteen_plan import SixteenPlan

SHAPES = st.builds(
    Shape,
    st.tuples(*starmap(st.integers, ((1, 2), (1, 1), (1, 6), (1, 6)))),
    st.just(1),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(*[st.integers(0, 2)] * 4),
    st.integers(1, 2),
    st.just(False),
    st.sampled_from((-128, -1, 0, 3, 127)),
    st.just(1),
    st.just(False),
    st.sampled_from((-128, 0, 9)),
    st.sampled_from((None, (-20.0, 30.0), (-128.0, 101.0))),
)


def with_channels(shape: Shape, channels: int) -> Shape:
    """The shape with another number of channels."""
    images, _, rows, columns = shape.input
    return replace(shape, input=(images, channels, rows, columns))


def always() -> AbstractContextManager[object]:
    """The kernel is worth any flash."""
    return patch("npu_passes.lowering.kernels.working_memory.is_worth", return_value=True)


def fits(shape: Shape) -> bool:
    """Whether the kernel is for a layer."""
    for axis in (0, 1):
        room = shape.input[2 + axis] + shape.pads[axis] + shape.pads[2 + axis]
        if room < (shape.kernel[axis] - 1) * shape.dilation + 1:
            return False
    (layer,) = walk_kind(network(with_channels(shape, 16)), Conv2dOp)
    return SixteenPlan(*layer.axes()).fits(16)


@settings(deadline=None, max_examples=20)
@given(SHAPES.filter(fits), st.sampled_from((16, 48)))
def test_sixteen_channels_give_the_bits_of_the_layer(shape: Shape, channels: int) -> None:
    with always():
        assert "mve.narrow_bytes" in check_loops(*on_buffers(with_channels(shape, channels)))


PLAIN = Shape((1, 32, 3, 3), 1, (3, 3), (1, 1), (1, 1, 1, 1), 1, False, -128, 1, False, -128)

IN_C = {
    "tiny": PLAIN,
    "inside": replace(PLAIN, input=(1, 16, 5, 6), point=5, zero_point=9, bounds=(-20.0, 90.0)),
    "two images": replace(PLAIN, input=(2, 16, 4, 3), point=-7),
    "step two": replace(PLAIN, input=(1, 48, 8, 8), strides=(2, 2), point=0, zero_point=0),
}
"""Shapes whose windows are all cut, with loops inside, and in steps."""


@pytest.mark.parametrize("name", [pytest.param("tiny", marks=pytest.mark.slow), "inside"])
def test_host(name: str) -> None:
    """C with sanitizers, in a poisoned arena between fences."""
    with always():
        check_host(*on_buffers(IN_C[name]))


@pytest.mark.parametrize("level", ["-O2", "-O3"])
@pytest.mark.parametrize("name", IN_C)
def test_helium(name: str, level: str, tmp_path: Path) -> None:
    """The instructions on the emulated Cortex-M55."""
    with always():
        check_core(*on_buffers(IN_C[name]), level, tmp_path)


@pytest.mark.parametrize(
    "shape",
    [
        replace(PLAIN, kernel=(4, 3)),
        replace(PLAIN, input=(1, 24, 3, 3)),
        replace(PLAIN, pads=(2, 2, 2, 2)),
        replace(PLAIN, input=(1, 16, 3, 3), multiplier=2),
        as_unsigned(replace(PLAIN, point=5, zero_point=9)),
    ],
)
def test_layers_that_do_not_fit_get_another_kernel(shape: Shape) -> None:
    with always():
        assert "mve.narrow_bytes" not in check_loops(*on_buffers(shape))


def test_padding_has_no_products() -> None:
    """Nine outputs of 3x3 have 49 taps on the map; each has a pair of products."""
    with always():
        text = str(lowered(on_buffers(PLAIN)[1], VECTORS))
    assert text.count(" = mve.mul_long ") + text.count(" = mve.mla_long ") == 2 * 49


def test_rows_come_first_unless_the_layer_may_compute_by_channel() -> None:
    assert "mve.narrow_bytes" in str(lowered(on_buffers(PLAIN)[1], VECTORS))
    assert "mve.narrow_bytes" not in str(lowered(on_buffers(PLAIN, by_channel=False)[1], VECTORS))


STEPS = Shape((1, 128, 12, 12), 1, (3, 3), (2, 2), (0, 0, 1, 1), 1, False, -128, 1, False, -128)


@pytest.mark.parametrize(
    ("shape", "alone", "beside"),
    [
        (PLAIN, True, False),
        (STEPS, False, False),
        (replace(STEPS, input=(4, 128, 8, 8)), True, False),
        (replace(STEPS, input=(1, 128, 24, 24)), False, False),
        (replace(STEPS, input=(8, 128, 6, 6)), True, True),
        (replace(STEPS, input=(1, 128, 2, 24), pads=(1, 0, 0, 1)), False, False),
    ],
)
def test_the_form_that_is_worth_its_flash_is_chosen(
    shape: Shape, alone: bool, beside: bool
) -> None:
    """`beside`: also if there is room for a copy of a channel.

    More images save more. A single row saves no tables, as those of other rows stay.
    """
    layers = run_passes(context(), network(shape), layouts(planar=False))
    (layer,) = walk_kind(layers, Conv2dOp)
    options = LoopOptions(16, 64, ("dsp", "mve"))
    assert has_sixteen(layer, options) == alone
    assert not has_sixteen(layer, replace(options, flash="small"))
    over = layer.clone()
    OVER_INPUT.set(over, True)
    assert not has_sixteen(over, options)
    assert beats_planes(layer, options) == beside


def test_other_machines_have_none() -> None:
    assert "mve." not in str(lowered(on_buffers(PLAIN)[1], DSP))
