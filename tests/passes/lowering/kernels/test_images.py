"""Convolutions of few channels whose windows are gathered whole, on vectors: random shapes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, TensorType, i8, i32

from helpers.kernel_chains import ChainMaker
from helpers.kernel_roads import DSP, VECTORS, lowered
from helpers.pipeline import context, run_passes
from helpers.vector_depthwise import check_core, check_host
from npu_dialect.interpreters import run_function
from npu_dialect.npu import (
    ActivationAttr,
    Conv2dOp,
    MaxPool2dOp,
    PoolAttr,
    RequantizeAttr,
    TransposeOp,
)
from npu_dialect.npu.enums import Overlap
from npu_dialect.npu.epilogue import Epilogue
from npu_dialect.npu.quantization import ui8
from npu_passes.lowering.kernels.unit import FLIPPED
from npu_tools.compiling.check import random_inputs

PLACE = (
    "npu-bufferize,npu-choose-layouts,npu-transpose-in-place,npu-assign-sram-offsets,"
    "npu-outline-layers"
)


@dataclass(frozen=True)
class Shape:
    """A convolution of an image [N, C, H, W]; `last`: which is given with channels last."""

    input: tuple[int, int, int, int]
    filters: int
    kernel: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilations: tuple[int, int] = (1, 1)
    point: int = -128
    unsigned: bool = False
    last: bool = False
    pool: PoolAttr | None = None
    overlap: Overlap | None = None
    groups: int = 1
    bounds: tuple[float, float] | None = None


def network(shape: Shape) -> ModuleOp:
    """The convolution, and a layer that copies its output."""
    maker, element = ChainMaker(Random(1)), ui8 if shape.unsigned else i8
    images, channels, height, width = shape.input
    if shape.last:
        given_ = maker.argument(element, (images, height, width, channels))
        x = maker.add(TransposeOp(given_, (0, 3, 1, 2), TensorType(element, [])), element)
    else:
        x = maker.argument(element, shape.input)
    weights = maker.numbers.integers(
        -128, 128, (shape.filters, channels // shape.groups, *shape.kernel)
    )
    scales = maker.numbers.uniform(0.002, 0.01, shape.filters).astype(np.float32).tolist()
    layer = Conv2dOp(
        x,
        maker.constant(weights, i8),
        maker.constant(maker.numbers.integers(-999, 999, shape.filters), i32),
        TensorType(element, []),
        strides=shape.strides,
        pads=shape.pads,
        dilations=shape.dilations,
        groups=shape.groups,
        zero_points=(shape.point + FLIPPED * shape.unsigned, 0),
        epilogue=Epilogue(
            RequantizeAttr.of(scales, 9),
            None if shape.bounds is None else ActivationAttr.clamp(*shape.bounds),
            shape.pool,
            shape.overlap,
        ),
    )
    y = maker.add(maker.named(layer), element)
    copy = MaxPool2dOp(y, PoolAttr.of("max", (1, 1), (1, 1)), TensorType(element, []))
    return maker.finished(maker.add(maker.named(copy), element))


def on_buffers(shape: Shape) -> tuple[ModuleOp, ModuleOp]:
    """The network, and its layers on buffers."""
    module = network(shape)
    module.verify()
    return module, run_passes(context(), module, PLACE)


def loops_of(shape: Shape) -> str:
    """The loops of a network, which give its bits."""
    module, layers = on_buffers(shape)
    inputs = random_inputs(module, 5)
    (wanted,) = run_function(module, None, inputs)
    loops = lowered(layers, VECTORS)
    np.testing.assert_array_equal(run_function(loops, None, inputs)[0], wanted)
    return str(loops)


SIZES = st.integers(1, 11)
PAIRS = PoolAttr.of("max", (2, 2), (2, 2))
POOLS = st.sampled_from(
    (
        (None, None),
        (None, None),
        (PAIRS, None),
        (PoolAttr.of("max", (3, 2), (1, 2)), Overlap.RECOMPUTE),
        (PoolAttr.of("max", (3, 3), (2, 2), (1, 1, 1, 1)), Overlap.ACCUMULATE),
    )
)
SHAPES = st.builds(
    Shape,
    st.tuples(st.integers(1, 2), st.integers(1, 4), SIZES, SIZES),
    st.integers(2, 9),
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(*[st.integers(0, 3)] * 4),
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
    st.sampled_from((-128, -3, 0, 127)),
    st.booleans(),
    st.booleans(),
)


def in_groups(shape: Shape, groups: int) -> Shape:
    """The same convolution of several groups, of a map with channels last."""
    images, channels, *size = shape.input
    input = (images, channels * groups, size[0], size[1])
    return replace(shape, input=input, filters=shape.filters * groups, groups=groups, last=True)


GROUPS = st.builds(
    in_groups,
    st.builds(
        Shape,
        st.tuples(st.integers(1, 2), st.integers(2, 12), SIZES, SIZES),
        st.integers(2, 9),
        st.tuples(st.integers(1, 4), st.integers(1, 4)),
        st.tuples(st.integers(1, 2), st.integers(1, 2)),
        st.tuples(*[st.integers(0, 2)] * 4),
        st.tuples(st.integers(1, 2), st.integers(1, 2)),
        unsigned=st.booleans(),
    ),
    st.integers(1, 3),
)


def extents(shape: Shape) -> list[int]:
    """Rows and columns of the convolution, without a pool."""
    top, left, bottom, right = shape.pads
    return [
        (size + pads - dilation * (kernel - 1) - 1) // stride + 1
        for size, pads, dilation, kernel, stride in zip(
            shape.input[2:],
            (top + bottom, left + right),
            shape.dilations,
            shape.kernel,
            shape.strides,
            strict=True,
        )
    ]


@settings(deadline=None, max_examples=40)
@given(SHAPES.filter(lambda shape: min(extents(shape)) >= 1), POOLS)
def test_images_give_the_bits_of_the_layer(
    shape: Shape, pool: tuple[PoolAttr | None, Overlap | None]
) -> None:
    kernel = pool[0].axes(*extents(shape)) if pool[0] else None
    if kernel is not None and min(axis.outputs for axis in kernel) < 1:
        pool = (None, None)
    loops_of(replace(shape, pool=pool[0], overlap=pool[1]))


@settings(deadline=None, max_examples=40)
@given(GROUPS.filter(lambda shape: min(extents(shape)) >= 1))
def test_channels_last_in_groups_give_the_bits_of_the_layer(shape: Shape) -> None:
    loops_of(shape)


FOLDS = st.builds(
    Shape,
    st.tuples(st.just(1), st.integers(1, 4), st.integers(5, 9), st.integers(5, 22)),
    st.sampled_from((3, 7, 12, 17)),
    st.tuples(st.integers(1, 3), st.just(3)),
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
    st.tuples(*[st.integers(0, 1)] * 4),
    point=st.sampled_from((-128, 3)),
    unsigned=st.booleans(),
    pool=st.builds(
        PoolAttr.of,
        st.just("max"),
        st.tuples(st.just(3), st.integers(2, 4)),
        st.tuples(st.integers(1, 2), st.integers(1, 3)),
        st.tuples(*[st.integers(0, 1)] * 4),
    ),
    overlap=st.just(Overlap.ACCUMULATE),
    bounds=st.sampled_from((None, (-60.0, 41.0))),
)


@settings(deadline=None, max_examples=25)
@given(FOLDS)
def test_outputs_are_folded_into_windows_that_overlap(shape: Shape) -> None:
    """Groups of eight filters and rests, windows that are known and others, cut ones and none."""
    assert shape.pool is not None
    if shape.pool.overlaps and min(axis.outputs for axis in shape.pool.axes(*extents(shape))) > 0:
        loops_of(shape)


IMAGE = Shape((1, 3, 9, 10), 5, (3, 3), pads=(1, 1, 1, 1))
LARGE = replace(IMAGE, input=(1, 3, 17, 19), filters=8)
FOLDED = replace(
    LARGE,
    strides=(2, 2),
    pads=(0, 0, 0, 0),
    pool=PoolAttr.of("max", (3, 3), (2, 2)),
    overlap=Overlap.ACCUMULATE,
)
"""Steps of two, folded into windows of a pool that overlap."""
KINDS = {
    "three channels": LARGE,
    "near": replace(LARGE, input=(1, 1, 25, 20), kernel=(5, 4), pads=(2, 1, 2, 2), point=5),
    "steps of two": replace(LARGE, strides=(2, 2), pads=(0, 0, 1, 1), filters=18),
    "a smaller output": replace(LARGE, input=(1, 3, 33, 35), strides=(2, 2)),
    "channels last": replace(LARGE, last=True, point=-3),
    "unsigned": replace(LARGE, unsigned=True, point=7),
    "pooled": replace(
        LARGE, kernel=(5, 5), pads=(2, 2, 2, 2), pool=PoolAttr.of("max", (2, 2), (2, 2))
    ),
    "folded": replace(
        LARGE,
        input=(2, 3, 9, 8),
        pool=PoolAttr.of("max", (3, 3), (2, 2)),
        overlap=Overlap.ACCUMULATE,
    ),
    "folded, 14 filters": replace(FOLDED, filters=14, unsigned=True),
    "folded, 14 filters, more windows": replace(
        FOLDED, filters=14, unsigned=True, pool=PoolAttr.of("max", (3, 3), (2, 1))
    ),
    "folded, ends together": replace(FOLDED, input=(1, 1, 11, 23), filters=16),
    "folded, ends together, cut": replace(
        FOLDED,
        input=(1, 3, 12, 22),
        filters=12,
        pads=(0, 1, 0, 0),
        unsigned=True,
        point=3,
        pool=PoolAttr.of("max", (2, 3), (1, 2)),
    ),
    "four channels on a small map": replace(
        LARGE, input=(1, 4, 14, 15), filters=32, last=True, point=3
    ),
    "four channels, large first values": replace(
        LARGE, input=(1, 4, 14, 15), filters=16, last=True, point=127
    ),
    "eight channels on a small map": replace(
        LARGE, input=(1, 8, 7, 7), filters=96, last=True, point=3
    ),
    "groups of eight channels": replace(
        LARGE, input=(1, 16, 24, 25), filters=32, groups=2, last=True
    ),
    "rows that are all cut": replace(LARGE, input=(1, 2, 2, 60), kernel=(5, 3), pads=(2, 1, 2, 1)),
    "few filters, pooled": replace(
        LARGE, input=(1, 1, 16, 18), filters=6, kernel=(5, 5), pads=(0, 0, 0, 0), pool=PAIRS
    ),
    "three vectors": replace(
        LARGE, input=(1, 1, 49, 10), filters=20, kernel=(10, 4), strides=(2, 2), pads=(4, 1, 5, 1)
    ),
    "ten vectors": replace(LARGE, filters=6, kernel=(7, 7), pads=(0, 0, 0, 0)),
}


SLOW = pytest.mark.slow
NEAR = (
    *("near", "channels last", "folded", "folded, ends together", "rows that are all cut"),
    *("few filters, pooled", "three vectors"),
    *("four channels on a small map", "four channels, large first values"),
    "eight channels on a small map",
)
"""Those whose windows lie within the reach of a vector of bytes."""


@pytest.mark.parametrize("name", KINDS)
def test_windows_are_gathered(name: str) -> None:
    loops = loops_of(KINDS[name])
    assert ("mve.gather_bytes" in loops) == (name in NEAR)
    assert ("mve.push_bytes" in loops) == (name not in NEAR)
    assert "mve.mul_rows" in loops


@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize(
    ("strides", "known", "two"),
    [((2, 2), True, True), ((2, 1), True, False), ((2, 3), False, False)],
)
def test_filters_are_folded_together(
    unsigned: bool, strides: tuple[int, int], known: bool, two: bool
) -> None:
    """The windows of a pair of pixels are known if their strides divide that of the pair's loop.

    If there are `two`, they take turns in the lanes with four filters, in bytes with eight. Else
    eight filters do.
    """
    pool = PoolAttr.of("max", (3, 3), strides)
    shape = replace(KINDS["folded"], input=(1, 3, 9, 21), filters=16, pool=pool, unsigned=unsigned)
    inner = loops_of(shape)
    inner = inner[inner.index("scf.for %ox") :]
    pixel = shape.filters
    reach = pixel + 4 if two else 8
    halves = [line for line in inner.splitlines() if f"reach {reach} " in line]
    gathers = [line for line in halves if "mve.gather %" in line]
    assert all((" signed :" in line) != unsigned for line in gathers)
    assert gathers
    assert (f"reach {pixel + 8} " in inner) == (two and not unsigned)
    assert ("scf.for %px" in inner) == (not known)


def test_large_first_values_take_all_idle_words() -> None:
    """Of 36 taps three words are idle: two are -128 throughout, and the last one ends in 1."""
    loops = loops_of(KINDS["four channels, large first values"])
    words = re.findall(r"mve\.set_word %\w+\[(\d)\], %(\w+)", loops)
    assert {word for word, _ in words} == {"1", "2", "3"}
    assert len({number for _, number in words}) == 2


@pytest.mark.parametrize("name", ["folded, ends together", "folded, ends together, cut"])
def test_the_ends_of_a_row_are_folded_together(name: str) -> None:
    """The first pixel has one window, and so has the last pair: no loop takes their filters."""
    assert "scf.for %oc" not in loops_of(KINDS[name])


@pytest.mark.parametrize(
    "change",
    [
        {"filters": 14},
        {"filters": 20},
        {"input": (1, 1, 11, 21)},
        {"pool": PoolAttr.of("max", (3, 3), (2, 1))},
        {"pool": PoolAttr.of("max", (3, 3), (2, 2), (0, 1, 0, 0))},
    ],
)
def test_ends_of_a_row_by_themselves(change: dict[str, Any]) -> None:
    """A rest of filters, many of them, an even row, and windows that hold other pixels, too."""
    assert "scf.for %oc" in loops_of(replace(KINDS["folded, ends together"], **change))


@pytest.mark.parametrize(
    ("name", "packed"),
    [
        ("three channels", set[str]()),
        ("a smaller output", {"4"}),  # two of the last four outputs of a row
        ("three vectors", set[str]()),
        ("ten vectors", {"10", "20"}),  # an output alone, and pairs
        ("few filters, pooled", set[str]()),  # all filters before the other two pixels are gathered
        ("pooled", {"10"}),
    ],
)
def test_large_windows_lie_on_the_stack(name: str, packed: set[str]) -> None:
    assert set(re.findall(r"mve.pack.* : vector<(\d+)x16xi8>", loops_of(KINDS[name]))) == packed


@pytest.mark.parametrize(
    "name",
    [name if name == "folded" else pytest.param(name, marks=SLOW) for name in KINDS],
)
def test_host(name: str) -> None:
    """C with sanitizers, in a poisoned arena between fences."""
    check_host(*on_buffers(KINDS[name]))


@SLOW
@pytest.mark.parametrize("level", ["-O2", "-O3"])
@pytest.mark.parametrize("name", KINDS)
def test_helium(name: str, level: str, tmp_path: Path) -> None:
    """The instructions on the emulated Cortex-M55."""
    check_core(*on_buffers(KINDS[name]), level, tmp_path)


@pytest.mark.parametrize(
    "shape",
    [
        replace(IMAGE, kernel=(1, 1), pads=(0, 0, 0, 0)),
        replace(LARGE, pool=PoolAttr.of("max", (2, 2), (2, 2), (1, 1, 1, 1))),
        replace(LARGE, kernel=(7, 7), pads=(3, 3, 3, 3), pool=PAIRS),
    ],
)
def test_layers_that_do_not_fit_have_filters_in_lanes(shape: Shape) -> None:
    """Few taps, pools with padding, and too many vectors."""
    loops = loops_of(shape)
    assert "mve.push_bytes" not in loops
    assert "mve.mla_scalar" in loops


@pytest.mark.parametrize(
    "shape",
    [
        replace(LARGE, input=(1, 16, 9, 10), filters=32, last=True),
        replace(LARGE, input=(1, 8, 7, 7), filters=16, last=True),
        replace(
            LARGE, input=(1, 8, 16, 17), filters=32, kernel=(1, 1), pads=(0, 0, 0, 0), last=True
        ),
        replace(LARGE, input=(1, 8, 16, 16), filters=32, last=True, pool=PAIRS),
    ],
)
def test_runs_are_loaded_where_tables_save_too_little(shape: Shape) -> None:
    """Whole vectors of 16 channels, few outputs, single taps, and pools."""
    loops = loops_of(shape)
    assert "mve.push_bytes" not in loops
    assert "mve.gather" not in loops
    names = ("mla_across", "mul_across", "mul_lanes", "mul_runs")
    assert any(f"mve.{name}" in loops for name in names)


def test_other_machines_gather_nothing() -> None:
    assert "mve." not in str(lowered(on_buffers(LARGE)[1], DSP))
