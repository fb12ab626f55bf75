"""Depthwise convolutions over copies of channels on vectors: random shapes, also in place."""

from __future__ import annotations

from dataclasses import replace
from itertools import starmap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, i8

from helpers.depthwise import Shape, as_unsigned, either, give, layouts, network
from helpers.kernel_roads import DSP, VECTORS, lowered
from helpers.pipeline import context, run_passes
from helpers.vector_depthwise import axes, check_core, check_host, check_loops
from npu_dialect.interpreters import run_function
from npu_dialect.npu import Conv2dOp
from npu_dialect.walking import walk_kind
from npu_passes.support.refuse import Refusal
from npu_plans.kernels.plane_plan import PlanePlan
from npu_tools.compiling.check import random_inputs

SHAPES = st.builds(
    Shape,
    st.tuples(*starmap(st.integers, ((1, 2), (4, 6), (1, 9), (1, 11)))),
    st.integers(1, 4),
    st.tuples(st.integers(1, 7), st.integers(1, 7)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(*[st.integers(0, 3)] * 4),
    st.just(1),
    st.just(False),
    st.sampled_from((-128, -1, 0, 3, 100)),
    st.just(1),
    st.booleans(),
    st.sampled_from((-128, 0, 9)),
    st.sampled_from((None, (-20.0, 30.0), (-128.0, 101.0))),
).flatmap(either)


def on_buffers(shape: Shape, spare: int = 0, *, planar: bool = False) -> tuple[ModuleOp, ModuleOp]:
    """The network, and its layers on buffers, the convolution with a working memory.

    `spare`: the bytes that this has more than the kernel needs. `planar`: maps lie in planes.
    """
    module = network(shape)
    layers = run_passes(context(), module, layouts(planar=planar))
    (layer,) = walk_kind(layers, Conv2dOp)
    size = PlanePlan(*layer.axes()).bytes + spare
    give(layer, size, in_place=shape.in_place, element=i8)
    layers.verify()
    places = "npu-assign-sram-offsets,npu-outline-layers"
    return module, run_passes(context(), layers, places)


@settings(deadline=None, max_examples=30)
@given(SHAPES.filter(lambda shape: PlanePlan.fits(*axes(shape))), st.booleans())
def test_planes_give_the_bits_of_the_layer(shape: Shape, planar: bool) -> None:
    assert "mve.gather_bytes" in check_loops(*on_buffers(shape, planar=planar))


def test_the_interpreter_runs_a_layer_with_a_working_memory_of_bytes() -> None:
    """On buffers, before there are loops: the layer leaves the memory spoiled, of any type."""
    module, layers = on_buffers(PLAIN)
    inputs = random_inputs(module, 5)
    (wanted,) = run_function(module, None, inputs)
    np.testing.assert_array_equal(run_function(layers, None, inputs)[0], wanted)


SHARED = "filters that share a copy"
PLAIN = Shape((1, 5, 7, 9), 1, (3, 3), (1, 1), (1, 1, 1, 1), 1, False, -128, 1, True, -128)

IN_C = {
    "in place": PLAIN,
    "two images": replace(
        PLAIN, input=(2, 4, 6, 7), strides=(2, 2), point=5, zero_point=9, bounds=(-20.0, 90.0)
    ),
    "five taps": replace(PLAIN, input=(1, 4, 6, 5), kernel=(5, 5), pads=(2, 2, 2, 2), point=-7),
    "seven taps": replace(
        PLAIN, input=(1, 4, 9, 8), kernel=(7, 7), strides=(2, 2), pads=(3, 3, 3, 3), zero_point=3
    ),
    "unsigned": as_unsigned(replace(PLAIN, input=(2, 4, 6, 7), strides=(2, 1), point=5)),
    "flat": replace(PLAIN, input=(1, 4, 3, 3), point=100),
    "wide": replace(PLAIN, input=(1, 4, 3, 70)),
    SHARED: replace(
        PLAIN, input=(2, 5, 6, 7), multiplier=3, pads=(0, 1, 2, 1), point=5, bounds=(-20.0, 90.0)
    ),
}
"""Shapes with parts of all kinds; the places of the wide one are above 127."""


@pytest.mark.parametrize(
    "name",
    ["wide", *(pytest.param(n, marks=pytest.mark.slow) for n in ("seven taps", SHARED))],
)
def test_host(name: str) -> None:
    """C with sanitizers, in a poisoned arena between fences."""
    check_host(*on_buffers(IN_C[name]))


@pytest.mark.parametrize(
    ("name", "level"),
    [*((name, "-O2") for name in IN_C), ("in place", "-O3"), ("seven taps", "-O3")],
)
def test_helium(name: str, level: str, tmp_path: Path) -> None:
    """The instructions on the emulated Cortex-M55."""
    check_core(*on_buffers(IN_C[name]), level, tmp_path)


@pytest.mark.parametrize(
    "shape",
    [
        replace(PLAIN, in_place=False, dilation=2),
        replace(PLAIN, in_place=False, input=(1, 1, 7, 9), multiplier=6),
        replace(PLAIN, in_place=False, input=(1, 4, 7, 3)),
    ],
)
def test_layers_that_do_not_fit_get_another_kernel(shape: Shape) -> None:
    loops = check_loops(*on_buffers(shape))
    copy = f"memref<{PlanePlan(*axes(shape)).bytes}xi8"
    assert not [line for line in loops.split("\n") if "mve.gather_bytes" in line and copy in line]


def test_a_working_memory_that_is_too_small_is_not_used() -> None:
    apart = replace(PLAIN, in_place=False)
    assert "mve.gather_bytes" in str(lowered(on_buffers(apart)[1], VECTORS))
    assert "mve.gather_bytes" not in str(lowered(on_buffers(apart, -16)[1], VECTORS))
    with pytest.raises(Refusal, match=r"cannot lower npu.conv2d in place"):
        lowered(on_buffers(PLAIN, -16)[1], VECTORS)


def test_other_machines_have_no_planes() -> None:
    assert "mve." not in str(lowered(on_buffers(replace(PLAIN, in_place=False))[1], DSP))
