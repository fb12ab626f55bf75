"""Depthwise convolutions whose windows are gathered where they lie, on vectors: random shapes."""

from __future__ import annotations

from dataclasses import replace
from itertools import starmap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.depthwise import Shape, as_unsigned, either, network
from helpers.kernel_roads import DSP, VECTORS, lowered
from helpers.vector_depthwise import check_core, check_host, check_loops, on_buffers
from npu_dialect.npu import Conv2dOp
from npu_dialect.walking import walk_kind
from npu_plans.kernels.window_plan import WindowPlan

SHAPES = st.builds(
    Shape,
    st.tuples(*starmap(st.integers, ((1, 2), (4, 6), (1, 9), (3, 22)))),
    st.integers(1, 3),
    st.just((3, 3)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(*[st.integers(0, 2)] * 4),
    st.just(1),
    st.just(False),
    st.sampled_from((-128, -1, 0, 3, 127)),
    st.just(1),
    st.just(False),
    st.sampled_from((-128, 0, 9)),
    st.sampled_from((None, (-20.0, 30.0), (-128.0, 101.0))),
).flatmap(either)


def pays(shape: Shape) -> bool:
    """Whether the kernel is for a layer."""
    (layer,) = walk_kind(network(shape), Conv2dOp)
    return WindowPlan.fits(*layer.axes()) and WindowPlan.pays(*layer.axes())


@settings(deadline=None, max_examples=20)
@given(
    SHAPES.filter(lambda shape: shape.input[2] + shape.pads[0] + shape.pads[2] > 2).filter(pays),
    st.booleans(),
)
def test_windows_give_the_bits_of_the_layer(shape: Shape, planar: bool) -> None:
    assert "mve.push_bytes" in check_loops(*on_buffers(shape, planar=planar))


PLAIN = Shape((1, 5, 12, 13), 1, (3, 3), (2, 2), (1, 1, 1, 1), 1, False, -128, 1, False, -128)

IN_C = {
    "two rows": PLAIN,
    "two images": replace(
        PLAIN, input=(2, 4, 7, 16), strides=(1, 1), point=5, zero_point=9, bounds=(-20.0, 90.0)
    ),
    "one row": replace(PLAIN, input=(1, 6, 3, 48), pads=(0, 1, 0, 1), point=-7),
    "unsigned": as_unsigned(replace(PLAIN, input=(1, 4, 6, 12), point=5, bounds=(-20.0, 90.0))),
    "a loop in a row": replace(PLAIN, input=(1, 4, 5, 27), strides=(1, 1), point=5),
    "two filters": replace(PLAIN, input=(1, 6, 7, 12), multiplier=2, strides=(1, 1), zero_point=0),
    "four rows": replace(PLAIN, input=(1, 5, 7, 6), strides=(1, 1), point=5, zero_point=9),
    "five columns": replace(PLAIN, input=(1, 4, 11, 5), strides=(1, 1), point=-7),
    "a column that is pushed": replace(PLAIN, input=(1, 4, 8, 24)),
    "clipped in steps": replace(PLAIN, input=(1, 5, 15, 15)),
}
"""Shapes with one row of outputs, with two and with four at a time, and padding on all sides."""


def test_a_patch_serves_outputs_that_are_stored_later() -> None:
    """Twelve outputs of a row are stored in two parts, and have four patches of three outputs."""
    shape = replace(PLAIN, input=(1, 4, 3, 12), strides=(1, 1), pads=(0, 1, 0, 1))
    text = str(lowered(on_buffers(shape)[1], VECTORS))
    assert (text.count("mve.push_bytes"), text.count("saturated : memref")) == (4, 2)


@pytest.mark.parametrize(
    ("name", "ops"),
    [
        ("a column that is pushed", {"mve.push_three"}),
        ("two images", {"mve.shift_in", "mve.mla_across"}),
        ("a loop in a row", {"mve.shift_in", "mve.mla_across", "dsp.opaque"}),
        ("five columns", {"mve.mla_across"}),
        ("clipped in steps", {"mve.mla_across"}),
    ],
)
def test_how_padding_is_met(name: str, ops: set[str]) -> None:
    """A column is pushed into a patch, rows move in it, or outputs lack columns."""
    text = check_loops(*on_buffers(IN_C[name]))
    every = {"mve.push_three", "mve.shift_in", "mve.mla_across"}
    assert {op for op in every | {"dsp.opaque"} if op in text} >= ops
    assert not any(op in text for op in every - ops)


SLOW = ("two rows", "two images")


@pytest.mark.parametrize(
    "name", ["unsigned", *(pytest.param(each, marks=pytest.mark.slow) for each in SLOW)]
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


@pytest.mark.parametrize("level", ["-O2", pytest.param("-O3", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", IN_C)
def test_helium(name: str, level: str, tmp_path: Path) -> None:
    """The instructions on the emulated Cortex-M55."""
    check_core(*on_buffers(IN_C[name]), level, tmp_path)


@pytest.mark.parametrize(
    "shape",
    [
        replace(PLAIN, kernel=(8, 3)),
        replace(PLAIN, kernel=(2, 4)),
        replace(PLAIN, dilation=2),
        replace(PLAIN, pads=(3, 1, 1, 1)),
        replace(PLAIN, input=(1, 3, 12, 13), multiplier=2),
        replace(PLAIN, input=(1, 4, 5, 5)),
    ],
)
def test_layers_that_do_not_fit_get_another_kernel(shape: Shape) -> None:
    assert "mve.push_bytes" not in check_loops(*on_buffers(shape))


def test_rows_come_first_unless_the_layer_may_compute_by_channel() -> None:
    assert "mve.push_bytes" in str(lowered(on_buffers(PLAIN)[1], VECTORS))
    assert "mve.push_bytes" not in str(lowered(on_buffers(PLAIN, by_channel=False)[1], VECTORS))


def test_other_machines_have_no_windows() -> None:
    assert "mve." not in str(lowered(on_buffers(PLAIN)[1], DSP))
