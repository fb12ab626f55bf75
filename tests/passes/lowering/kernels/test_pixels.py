"""Pointwise layers and long runs on vectors, random shapes: pixels in registers, shared vectors."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import IntegerType, ModuleOp, TensorType, i8, i32
from xdsl.ir import SSAValue

from helpers.kernel_chains import ChainMaker
from helpers.kernel_roads import DSP, VECTORS, Road, lowered
from helpers.pipeline import context, run_passes
from helpers.vector_depthwise import check_core, check_host, check_loops
from npu_dialect.interpreters import run_function
from npu_dialect.npu import (
    ConcatOp,
    Conv2dOp,
    MaxPool2dOp,
    PoolAttr,
    QuantizedAddOp,
    RequantizeAttr,
    TransposeOp,
)
from npu_dialect.npu.epilogue import Epilogue
from npu_dialect.npu.quantization import ui8
from npu_passes.lowering.kernels.unit import FLIPPED
from npu_tools.compiling.check import random_inputs

PLACE = (
    "npu-fuse-additions,npu-bufferize,npu-concat-in-place,npu-choose-layouts,"
    "npu-transpose-in-place,npu-assign-sram-offsets,npu-outline-layers"
)


@dataclass(frozen=True)
class Shape:
    """A convolution of a map [N, C, H, W] with channels last.

    `joined`: its output is a part of a concatenation, with so many channels in front of it.
    `beside`: its input is a part of it, too, so that there is a gap between pixels. `aside`: its
    output is a part of a concatenation of columns, so that there is a gap between rows. `ends`: the
    scales of its addition. `itself`: the input is added.
    """

    input: tuple[int, int, int, int]
    filters: int
    kernel: int = 1
    stride: int = 1
    pad: int = 0
    groups: int = 1
    points: tuple[int, int] = (-128, -128)
    unsigned: bool = False
    one_scale: bool = False
    residual: bool = False
    ends: tuple[float, float, float] = (0.021, 0.033, 0.047)
    itself: bool = False
    joined: int = 0
    beside: bool = False
    aside: bool = False


def network(shape: Shape) -> ModuleOp:
    """The convolution, what is added to it, and a layer that copies its output."""
    maker, element = ChainMaker(Random(1)), ui8 if shape.unsigned else i8
    images, channels, height, width = shape.input
    x = last(maker, element, (images, height, width, channels))
    if shape.beside:
        x = copied(maker, element, x)
    weights = (shape.filters, channels // shape.groups, shape.kernel, shape.kernel)
    scales = maker.numbers.uniform(0.0004, 0.003, 1 if shape.one_scale else shape.filters)
    flip = FLIPPED * shape.unsigned
    layer = Conv2dOp(
        x,
        maker.constant(maker.numbers.integers(-128, 128, weights), i8),
        maker.constant(maker.numbers.integers(-999, 999, shape.filters), i32),
        TensorType(element, []),
        strides=(shape.stride,) * 2,
        pads=(shape.pad,) * 4,
        groups=shape.groups,
        zero_points=(shape.points[0] + flip, 0),
        epilogue=Epilogue(
            RequantizeAttr.of(scales.astype(np.float32).tolist(), shape.points[1] + flip)
        ),
    )
    y = maker.add(maker.named(layer), element)
    rows, columns = layer.infer_shape()[2:]
    if shape.residual:
        other = x if shape.itself else last(maker, element, (images, rows, columns, shape.filters))
        ends = shape.ends, [shape.points[1] + flip, 3, 5]
        y = maker.add(
            maker.named(QuantizedAddOp(y, other, *ends, TensorType(element, []))), element
        )
    if shape.aside:
        others = last(maker, element, (images, rows, 2, shape.filters))
        y = maker.add(maker.named(ConcatOp([others, y], 3, TensorType(element, []))), element)
        columns += 2
    parts = [x, y] if shape.beside else [y]
    if shape.joined:
        parts.insert(0, last(maker, element, (images, rows, columns, shape.joined)))
    if len(parts) > 1:
        y = maker.add(maker.named(ConcatOp(parts, 1, TensorType(element, []))), element)
    return maker.finished(copied(maker, element, y))


def copied(maker: ChainMaker, element: IntegerType, x: SSAValue) -> SSAValue:
    """A layer that copies a map."""
    copy = MaxPool2dOp(x, PoolAttr.of("max", (1, 1), (1, 1)), TensorType(element, []))
    return maker.add(maker.named(copy), element)


def last(maker: ChainMaker, element: IntegerType, shape: tuple[int, ...]) -> SSAValue:
    """An input [N, H, W, C] as a map [N, C, H, W]."""
    given_ = maker.argument(element, shape)
    return maker.add(TransposeOp(given_, (0, 3, 1, 2), TensorType(element, [])), element)


def on_buffers(shape: Shape) -> tuple[ModuleOp, ModuleOp]:
    """The network, and its layers on buffers."""
    module = network(shape)
    module.verify()
    return module, run_passes(context(), module, PLACE)


def loops_of(shape: Shape) -> str:
    """The loops of a network, which give its bits."""
    return check_loops(*on_buffers(shape))


ENDS = st.sampled_from((-128, -3, 0, 126, 127))
MAPS = st.tuples(st.integers(1, 2), st.integers(4, 70), st.integers(1, 9), st.integers(1, 9))
POINTWISE = st.builds(
    Shape,
    MAPS,
    st.integers(1, 19),
    stride=st.sampled_from((1, 1, 2)),
    pad=st.sampled_from((0, 0, 0, 1)),
    points=st.tuples(ENDS, ENDS),
    unsigned=st.booleans(),
    one_scale=st.booleans(),
    residual=st.booleans(),
    ends=st.sampled_from(((0.021, 0.033, 0.047), (0.037, 0.051, 0.022))),
    joined=st.sampled_from((0, 0, 3, 8)),
    beside=st.sampled_from((False, False, True)),
    aside=st.sampled_from((False, False, True)),
).filter(lambda each: not each.beside or (each.stride == 1 and not each.pad and not each.aside))


@settings(deadline=None, max_examples=60)
@given(POINTWISE)
def test_pointwise_layers_give_the_bits_of_the_layer(shape: Shape) -> None:
    loops_of(shape)


def adding_itself(shape: Shape, channels: int, rows: int, columns: int, kernel: int) -> Shape:
    """The same layer with as many filters as channels, to whose outputs its input is added."""
    return replace(
        shape,
        input=(shape.input[0], channels, rows, columns),
        filters=channels,
        kernel=kernel,
        pad=kernel // 2,
        stride=1,
        residual=True,
        itself=True,
    )


ITSELF = st.builds(
    adding_itself,
    POINTWISE,
    st.integers(8, 40),
    st.integers(3, 9),
    st.integers(3, 9),
    st.sampled_from((1, 3)),
)


@settings(deadline=None, max_examples=30)
@given(ITSELF)
def test_what_is_added_may_have_other_distances(shape: Shape) -> None:
    loops_of(shape)


LARGER = st.builds(
    replace,
    POINTWISE,
    input=st.tuples(st.just(1), st.integers(17, 250), st.integers(7, 9), st.integers(9, 12)),
    filters=st.integers(9, 14),
)


@settings(deadline=None, max_examples=25)
@given(LARGER)
def test_rows_of_a_table_give_the_bits_of_the_layer(shape: Shape) -> None:
    """Pairs of pixels whose vectors stay in registers, or are packed on the stack."""
    loops_of(shape)


@settings(deadline=None, max_examples=30)
@given(
    st.integers(1, 2),
    st.integers(1, 40),
    st.integers(3, 11),
    st.integers(1, 9),
    st.integers(1, 3),
    st.integers(1, 2),
    st.integers(0, 2),
    st.booleans(),
)
def test_runs_give_the_bits_of_the_layer(
    groups: int,
    channels: int,
    size: int,
    filters: int,
    kernel: int,
    stride: int,
    pad: int,
    unsigned: bool,
) -> None:
    """Neighbouring pixels share vectors if they are a multiple of 16 bytes apart."""
    map = (1, groups * channels, size, size + 1)
    layer = Shape(map, groups * filters, kernel, stride, min(pad, kernel - 1), groups)
    loops_of(replace(layer, unsigned=unsigned))


WIDE = Shape((1, 8, 7, 11), 10)
PIXELS = {
    "8 channels": WIDE,
    "8 channels, unsigned": replace(WIDE, unsigned=True, points=(3, 5)),
    "8 channels into a concatenation": replace(WIDE, joined=5),
    "one column of a concatenation": replace(WIDE, input=(1, 8, 17, 1), joined=3),
    "8 channels with a gap": replace(WIDE, beside=True, filters=9),
    "24 channels with a gap": replace(
        WIDE, input=(1, 24, 5, 6), beside=True, joined=3, unsigned=True, points=(3, -6)
    ),
    "8 channels, whole blocks": replace(WIDE, input=(1, 8, 6, 12), filters=7),
    "16 channels, whole blocks": replace(
        WIDE, input=(1, 16, 6, 10), filters=9, unsigned=True, points=(3, 5)
    ),
    "16 channels, one scale": replace(WIDE, input=(1, 16, 2, 4), one_scale=True),
    "16 channels, steps of two": replace(WIDE, input=(2, 16, 7, 15), stride=2),
    "16 channels, steps of two, aside": replace(
        WIDE, input=(1, 16, 7, 15), filters=8, stride=2, aside=True
    ),
    "16 channels, outputs far apart": replace(WIDE, input=(1, 16, 2, 6), filters=8, joined=90),
    "12 channels": replace(WIDE, input=(1, 12, 7, 11), filters=11, points=(5, 7)),
    "16 channels": replace(WIDE, input=(1, 16, 7, 11), filters=9),
    "24 channels": replace(WIDE, input=(1, 24, 7, 11), filters=13),
    "32 channels, one scale": replace(WIDE, input=(2, 32, 5, 6), one_scale=True),
    "48 channels, a residual": replace(WIDE, input=(1, 48, 5, 5), residual=True, filters=18),
    "56 channels": replace(WIDE, input=(1, 56, 6, 9), filters=19, points=(-3, -3)),
    "64 channels": replace(WIDE, input=(1, 64, 5, 5), filters=18),
}
ROWS = {
    "24 channels": replace(WIDE, input=(1, 24, 9, 11)),
    "32 channels, steps of two": replace(WIDE, input=(1, 32, 15, 23), stride=2, joined=3),
    "40 channels, unsigned": replace(
        WIDE, input=(1, 40, 8, 12), filters=9, unsigned=True, points=(3, -6)
    ),
    "64 channels, a residual": replace(WIDE, input=(1, 64, 9, 11), filters=8, residual=True),
    "136 channels, one scale": replace(
        WIDE, input=(1, 136, 7, 11), filters=9, one_scale=True, joined=5
    ),
    "240 channels with a gap": replace(WIDE, input=(1, 240, 7, 10), filters=9, beside=True),
    "one pixel": replace(WIDE, input=(1, 96, 1, 1)),
}
RUNS = {
    "65 channels": replace(WIDE, input=(1, 65, 5, 5)),
    "250 channels": replace(WIDE, input=(1, 250, 4, 5)),
    "272 channels": replace(WIDE, input=(1, 272, 4, 5)),
    "3x3, 16 channels": Shape((1, 16, 8, 9), 6, 3, pad=1),
    "3x3, 32 channels": Shape((1, 32, 8, 9), 6, 3, pad=1),
    "3x3, 8 channels, steps of two": Shape((1, 8, 11, 13), 6, 3, 2, pad=1),
    "3x3, 32 channels, a residual": Shape((1, 32, 6, 7), 3, 3, residual=True),
    "3x3, 16 channels, a residual beside columns": Shape(
        (1, 16, 6, 7), 16, 3, pad=1, residual=True, itself=True, aside=True
    ),
    "3x3, 32 channels, a residual by steps": Shape(
        (1, 32, 6, 7), 8, 3, residual=True, ends=(0.037, 0.051, 0.022)
    ),
}
APART = {
    "8 channels, one pixel": Shape((1, 8, 1, 1), 34, points=(3, 5)),
    "13 channels, one pixel, unsigned": Shape((1, 13, 1, 1), 40, unsigned=True),
    "8 channels, a residual": Shape((1, 8, 9, 11), 16, points=(3, 5), residual=True),
    "12 channels, a residual, unsigned": Shape(
        (1, 12, 9, 11), 17, points=(-5, 7), residual=True, unsigned=True
    ),
    "8 channels, a residual beside a concatenation": Shape(
        (1, 8, 18, 22), 8, points=(3, 5), residual=True, itself=True, joined=8
    ),
    "8 channels, a residual by steps": Shape(
        (1, 8, 9, 11), 16, points=(3, 5), residual=True, ends=(0.037, 0.051, 0.022)
    ),
    "12 channels, a residual, large first values": Shape((1, 12, 9, 11), 16, residual=True),
}
"""Few channels, whose pixels have vectors of their own."""
ALL = PIXELS | APART | {f"rows, {name}": shape for name, shape in ROWS.items()} | RUNS
SLOW = pytest.mark.slow
FAST = (
    "rows, 40 channels, unsigned",
    "rows, one pixel",
    "8 channels, whole blocks",
    "8 channels, a residual by steps",
    "48 channels, a residual",
    "3x3, 16 channels",
)


@pytest.mark.parametrize("name", PIXELS)
def test_pixels_stay_in_registers(name: str) -> None:
    """Pixels are loaded in front of the loop over filters, weights from pointers inside of it."""
    text = loops_of(PIXELS[name])
    before, _, behind = text.partition("scf.for %oc")
    assert before.count("mve.load %x") + before.count("mve.load %ifm") >= 3
    assert "mve.load %run" in behind


@pytest.mark.parametrize("name", PIXELS)
def test_sixteen_outputs_are_stored_at_once(name: str) -> None:
    """Those of two pairs of filters, or of two filters, that lie within 256 bytes."""
    text, channels = loops_of(PIXELS[name]), PIXELS[name].input[1]
    near = channels <= 16 and name != "16 channels, outputs far apart"
    assert ("mve.scatter_bytes" in text) == near
    assert ("in_place" in text) == near
    assert ("mve.narrow_bytes %" in text) == near
    assert ("unsigned : vector<8xi16>" in text) == (near and PIXELS[name].unsigned)


@pytest.mark.parametrize("name", ROWS)
def test_pairs_of_pixels_are_multiplied_with_rows_of_a_table(name: str) -> None:
    text = loops_of(ROWS[name])
    assert ("mve.pack" in text) == (ROWS[name].input[1] > 48 and name != "one pixel")
    assert ("first 8" in text) == (ROWS[name].input[1] % 16 == 8)
    assert ("mve.mul_rows" in text) == (name != "one pixel")
    assert ("mve.mul_runs" in text) == (name == "one pixel")
    assert "mve.mul_across" not in text
    assert "starts" not in text


@pytest.mark.parametrize("name", [name for name in ALL if "a residual beside" in name])
def test_a_residual_may_have_other_distances_than_the_output(name: str) -> None:
    """Pixels of the output have gaps, or its rows have."""
    loops = loops_of(ALL[name])
    assert "mve.fma_scalar" in loops
    assert "arith.divf" not in loops


@pytest.mark.parametrize("name", APART)
def test_pixels_without_neighbours_have_vectors_of_their_own(name: str) -> None:
    """Pairs of them are multiplied with rows; a vector of two pixels has no idle lanes."""
    text, shape = loops_of(APART[name]), APART[name]
    assert "mve.mul_rows" in text
    assert "mve.mul_lanes" not in text
    assert ("mve.set_word" in text) == (shape.input[1] <= 12 and shape.points[0] > -128)
    assert f"first {shape.input[1]}" in text


def test_rows_with_idle_lanes_have_first_values_there() -> None:
    """Words that are used lie closer; without idle lanes, first values are added to sums."""
    near = replace(WIDE, points=(3, 5))
    some, all_ = (loops_of(replace(near, input=(1, channels, 9, 11))) for channels in (34, 32))
    assert re.search(r"mve\.set_word %\w+\[1\]", some)
    assert "rows 4 tail 2 : " in some
    assert "rows 4 biased : " in all_


@pytest.mark.parametrize(
    "shape",
    [
        replace(WIDE, input=(1, 16, 6, 14), stride=2, pad=1),
        replace(WIDE, input=(1, 16, 6, 8), pad=1),
        replace(WIDE, input=(1, 12, 7, 15), stride=2),
        replace(WIDE, input=(1, 24, 15, 23), stride=2),
        replace(WIDE, input=(1, 32, 6, 11), groups=2, stride=2),
    ],
)
def test_pixels_of_rows_are_on_the_map_and_have_whole_vectors(shape: Shape) -> None:
    """No padding, no groups, and nothing is loaded behind the last pixel."""
    loops = loops_of(shape)
    assert "mve.mul_lanes" not in loops
    assert "mve.mul_rows" not in loops


@pytest.mark.parametrize("channels", [32, 256])
def test_rows_are_for_layers_that_are_worth_the_code(channels: int) -> None:
    """Few outputs, and too many vectors."""
    assert "mve.mul_rows" not in loops_of(replace(WIDE, input=(1, channels, 4, 5)))
    assert ("mve.mul_rows" in loops_of(replace(WIDE, input=(1, channels, 9, 11)))) == (
        channels == 32
    )


WHOLE = [name for name in PIXELS if name.startswith("8 ch") or name.startswith("16 ch")]


@pytest.mark.parametrize("name", WHOLE)
def test_one_table_has_all_constants_where_no_pixels_are_left(name: str) -> None:
    apart = ("8 channels", "16 channels", "8 channels, unsigned", "8 channels with a gap")
    text, whole = loops_of(PIXELS[name]), name not in (*apart, "8 channels into a concatenation")
    assert "mve.mul_lanes" in text
    assert ("dsp.load_pair" in text) == whole
    assert ("starts" in text) == (not whole)


@pytest.mark.parametrize("name", RUNS)
def test_others_are_runs_in_blocks(name: str) -> None:
    """Few outputs of many channels, and larger windows.

    Too many channels, and sums to which another map is added in planes, have chunks. Those of the
    latter are of two pixels that share vectors.
    """
    loops, chunks = loops_of(RUNS[name]), name in ("272 channels", "3x3, 32 channels, a residual")
    assert ("mve.mul_runs" in loops) == (not chunks)
    assert ("mve.mla_across" in loops) == chunks


@pytest.mark.parametrize("name", [n if n in FAST else pytest.param(n, marks=SLOW) for n in ALL])
def test_host(name: str) -> None:
    """C with sanitizers, in a poisoned arena between fences."""
    check_host(*on_buffers(ALL[name]))


@SLOW
@pytest.mark.parametrize("level", ["-O2", "-O3"])
@pytest.mark.parametrize("name", ALL)
def test_helium(name: str, level: str, tmp_path: Path) -> None:
    """The instructions on the emulated Cortex-M55."""
    check_core(*on_buffers(ALL[name]), level, tmp_path)


SHORT = Road("cortex-m55", "flash=small")


@pytest.mark.parametrize(
    ("shape", "has"),
    [
        (RUNS["272 channels"], False),
        (RUNS["3x3, 16 channels"], False),
        (PIXELS["16 channels"], False),
        (replace(PIXELS["16 channels"], input=(1, 16, 6, 10)), True),
        (PIXELS["8 channels"], False),
    ],
)
def test_short_code_is_that_of_whole_blocks_only(shape: Shape, has: bool) -> None:
    """Where flash is short, runs have no chunks, and no pixels are left behind blocks."""
    module, layers = on_buffers(shape)
    inputs, loops = random_inputs(module, 5), lowered(layers, SHORT)
    (wanted,) = run_function(module, None, inputs)
    np.testing.assert_array_equal(run_function(loops, None, inputs)[0], wanted)
    assert ("mve.mul_lanes" in str(loops)) == has


@pytest.mark.parametrize("name", ["272 channels", "250 channels", "3x3, 32 channels"])
def test_short_code_has_loops_over_single_vectors(name: str) -> None:
    """Elsewhere, chunks of several vectors are loaded from a pointer of their own."""
    layers = on_buffers(RUNS[name])[1]
    assert "step %c16 iter_args" in (loops := str(lowered(layers, SHORT)))
    assert "dsp.opaque" not in loops


def test_short_code_has_single_pixels_where_pairs_leave_one() -> None:
    """Of 125 pixels of 64 channels, four vectors each; 126 are in pairs."""
    shape = replace(WIDE, input=(1, 64, 25, 5), filters=8)
    odd = str(lowered(on_buffers(shape)[1], SHORT))
    assert "mve.mul_rows" not in odd
    assert "dsp.opaque %run" in odd
    even = lowered(on_buffers(replace(shape, input=(1, 64, 18, 7)))[1], SHORT)
    assert "mve.mul_rows" in str(even)


def test_other_machines_have_no_vectors() -> None:
    assert "mve." not in str(lowered(on_buffers(WIDE)[1], DSP))
    assert "mve." in str(lowered(on_buffers(WIDE)[1], VECTORS))
