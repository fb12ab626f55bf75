"""Depthwise convolutions whose filters share pairs of elements: random shapes, in both layouts."""

from __future__ import annotations

from dataclasses import replace
from itertools import starmap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from helpers.depthwise import Shape, as_unsigned, either, layouts, network
from helpers.kernel_roads import BYTES, DSP, SMALL, Road, lowered
from helpers.pipeline import context, run_passes
from helpers.program_runs import check_board, check_host
from npu_dialect.interpreters import run_function
from npu_dialect.npu import Conv2dOp
from npu_dialect.walking import walk_kind
from npu_dialect.windows import Axis
from npu_passes.lowering.kernels.working_memory import working_memory
from npu_passes.support.common import LoopOptions
from npu_plans.kernels.pair_plan import plan_of
from npu_tools.compiling.check import random_inputs

PLAIN = Shape((1, 4, 5, 12), 2, (3, 3), (1, 1), (1, 1, 1, 1), 1, False, 3, 1, False)
"""A shape that the kernel takes."""
SHAPES = st.builds(
    Shape,
    st.tuples(*starmap(st.integers, ((1, 2), (4, 6), (1, 7), (4, 19)))),
    st.sampled_from((2, 2, 3, 4, 6)),
    st.tuples(st.integers(1, 5), st.integers(2, 5)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(*[st.integers(0, 2)] * 4),
    st.integers(1, 2),
    st.just(False),
    st.sampled_from((0, 3, 100)),
    st.just(1),
    st.just(False),
    st.sampled_from((9, -128)),
)


def axes_of(shape: Shape) -> tuple[Axis, Axis]:
    """The rows and the columns of a shape."""
    top, left, bottom, right = shape.pads
    rows = Axis(shape.input[2], shape.kernel[0], shape.strides[0], top, bottom, shape.dilation)
    return rows, Axis(shape.input[3], shape.kernel[1], shape.strides[1], left, right)


def fits(shape: Shape) -> bool:
    """Whether the kernel takes a shape, with channels last."""
    rows, columns = axes_of(shape)
    some = rows.outputs > 0 and columns.outputs > 0
    return some and plan_of(rows, columns, shape.multiplier, planes=False) is not None


def on_buffers(
    shape: Shape, *, planar: bool = False, returned: bool = False
) -> tuple[ModuleOp, ModuleOp]:
    """The network, and its layers on buffers; `planar`: maps lie in planes."""
    module = network(shape, returned=returned)
    places = "npu-assign-sram-offsets,npu-outline-layers"
    return module, run_passes(context(), module, f"{layouts(planar=planar)},{places}")


def check(shape: Shape, *, planar: bool = False, returned: bool = False) -> ModuleOp:
    """Check that the loops give the bits of the layer; returns the loops."""
    module, layers = on_buffers(shape, planar=planar, returned=returned)
    inputs = random_inputs(module, 5)
    (wanted,) = run_function(module, None, inputs)
    loops = lowered(layers, DSP)
    np.testing.assert_array_equal(run_function(loops, None, inputs)[0], wanted)
    return loops


@settings(deadline=None, max_examples=30)
@given(SHAPES.filter(fits).flatmap(either), st.booleans(), st.booleans())
def test_loops_give_the_bits_of_the_layer(shape: Shape, planar: bool, returned: bool) -> None:
    check(shape, planar=planar, returned=returned)


@pytest.mark.parametrize("multiplier", [2, 3, 4, 6])
@pytest.mark.parametrize("columns", [4, 7, 9, 13, 22])
def test_blocks_of_all_widths(multiplier: int, columns: int) -> None:
    """What is left of a row are blocks of fewer outputs, with kernels of three and of five."""
    shape = replace(PLAIN, input=(1, 4, 4, columns), multiplier=multiplier)
    check(shape)
    check(replace(shape, kernel=(3, 5), pads=(1, 2, 1, 2)))


@pytest.mark.parametrize(
    ("shape", "loads"),
    [
        (PLAIN, 6 + 1),
        (replace(PLAIN, multiplier=3), 2 * (9 + 1)),
        (replace(PLAIN, multiplier=4), 2 * (12 + 2)),
    ],
)
def test_weights_and_first_values_are_loaded_in_pairs(shape: Shape, loads: int) -> None:
    """So many pairs for four outputs without padding, whose kernel has three rows."""
    shape = replace(shape, input=(1, 4, 3, 6), pads=(0, 0, 0, 0))
    assert str(check(shape)).count("dsp.load_pair") == loads


def test_rows_of_a_channel_are_computed_before_the_next_channel() -> None:
    """They are if they are long enough; else the loop over channels is inside."""
    long, short = str(check(PLAIN)), str(check(replace(PLAIN, input=(1, 4, 5, 7))))
    assert long.count("scf.for %c") < short.count("scf.for %c")


def test_each_set_of_kernel_rows_has_first_values() -> None:
    loops = str(check(PLAIN))
    assert f"memref<{3 * 8}xi32" in loops
    assert f"memref<{3 * 8}xi32" not in str(check(replace(PLAIN, point=0)))


@pytest.mark.parametrize(
    ("shape", "planar", "memory"),
    [
        (PLAIN, False, False),
        (replace(PLAIN, input=(1, 4, 5, 16)), False, False),
        (replace(PLAIN, input=(1, 4, 5, 17)), False, True),
        (replace(PLAIN, input=(1, 4, 5, 17), multiplier=3), False, False),
        (replace(PLAIN, multiplier=1), False, True),
        (PLAIN, True, True),
    ],
)
def test_no_working_memory_where_lines_take_more(shape: Shape, planar: bool, memory: bool) -> None:
    (layer,) = walk_kind(run_passes(context(), network(shape), layouts(planar=planar)), Conv2dOp)
    options = LoopOptions(32, 64, ("dsp",))
    assert (working_memory(layer, options) is not None) == memory


def test_an_image_of_one_channel_is_left_to_convolutions() -> None:
    assert "dsp.pack" not in str(check(replace(PLAIN, input=(1, 1, 5, 12)), planar=True))


@pytest.mark.parametrize("road", [BYTES, SMALL], ids=str)
def test_other_kernels_do_without_pairs(road: Road) -> None:
    module, layers = on_buffers(PLAIN)
    inputs = random_inputs(module, 5)
    (wanted,) = run_function(module, None, inputs)
    loops = lowered(layers, road)
    assert "dsp.pack" not in str(loops)
    np.testing.assert_array_equal(run_function(loops, None, inputs)[0], wanted)


@pytest.mark.parametrize(
    "shape",
    [PLAIN, as_unsigned(replace(PLAIN, multiplier=3, strides=(2, 2), zero_point=-128))],
    ids=["two filters", "three filters"],
)
def test_c(shape: Shape, tmp_path: Path) -> None:
    """C with sanitizers, and on an emulated board."""
    module, layers = on_buffers(shape)
    inputs = random_inputs(module, 5)
    wanted = list(run_function(module, None, inputs))
    check_host(lowered(layers, DSP), inputs, wanted, DSP)
    check_board(DSP.machine, lowered(layers, DSP), inputs, wanted, tmp_path)
