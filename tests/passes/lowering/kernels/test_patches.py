"""Depthwise convolutions over patches on vectors: random shapes, also in place."""

from __future__ import annotations

from dataclasses import replace
from itertools import starmap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from helpers.depthwise import Shape, as_unsigned, either, give, layouts, network
from helpers.kernel_roads import DSP, VECTORS, lowered
from helpers.pipeline import context, run_passes
from helpers.vector_depthwise import axes, check_core, check_host, check_loops
from npu_dialect.npu import Conv2dOp
from npu_dialect.walking import walk_kind
from npu_passes.support.refuse import Refusal
from npu_plans.kernels.patch_plan import PatchPlan

SHAPES = st.builds(
    Shape,
    st.tuples(*starmap(st.integers, ((1, 2), (4, 6), (1, 9), (1, 11)))),
    st.integers(1, 4),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.just((1, 1)),
    st.tuples(*[st.integers(0, 2)] * 4),
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

    `spare`: the elements that this has more than the kernel needs. `planar`: maps lie in planes.
    """
    module = network(shape)
    layers = run_passes(context(), module, layouts(planar=planar))
    (layer,) = walk_kind(layers, Conv2dOp)
    give(layer, PatchPlan(*layer.axes()).elements + spare, in_place=shape.in_place)
    layers.verify()
    places = "npu-assign-sram-offsets,npu-outline-layers"
    return module, run_passes(context(), layers, places)


@settings(deadline=None, max_examples=40)
@given(SHAPES.filter(lambda shape: PatchPlan.fits(*axes(shape))), st.booleans())
def test_patches_give_the_bits_of_the_layer(shape: Shape, planar: bool) -> None:
    assert "mve.push_bytes" in check_loops(*on_buffers(shape, planar=planar))


IN_C = {
    "padded": Shape((1, 5, 7, 9), 1, (3, 3), (1, 1), (1, 1, 1, 1), 1, False, -128, 1, True, -128),
    "two images": Shape(
        (2, 4, 6, 7), 1, (3, 3), (1, 1), (0, 2, 1, 0), 1, False, 5, 1, False, 9, (-20.0, 90.0)
    ),
    "not square": Shape((1, 6, 5, 4), 1, (2, 3), (1, 1), (1, 0, 0, 1), 1, False, -7, 1, False, 0),
    "one row": Shape((1, 4, 1, 6), 1, (3, 1), (1, 1), (1, 0, 1, 0), 1, False, 100, 1, True),
    "three filters": Shape((1, 5, 7, 6), 3, (3, 3), (1, 1), (1, 1, 1, 1), 1, False, -7, 1, False),
    "unsigned": as_unsigned(
        Shape(
            (2, 4, 6, 7), 1, (3, 3), (1, 1), (1, 2, 1, 0), 1, False, 5, 1, False, 9, (-20.0, 90.0)
        )
    ),
}
"""Shapes whose code has masked lanes of all kinds: last rows and columns, and rows of padding."""


@pytest.mark.parametrize("name", ["padded", "two images", "unsigned"])
def test_host(name: str) -> None:
    """C with sanitizers, in a poisoned arena between fences."""
    check_host(*on_buffers(IN_C[name]))


@pytest.mark.parametrize("level", ["-O2", "-O3"])
@pytest.mark.parametrize("name", IN_C)
def test_helium(name: str, level: str, tmp_path: Path) -> None:
    """The instructions on the emulated Cortex-M55."""
    check_core(*on_buffers(IN_C[name]), level, tmp_path)


PLAIN = Shape((1, 4, 5, 6), 1, (3, 3), (1, 1), (1, 1, 1, 1), 1, False, -7, 1, False)


@pytest.mark.parametrize(
    "shape",
    [
        replace(PLAIN, kernel=(4, 3)),
        replace(PLAIN, kernel=(3, 4)),
        replace(PLAIN, strides=(1, 2)),
        replace(PLAIN, dilation=2),
        replace(PLAIN, pads=(3, 1, 1, 1)),
        replace(PLAIN, input=(1, 3, 5, 6), multiplier=2),
    ],
)
def test_layers_that_do_not_fit_get_another_kernel(shape: Shape) -> None:
    assert "mve.push_bytes" not in check_loops(*on_buffers(shape))


def test_a_working_memory_that_is_too_small_is_not_used() -> None:
    assert "mve.push_bytes" in str(lowered(on_buffers(PLAIN)[1], VECTORS))
    assert "mve.push_bytes" not in str(lowered(on_buffers(PLAIN, -1)[1], VECTORS))
    with pytest.raises(Refusal, match=r"cannot lower npu.conv2d in place"):
        lowered(on_buffers(replace(PLAIN, in_place=True), -1)[1], VECTORS)


def test_other_machines_have_no_patches() -> None:
    assert "mve." not in str(lowered(on_buffers(PLAIN)[1], DSP))
