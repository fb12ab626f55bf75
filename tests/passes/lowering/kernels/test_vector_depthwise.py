"""The depthwise kernel on vectors of eight channels: groups, orders, and random shapes."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from helpers.depthwise import Shape, as_unsigned, either, network
from helpers.kernel_roads import DSP, VECTORS, lowered
from helpers.pipeline import context, run_passes
from helpers.vector_depthwise import axes, check_core, check_host, check_loops
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.vector_depthwise import (
    VectorDepthwiseKernel,
    groups_of,
    in_eights,
    in_halves,
)

WEIGHTS = st.integers(1, 12).flatmap(
    lambda taps: st.integers(1, 9).flatmap(
        lambda channels: st.lists(
            st.one_of(st.sampled_from((-128, 127)), st.integers(-128, 127)),
            min_size=taps * channels,
            max_size=taps * channels,
        ).map(lambda numbers: np.array(numbers, np.int8).reshape(taps, channels))
    )
)


@given(WEIGHTS)
def test_no_sum_of_a_group_overflows(weights: np.ndarray) -> None:
    groups = groups_of(weights)
    assert sorted(tap for group in groups for tap in group) == list(range(len(weights)))
    for group in groups:
        largest = np.abs(weights[group].astype(int)).sum(axis=0) * 128
        assert largest.max() < 2**15


def test_taps_share_groups() -> None:
    assert groups_of(np.full((9, 4), 127, np.int8)) == [[0, 1], [2, 3], [4, 5], [6, 7], [8]]
    assert groups_of(np.full((9, 4), 3, np.int8)) == [list(range(9))]


def test_even_channels_come_before_odd_ones() -> None:
    assert in_halves(in_eights(np.arange(1, 11), 1)).tolist() == [
        *(1, 3, 5, 7, 2, 4, 6, 8),
        *(9, 0, 0, 0, 10, 0, 0, 0),
    ]


def test_eight_channels_have_their_first_filters_before_their_second_ones() -> None:
    filters = np.arange(1, 19).reshape(1, -1)
    assert in_eights(filters, 2).tolist() == [
        [
            *(1, 3, 5, 7, 9, 11, 13, 15),
            *(2, 4, 6, 8, 10, 12, 14, 16),
            *(17, 0, 0, 0, 0, 0, 0, 0),
            *(18, 0, 0, 0, 0, 0, 0, 0),
        ]
    ]


# -- random shapes -------------------------------------------------------------------------------

SHAPES = st.builds(
    Shape,
    st.tuples(
        st.integers(1, 2), st.sampled_from((4, 5, 8, 17)), st.integers(1, 6), st.integers(1, 7)
    ),
    st.integers(1, 4),
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(*[st.integers(0, 2)] * 4),
    st.integers(1, 2),
    st.just(False),
    st.sampled_from((-128, -1, 0, 3, 100)),
    st.just(1),
    st.just(False),
    st.sampled_from((-128, 0, 9)),
    st.sampled_from((None, (-20.0, 30.0), (-128.0, 101.0))),
).flatmap(either)


def on_buffers(shape: Shape, *, returned: bool = False) -> tuple[ModuleOp, ModuleOp]:
    """The network, and its layers on buffers; no layer has a working memory.

    `returned`: the output of the convolution lies in planes.
    """
    module = network(shape, returned=returned)
    places = "npu-bufferize,npu-choose-layouts,npu-assign-sram-offsets,npu-outline-layers"
    return module, run_passes(context(), module, places)


def has_outputs(shape: Shape) -> bool:
    """Whether windows fit into the padded map."""
    return all(axis.outputs > 0 for axis in axes(shape))


def fits(shape: Shape) -> bool:
    """Whether the kernel is for a layer."""
    grid = Grid.dense(*axes(shape), shape.input[1])
    return VectorDepthwiseKernel.fits(grid, shape.multiplier, shape.multiplier)


@settings(deadline=None, max_examples=30)
@given(SHAPES.filter(has_outputs).filter(fits), st.booleans())
def test_eight_channels_give_the_bits_of_the_layer(shape: Shape, returned: bool) -> None:
    text = check_loops(*on_buffers(shape, returned=returned))
    pixels = prod(axis.outputs for axis in axes(shape))
    assert "mve.low_halves" in text
    assert ("mve.scatter" in text) == (shape.multiplier > 1 or (returned and pixels > 1))


PLAIN = Shape((1, 9, 5, 6), 2, (3, 3), (1, 1), (1, 1, 1, 1), 1, False, -128, 1, False, -128)

IN_C = {
    "few taps": replace(PLAIN, input=(1, 9, 2, 3), kernel=(2, 2), pads=(0, 1, 0, 0)),
    "two filters": PLAIN,
    "unsigned": as_unsigned(replace(PLAIN, input=(1, 9, 2, 3), kernel=(2, 2), pads=(0, 1, 0, 0))),
    "three filters": replace(
        PLAIN, input=(2, 6, 6, 5), multiplier=3, kernel=(5, 5), strides=(2, 2), pads=(2, 1, 0, 2)
    ),
    "four filters": replace(
        PLAIN,
        input=(1, 8, 7, 7),
        multiplier=4,
        kernel=(7, 7),
        pads=(3, 3, 3, 3),
        point=5,
        zero_point=9,
        bounds=(-20.0, 90.0),
    ),
}
"""Shapes with whole vectors and lanes that are left, straight code and loops over kernel rows."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["few taps", "three filters"])
def test_host(name: str) -> None:
    """C with sanitizers, in a poisoned arena between fences."""
    check_host(*on_buffers(IN_C[name]))


@pytest.mark.parametrize(
    ("name", "level"), [*((name, "-O2") for name in IN_C), ("two filters", "-O3")]
)
def test_helium(name: str, level: str, tmp_path: Path) -> None:
    """The instructions on the emulated Cortex-M55."""
    check_core(*on_buffers(IN_C[name]), level, tmp_path)


@pytest.mark.parametrize(
    "shape",
    [
        replace(PLAIN, input=(1, 3, 5, 6)),
        replace(PLAIN, input=(1, 4, 5, 6), kernel=(3, 5)),
    ],
)
def test_layers_that_do_not_fit_get_another_kernel(shape: Shape) -> None:
    assert "mve.scatter" not in check_loops(*on_buffers(shape))


def test_operands_of_a_tap_are_loaded_behind_those_of_the_tap_before() -> None:
    assert "dsp.keep_order" in str(lowered(on_buffers(PLAIN)[1], VECTORS))
    assert "dsp.keep_order" not in str(lowered(on_buffers(IN_C["three filters"])[1], VECTORS))


def test_other_machines_have_no_vectors() -> None:
    assert "mve.scatter" in str(lowered(on_buffers(PLAIN)[1], VECTORS))
    assert "mve." not in str(lowered(on_buffers(PLAIN)[1], DSP))
