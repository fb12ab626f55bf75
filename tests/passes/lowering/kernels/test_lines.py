"""Depthwise convolutions over lines: random shapes, in strips, beside their input and in place."""

from __future__ import annotations

from dataclasses import replace
from itertools import starmap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from helpers.depthwise import Shape, give, layouts, network
from helpers.kernel_roads import BYTES, DSP, Road, lowered
from helpers.pipeline import context, run_passes
from npu_dialect.interpreters import run_function
from npu_dialect.npu import Conv2dOp
from npu_dialect.walking import walk_kind
from npu_dialect.windows import Axis
from npu_passes.support.refuse import Refusal
from npu_plans.kernels.line_plan import LinePlan
from npu_tools.compiling.check import random_inputs

SHAPES = st.builds(
    Shape,
    st.tuples(*starmap(st.integers, ((1, 2), (4, 7), (1, 9), (1, 11)))),
    st.integers(1, 3),
    st.tuples(st.integers(1, 5), st.integers(2, 5)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(*[st.integers(0, 3)] * 4),
    st.integers(1, 2),
    st.booleans(),
    st.sampled_from((0, 3, 100)),
    st.integers(1, 9),
    st.booleans(),
)


def on_buffers(shape: Shape, *, planar: bool = False) -> tuple[ModuleOp, ModuleOp]:
    """The network, and its layers on buffers, the convolution with a working memory.

    `planar`: maps lie in planes.
    """
    module = network(shape)
    layers = run_passes(context(), module, layouts(planar=planar))
    (layer,) = walk_kind(layers, Conv2dOp)
    plan = LinePlan(*layer.axes(), min(shape.strip, layer.axes()[0].outputs))
    give(layer, plan.elements, in_place=shape.in_place)
    layers.verify()
    places = "npu-assign-sram-offsets,npu-outline-layers"
    return module, run_passes(context(), layers, places)


def fits(shape: Shape) -> bool:
    """Whether a shape has outputs, and lines."""
    top, left, bottom, right = shape.pads
    rows = Axis(shape.input[2], shape.kernel[0], shape.strides[0], top, bottom, shape.dilation)
    columns = Axis(shape.input[3], shape.kernel[1], shape.strides[1], left, right)
    return LinePlan.fits(rows, columns)


@settings(deadline=None)
@given(SHAPES.filter(fits), st.booleans())
def test_lines_give_the_bits_of_the_layer(shape: Shape, planar: bool) -> None:
    module, layers = on_buffers(shape, planar=planar)
    inputs = random_inputs(module, 5)
    (wanted,) = run_function(module, None, inputs)
    np.testing.assert_array_equal(run_function(layers, None, inputs)[0], wanted)
    loops = lowered(layers, DSP)
    assert "dsp.smla" in str(loops)
    assert "_starts" in str(loops) or shape.point == 0
    np.testing.assert_array_equal(run_function(loops, None, inputs)[0], wanted)


PLAIN = Shape((1, 4, 5, 6), 1, (3, 3), (1, 1), (1, 1, 1, 1), 1, False, 0, 2, False)


@pytest.mark.parametrize(("strip", "loads"), [(5, 1), (2, 6)])
def test_one_strip_loads_the_scale_of_a_channel_once(strip: int, loads: int) -> None:
    """With more strips, each output of a group loads it."""
    loops = str(lowered(on_buffers(replace(PLAIN, strip=strip))[1], DSP))
    assert loops.count("memref.load %scales[%c]") == loads
    assert loops.count("memref.load %scales") == loads


@pytest.mark.parametrize("road", [BYTES, Road("cortex-m4", "flash=small")])
def test_other_kernels_leave_the_working_memory_alone(road: Road) -> None:
    module, layers = on_buffers(PLAIN)
    inputs = random_inputs(module, 5)
    (wanted,) = run_function(module, None, inputs)
    np.testing.assert_array_equal(run_function(lowered(layers, road), None, inputs)[0], wanted)


def test_other_kernels_do_not_run_in_place() -> None:
    in_place = replace(PLAIN, in_place=True)
    with pytest.raises(Refusal, match=r"cannot lower npu.conv2d in place"):
        lowered(on_buffers(in_place)[1], BYTES)
