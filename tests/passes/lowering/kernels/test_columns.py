"""Depthwise convolutions that gather columns of their windows, on vectors: random shapes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import starmap
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from helpers.depthwise import Shape, as_unsigned, either, layouts, network
from helpers.kernel_roads import DSP, SMALL, VECTORS, lowered
from helpers.pipeline import context, parse, run_passes
from helpers.vector_depthwise import axes, check_core, check_host, check_loops, on_buffers
from npu_dialect.attributes import BY_CHANNEL, OVER_INPUT
from npu_dialect.interpreters import run_function
from npu_dialect.npu import Conv2dOp
from npu_dialect.walking import walk_kind
from npu_passes.lowering.kernels.working_memory import beats_planes, has_columns
from npu_passes.pipelines import DEFAULT, FREE_REGIONS, PIPELINES
from npu_passes.support.common import LoopOptions
from npu_plans.kernels.column_plan import ColumnPlan
from npu_tools.compiling.check import random_inputs


def with_taps_on_the_map(shape: Shape) -> Shape:
    """The shape with less padding, so that each window may have taps on the map."""
    pads = [min(pad, kernel - 1) for pad, kernel in zip(shape.pads, shape.kernel * 2, strict=True)]
    return replace(shape, pads=(pads[0], pads[1], pads[2], pads[3]))


SHAPES = st.builds(
    Shape,
    st.tuples(*starmap(st.integers, ((1, 2), (1, 6), (1, 9), (1, 30)))),
    st.integers(1, 3),
    st.tuples(st.integers(3, 7), st.integers(3, 9)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(*[st.integers(0, 6)] * 4),
    st.just(1),
    st.just(False),
    st.sampled_from((-128, -1, 0, 3, 127)),
    st.just(1),
    st.just(False),
    st.sampled_from((-128, 0, 9)),
    st.sampled_from((None, (-20.0, 30.0), (-128.0, 101.0))),
).map(with_taps_on_the_map)

ROWS = "npu-fuse-regions{when=always overlays=true}"
POOLS = "npu-fuse-conv-relu-pool{overlap=line-buffer},"
"""It would fuse the last layer, which copies, with the convolution."""
OPTIONS = LoopOptions(16, 64, ("dsp", "mve"))


@pytest.fixture(autouse=True)
def _always() -> Iterator[None]:
    """The kernel takes fewer instructions than others."""
    with always(True):
        yield


def always(beats: bool) -> AbstractContextManager[object]:
    """Whether the kernel takes fewer instructions than eight channels in lanes."""
    return patch.object(ColumnPlan, "beats_eight", return_value=beats)


def fits(shape: Shape) -> bool:
    """Whether the kernel is for a layer; a few channels with several filters have another one."""
    apart = shape.multiplier == 1 or shape.input[1] >= 4
    return apart and ColumnPlan.fits(*axes(shape))


@settings(deadline=None, max_examples=30)
@given(SHAPES.filter(fits).flatmap(either), st.booleans())
def test_columns_give_the_bits_of_the_layer(shape: Shape, planar: bool) -> None:
    assert "mve.push_bytes" in check_loops(*on_buffers(shape, planar=planar))


PLAIN = Shape((1, 5, 9, 12), 1, (5, 5), (1, 1), (2, 2, 2, 2), 1, False, -128, 1, False, -128)

IN_C = {
    "five taps": PLAIN,
    "seven taps": replace(
        PLAIN, input=(1, 4, 8, 13), kernel=(7, 7), strides=(2, 2), pads=(3, 3, 3, 3), zero_point=3
    ),
    "two images": replace(
        PLAIN, input=(2, 4, 7, 9), strides=(1, 2), point=5, zero_point=9, bounds=(-20.0, 90.0)
    ),
    "one row": replace(PLAIN, input=(1, 6, 5, 48), pads=(0, 2, 0, 2), point=-7),
    "unsigned": as_unsigned(
        replace(PLAIN, input=(1, 4, 6, 12), kernel=(7, 5), pads=(3, 1, 2, 2), point=5)
    ),
    "one channel": replace(PLAIN, input=(1, 1, 6, 30), kernel=(4, 6), pads=(1, 5, 3, 0), point=3),
    "kernel above map": replace(PLAIN, input=(1, 4, 3, 3), kernel=(7, 7), pads=(3, 3, 3, 3)),
    "two filters": replace(PLAIN, input=(1, 6, 6, 12), kernel=(3, 5), multiplier=2, zero_point=0),
}
"""Shapes with loops in a row and without, and padding on all sides."""


@pytest.mark.parametrize(
    "name",
    [
        "kernel above map",
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in ("five taps", "seven taps", "unsigned", "one channel")
        ),
    ],
)
def test_host(name: str) -> None:
    """C with sanitizers, in a poisoned arena between fences."""
    check_host(*on_buffers(IN_C[name]))


@pytest.mark.slow
def test_maps_in_planes(tmp_path: Path) -> None:
    """On the host, and on the emulated Cortex-M55."""
    modules = on_buffers(IN_C["two images"], planar=True)
    check_host(*modules)
    check_core(*modules, "-O2", tmp_path)


@pytest.mark.parametrize(
    ("name", "level"),
    [*((name, "-O2") for name in IN_C), ("five taps", "-O3"), ("seven taps", "-O3")],
)
def test_helium(name: str, level: str, tmp_path: Path) -> None:
    """The instructions on the emulated Cortex-M55."""
    check_core(*on_buffers(IN_C[name]), level, tmp_path)


# -- slices and rows -----------------------------------------------------------------------------


def in_slices(kernel: int) -> ModuleOp:
    """A depthwise layer that reads channels 0 to 3 of seven, and writes 0 to 3 of nine.

    Its network has planes as inputs and outputs.
    """

    def last(channels: int, whole: int, first: int = 0) -> str:
        """The type of some channels of a map [1, whole, 9, 11] with channels last."""
        strides = f"[{99 * whole}, 1, {11 * whole}, {whole}]"
        offset = f", offset: {first}" if first else ""
        return f"memref<1x{channels}x9x11xi8, strided<{strides}{offset}>, #npu.sram>"

    def planes(channels: int) -> str:
        return f"memref<1x{channels}x9x11xi8, #npu.sram>"

    def part(name: str, source: str, of: int, channels: int, first: int) -> str:
        sizes = f"[0, {first}, 0, 0] [1, {channels}, 9, 11] [1, 1, 1, 1]"
        types = f"{last(of, of)} to {last(channels, of, first)}"
        return f"%{name} = memref.subview %{source}{sizes} : {types}"

    def copy(source: str, type_: str, target: str, other: str) -> str:
        ends = f"ins(%{source} : {type_}) outs(%{target} : {other})"
        return f"npu.max_pool2d {ends} kernel [1, 1] strides [1, 1]"

    taps = f"4x1x{kernel}x{kernel}xi8"
    numbers = np.random.default_rng(0).integers(-128, 128, (4, 1, kernel, kernel)).tolist()
    pads = ", ".join([str(kernel // 2)] * 4)
    lines = [
        f'"memref.global"() <{{sym_name = "w", type = memref<{taps}, #npu.flash>, '
        f"initial_value = dense<{numbers}> : tensor<{taps}>, "
        'sym_visibility = "private", constant}> : () -> ()',
        f"func.func @f(%x : {planes(7)} {{sram.input}}, %z : {planes(9)} {{sram.output}}) {{",
        f"%w = memref.get_global @w : memref<{taps}, #npu.flash>",
        *(f"%{name} = sram.alloc : {last(count, count)}" for name, count in (("i", 7), ("o", 9))),
        part("a", "i", 7, 4, 0),
        part("b", "i", 7, 5, 2),
        part("c", "o", 9, 4, 0),
        part("d", "o", 9, 5, 4),
        copy("x", planes(7), "i", last(7, 7)),
        copy("b", last(5, 7, 2), "d", last(5, 9, 4)),
        f"npu.conv2d ins(%a, %w : {last(4, 7)}, memref<{taps}, #npu.flash>) "
        f"outs(%c : {last(4, 9)}) strides [1, 1] pads [{pads}] groups 4 zero_points [-3, 0] "
        "then requantize scales [0.007] zero_point -3 mode float {npu.by_channel}",
        copy("o", last(9, 9), "z", planes(9)),
        "func.return",
        "}",
    ]
    return parse(context(), "\n".join(lines))


@pytest.mark.parametrize("kernel", [pytest.param(5, marks=pytest.mark.slow), 7])
def test_slices(kernel: int) -> None:
    """In slices of larger maps pixels have gaps."""
    module = in_slices(kernel)
    layers = run_passes(context(), module.clone(), "npu-assign-sram-offsets,npu-outline-layers")
    assert "mve.push_bytes" in check_loops(module, layers)
    if kernel == 5:
        check_host(module, layers)


@pytest.mark.parametrize(("kernel", "step"), [(5, 1), pytest.param(7, 2, marks=pytest.mark.slow)])
def test_rows(kernel: int, step: int) -> None:
    """A layer in a loop over rows reads rows of a ring."""
    pads = (kernel // 2,) * 4
    shape = replace(
        PLAIN, input=(1, 8, 14, 12), kernel=(kernel, kernel), strides=(step, step), pads=pads
    )
    module = network(shape)
    rows = PIPELINES[DEFAULT].text.replace(FREE_REGIONS, ROWS).replace(POOLS, "")
    loops = run_passes(context(), module.clone(), f"npu-attach-target{{target=cortex-m55}},{rows}")
    assert "mve.push_bytes" in str(loops)
    inputs = random_inputs(module, 5)
    (wanted,) = run_function(module, None, inputs)
    np.testing.assert_array_equal(
        run_function(loops, None, inputs)[0].reshape(wanted.shape), wanted
    )


# -- which layers get it -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape",
    [
        replace(PLAIN, kernel=(8, 5)),
        replace(PLAIN, kernel=(5, 2)),
        replace(PLAIN, dilation=2),
        replace(PLAIN, pads=(5, 2, 2, 2)),
        replace(PLAIN, input=(1, 3, 9, 12), multiplier=2),
    ],
)
def test_layers_that_do_not_fit_get_another_kernel(shape: Shape) -> None:
    assert "mve.push_bytes" not in check_loops(*on_buffers(shape))


def test_a_patch_serves_outputs_that_are_stored_later() -> None:
    """Twelve outputs of a row have six patches. One of them is padding, which is not gathered."""
    shape = replace(PLAIN, input=(1, 4, 5, 12), pads=(0, 2, 0, 2))
    text = str(lowered(on_buffers(shape)[1], VECTORS))
    assert (text.count("mve.push_bytes"), text.count("saturated : memref")) == (5, 2)


def test_rows_come_first_unless_the_layer_may_compute_by_channel() -> None:
    assert "mve.push_bytes" in str(lowered(on_buffers(PLAIN)[1], VECTORS))
    assert "mve.push_bytes" not in str(lowered(on_buffers(PLAIN, by_channel=False)[1], VECTORS))


def test_layers_that_are_not_faster_keep_eight_channels() -> None:
    """Maps in planes have no such kernel."""
    with always(False):
        assert "mve.push_bytes" not in str(lowered(on_buffers(PLAIN)[1], VECTORS))
        planar = str(lowered(on_buffers(PLAIN, planar=True)[1], VECTORS))
    assert "mve.push_bytes" in planar


def test_small_layers_and_other_machines_have_none() -> None:
    small = replace(VECTORS, options=SMALL.options)
    assert "mve.push_bytes" not in str(lowered(on_buffers(PLAIN)[1], small))
    assert "mve." not in str(lowered(on_buffers(PLAIN)[1], DSP))


@pytest.mark.parametrize(
    ("shape", "beside"),
    [
        (replace(PLAIN, input=(1, 32, 12, 12)), False),
        (replace(PLAIN, input=(1, 64, 16, 80)), True),
        (replace(PLAIN, input=(1, 32, 3, 3), kernel=(7, 7), pads=(3, 3, 3, 3)), False),
    ],
)
def test_copies_of_channels_come_first_unless_these_are_worth_their_flash(
    shape: Shape, beside: bool
) -> None:
    """A row that is too long has no copy of its channel."""
    layers = run_passes(context(), network(shape), layouts(planar=False))
    (layer,) = walk_kind(layers, Conv2dOp)
    BY_CHANNEL.set(layer, True)
    assert has_columns(layer, OPTIONS)
    assert beats_planes(layer, OPTIONS) == beside
    OVER_INPUT.set(layer, True)
    assert not has_columns(layer, OPTIONS)
