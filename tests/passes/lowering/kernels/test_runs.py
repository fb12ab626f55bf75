"""Layers of long runs of bytes on vectors, in blocks or not: random shapes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, TensorType, i8, i32

from helpers.kernel_chains import ChainMaker
from helpers.kernel_roads import VECTORS, Road, lowered, placed
from helpers.vector_depthwise import check_core, check_host, check_loops
from npu_dialect.npu import (
    Conv2dOp,
    FullyConnectedOp,
    MaxPool2dOp,
    PoolAttr,
    RequantizeAttr,
    TransposeOp,
)
from npu_dialect.npu.enums import Overlap
from npu_dialect.npu.epilogue import Epilogue
from npu_dialect.npu.quantization import ui8
from npu_passes.lowering.kernels.unit import FLIPPED
from npu_plans.kernels.chunks import REACH
from npu_plans.kernels.gathers import BYTES


@dataclass(frozen=True)
class Shape:
    """A convolution of a map [N, C, H, W] with channels last; `pads`: top, left, bottom, right.

    `connected`: it is a fully connected layer of N rows of C numbers. `mode`: how its sums are
    requantised. `folds`: outputs are folded into the windows of the pool.
    """

    input: tuple[int, int, int, int]
    filters: int
    kernel: tuple[int, int] = (1, 1)
    strides: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    groups: int = 1
    points: tuple[int, int] = (-128, 5)
    unsigned: bool = False
    connected: bool = False
    mode: str = "float"
    pool: PoolAttr | None = None
    folds: bool = False
    dilations: tuple[int, int] = (1, 1)


def network(shape: Shape) -> ModuleOp:
    """The layer, and nothing else."""
    maker, element = ChainMaker(Random(1)), ui8 if shape.unsigned else i8
    images, channels, height, width = shape.input
    scales = maker.numbers.uniform(0.0002, 0.002, shape.filters).astype("float32").tolist()
    flip = FLIPPED * shape.unsigned
    sizes = (shape.filters, channels // shape.groups, *(() if shape.connected else shape.kernel))
    weights = maker.constant(maker.numbers.integers(-128, 128, sizes), i8)
    bias = maker.constant(maker.numbers.integers(-999, 999, shape.filters), i32)
    points = (shape.points[0] + flip, 0)
    requantize = RequantizeAttr.of(scales, shape.points[1] + flip, shape.mode)
    overlap = Overlap.ACCUMULATE if shape.folds else None
    epilogue, kind = Epilogue(requantize, pool=shape.pool, overlap=overlap), TensorType
    if shape.connected:
        x = maker.argument(element, (images, channels))
        layer = FullyConnectedOp(
            x, weights, bias, kind(element, []), zero_points=points, epilogue=epilogue
        )
        return maker.finished(maker.add(maker.named(layer), element))
    given_ = maker.argument(element, (images, height, width, channels))
    x = maker.add(TransposeOp(given_, (0, 3, 1, 2), kind(element, [])), element)
    layer = Conv2dOp(
        x,
        weights,
        bias,
        kind(element, []),
        strides=shape.strides,
        pads=shape.pads,
        dilations=shape.dilations,
        groups=shape.groups,
        zero_points=points,
        epilogue=epilogue,
    )
    y = maker.add(maker.named(layer), element)
    if shape.folds:  # a layer reads the output, so channels are last there, too
        copy = MaxPool2dOp(y, PoolAttr.of("max", (1, 1), (1, 1)), kind(element, []))
        y = maker.add(maker.named(copy), element)
    return maker.finished(y)


def on_buffers(shape: Shape) -> tuple[ModuleOp, ModuleOp]:
    """The network, and its layers on buffers."""
    module = network(shape)
    module.verify()
    return module, placed(module)


def loops_of(shape: Shape) -> str:
    """The loops of a network, which give its bits."""
    return check_loops(*on_buffers(shape))


def lengths(loops: str) -> list[int]:
    """The bytes behind each pointer of its own, in order."""
    return [int(each) for each in re.findall(r"dsp\.opaque %run\w* : memref<(\d+)xu?i8", loops)]


def extents(shape: Shape) -> tuple[int, int]:
    """The rows and columns of the convolution, without a pool."""
    top, left, bottom, right = shape.pads
    height, width = shape.input[2] + top + bottom, shape.input[3] + left + right
    down, across = (
        (kernel - 1) * dilation + 1
        for kernel, dilation in zip(shape.kernel, shape.dilations, strict=True)
    )
    return (height - down) // shape.strides[0] + 1, (width - across) // shape.strides[1] + 1


def fits(shape: Shape) -> bool:
    """Whether the windows fit into the map and its padding, and those of a pool onto outputs."""
    found = extents(shape)
    if min(found) < 1 or shape.pool is None:
        return min(found) >= 1
    return min(axis.outputs for axis in shape.pool.axes(*found)) >= 1


def in_groups(shape: Shape, groups: int) -> Shape:
    """The same convolution of several groups."""
    images, channels, height, width = shape.input
    input = (images, channels * groups, height, width)
    return replace(shape, input=input, filters=shape.filters * groups, groups=groups)


TWO, THREE, PAD = st.integers(1, 2), st.integers(1, 3), st.integers(0, 2)
CHANNELS = st.one_of(st.integers(8, 80), st.sampled_from((8, 16, 32, 48, 64, 80)))
POOLS = [
    PoolAttr.of("max", (2, 2), (2, 2)),
    PoolAttr.of("max", (3, 1), (2, 1)),
    PoolAttr.of("max", (1, 3), (1, 3)),
]
OVERLAPPING = [
    PoolAttr.of("max", (3, 3), (2, 2), (1, 1, 1, 1)),
    PoolAttr.of("max", (2, 3), (1, 2)),
    PoolAttr.of("max", (3, 3), (2, 1), (0, 1, 1, 0)),
    PoolAttr.of("max", (3, 4), (2, 3)),
]
ENDS = st.sampled_from((-128, -3, 0, 4, 127))
CONVOLUTIONS = st.builds(
    in_groups,
    st.builds(
        Shape,
        st.tuples(TWO, CHANNELS, st.integers(1, 7), st.integers(1, 9)),
        st.integers(1, 9),
        st.tuples(THREE, THREE),
        st.tuples(TWO, TWO),
        st.tuples(PAD, PAD, PAD, PAD),
        points=st.tuples(ENDS, ENDS),
        unsigned=st.booleans(),
        mode=st.sampled_from(("float", "float", "float", "fixed")),
        pool=st.sampled_from((None, *POOLS)),
        dilations=st.tuples(TWO, TWO),
    ).filter(fits),
    TWO,
)
CONNECTED = st.builds(
    Shape,
    st.tuples(st.integers(1, 3), st.integers(8, 600), st.just(1), st.just(1)),
    st.integers(1, 9),
    points=st.tuples(ENDS, ENDS),
    unsigned=st.booleans(),
    connected=st.just(True),
)


@settings(deadline=None, max_examples=40)
@given(CONVOLUTIONS)
def test_convolutions_give_the_bits_of_the_layer(shape: Shape) -> None:
    loops_of(shape)


LINES = st.builds(
    in_groups,
    st.builds(
        Shape,
        st.tuples(
            st.just(1),
            st.sampled_from((16, 24, 32, 40, 48, 64)),
            st.integers(1, 2),
            st.integers(1, 9),
        ),
        st.integers(1, 5),
        st.tuples(st.just(1), st.integers(3, 11)),
        st.tuples(st.just(1), TWO),
        st.tuples(st.just(0), st.integers(0, 5), st.just(0), st.integers(0, 5)),
        points=st.tuples(ENDS, ENDS),
        unsigned=st.booleans(),
        pool=st.sampled_from((None, None, POOLS[2])),
    ).filter(fits),
    st.sampled_from((1, 1, 2)),
)
"""Kernels of one row, so long that it is multiplied in parts; padding cuts most of some windows."""


@settings(deadline=None, max_examples=40)
@given(LINES)
def test_kernels_of_one_long_row_give_the_bits_of_the_layer(shape: Shape) -> None:
    loops_of(shape)


@settings(deadline=None, max_examples=20)
@given(CONNECTED)
def test_connected_layers_give_the_bits_of_the_layer(shape: Shape) -> None:
    loops_of(shape)


FOLDS = st.builds(
    replace,
    CONVOLUTIONS,
    input=st.tuples(TWO, CHANNELS, st.integers(3, 9), st.integers(3, 19)),
    filters=st.integers(1, 18),
    groups=st.just(1),
    pool=st.sampled_from(OVERLAPPING),
    folds=st.just(True),
).filter(fits)


@settings(deadline=None, max_examples=40)
@given(FOLDS)
def test_folded_outputs_give_the_bits_of_the_layer(shape: Shape) -> None:
    loops_of(shape)


@pytest.mark.parametrize(
    ("filters", "columns", "strides", "straight"),
    [
        (16, 32, (2, 2), True),
        (32, 32, (2, 2), False),
        (16, 8, (2, 2), False),
        (16, 32, (2, 3), True),
    ],
)
def test_filters_are_folded_together(
    filters: int, columns: int, strides: tuple[int, int], straight: bool
) -> None:
    """The windows of a pair are known if they move by its steps; straight code pays if it is used.

    Then the two windows of a pair take turns in the lanes: in bytes where there is straight code.
    """
    pool = PoolAttr.of("max", (3, 3), strides, (1, 1, 1, 1))
    shape = Shape((1, 32, 8, columns), filters, pool=pool, folds=True)
    loops = loops_of(shape)
    pairs = loops[loops.index("scf.for %ox") :]
    assert ("scf.for %px" not in pairs) == (strides == (2, 2))
    found = re.split(r"scf\.for %py|scf\.if", pairs)[0]  # up to the windows of the first pairs
    assert ("scf.for %oc" not in found) == straight
    assert (f"reach {filters + 8} " in pairs) == (straight and strides == (2, 2))
    assert (f"reach {filters + 4} " in pairs) == (not straight)


TWICE = Shape((1, 16, 6, 9), 6, (3, 3), pads=(1, 1, 1, 1))
KINDS = {
    "3x3, 16 channels": TWICE,
    "3x3, 32 channels, unsigned": replace(TWICE, input=(1, 32, 6, 7), unsigned=True),
    "5x5, 8 channels, steps of two": replace(
        TWICE, input=(1, 8, 11, 13), kernel=(5, 5), strides=(2, 2), pads=(2, 2, 2, 2)
    ),
    "2x2, 80 channels in each of two groups": replace(
        TWICE, input=(2, 160, 4, 5), kernel=(2, 2), groups=2, pads=(0, 1, 1, 0)
    ),
    "1x1, 256 channels": Shape((1, 256, 3, 5), 7),
    "connected, 400": Shape((1, 400, 1, 1), 7, connected=True),
    "connected, 500, three rows": Shape((3, 500, 1, 1), 5, unsigned=True, connected=True),
    "3x3, 24 channels": Shape((1, 24, 6, 8), 7, (3, 3), (1, 2)),
    "5x5, 32 channels, pooled": Shape(
        (1, 32, 9, 10), 5, (5, 5), pads=(2, 2, 2, 2), pool=PoolAttr.of("max", (2, 2), (2, 2))
    ),
    "3x5, 6 channels, pooled": Shape(
        (2, 6, 8, 11), 8, (3, 5), unsigned=True, pool=PoolAttr.of("max", (3, 3), (2, 2))
    ),
    "2x4, 16 channels, two groups": Shape(
        (1, 32, 5, 9), 12, (2, 4), (1, 3), (0, 1, 1, 2), groups=2
    ),
    "3x3, 20 channels, steps of two": Shape(
        (1, 20, 7, 11), 9, (3, 3), (2, 2), (1, 1, 1, 1), unsigned=True
    ),
    "5x5, 8 channels, on all of the map": Shape((1, 8, 4, 3), 6, (5, 3), pads=(2, 1, 2, 1)),
    "5x3, 16 channels in each of two groups, dilation": Shape(
        (1, 32, 12, 11), 10, (5, 3), pads=(4, 2, 4, 2), groups=2, dilations=(2, 2)
    ),
    "3x3, 12 channels in each of three groups, unsigned": Shape(
        (1, 36, 6, 8), 15, (3, 3), (2, 1), (1, 1, 1, 1), groups=3, unsigned=True
    ),
    "1x3, 24 channels, dilation of seven": Shape((1, 24, 3, 19), 5, (1, 3), dilations=(1, 7)),
    "1x1, 32 channels, folded": Shape(
        (1, 32, 9, 15),
        13,
        pool=PoolAttr.of("max", (3, 3), (2, 2), (1, 1, 1, 1)),
        folds=True,
        points=(3, -5),
    ),
    "3x3, 16 channels, folded, unsigned": replace(
        TWICE, pool=PoolAttr.of("max", (3, 3), (2, 2)), folds=True, unsigned=True, filters=16
    ),
    "2x1, 130 channels": Shape((1, 130, 4, 3), 3, (2, 1), pads=(1, 0, 1, 0)),
}
WITHOUT_VECTORS = {name: replace(shape, mode="fixed") for name, shape in KINDS.items()}
"""The same layers, whose sums are requantised one by one."""
SLOW = pytest.mark.slow
FAST = ("3x3, 16 channels", "3x5, 6 channels, pooled", "connected, 400")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("3x3, 16 channels", {64, 48}),
        ("3x3, 32 channels, unsigned", {128, 96}),
        ("5x5, 8 channels, steps of two", {48, 32}),
        ("2x2, 80 channels in each of two groups", {80}),
        ("1x1, 256 channels", {240, 16}),
        ("connected, 400", {240, 160}),
        ("connected, 500, three rows", {240, 16}),
    ],
)
def test_chunks_have_pointers_of_their_own(name: str, wanted: set[int]) -> None:
    """Bytes of the pixels of a chunk, and of each filter's weights."""
    found = lengths(loops_of(WITHOUT_VECTORS[name]))
    assert set(found) == wanted
    assert max(found) <= REACH


def inner_loads(loops: str) -> list[str]:
    """The loads of the first chunk that has pointers of its own, in order: of which and where."""
    begin = loops.index("dsp.opaque %run")
    end = loops.index("scf.yield", begin)
    return re.findall(r"mve\.load (%run\w*)\[%c(\d+)\]", loops[begin:end])


def test_a_vector_that_two_pixels_need_is_loaded_once() -> None:
    """Four vectors of two kernel rows of 48 bytes, and three of each of two filters."""
    loads = inner_loads(loops_of(WITHOUT_VECTORS["3x3, 16 channels"]))
    places = dict[str, list[int]]()
    for buffer, place in loads:
        places.setdefault(buffer, []).append(int(place))
    pixels, *filters = places.values()
    assert pixels == [each * BYTES for each in range(4)]
    assert filters == [[each * BYTES for each in range(3)]] * 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Shape((1, 79, 1, 1), 5, connected=True, mode="fixed"), 272),
        (replace(TWICE, kernel=(1, 3), input=(1, 24, 3, 9), pads=(0,) * 4, mode="fixed"), 16),
    ],
)
def test_up_to_four_vectors_have_no_pointers(one: Shape, other: int) -> None:
    """Those of a longer run do, and those that neighbours share. `other`: so many channels do."""
    assert lengths(loops_of(one)) == []
    images, _, height, width = one.input
    assert lengths(loops_of(replace(one, input=(images, other, height, width))))


def test_the_last_pixel_of_a_pooled_window_reads_whole_rows() -> None:
    """It is alone behind two pixels. Loads of its taps, of 4 bytes, would read on."""
    pool = PoolAttr.of("max", (3, 3), (1, 2))
    loops_of(Shape((1, 4, 13, 15), 16, (7, 7), (2, 2), (0, 1, 0, 0), pool=pool, mode="fixed"))


def runs_of(loops: str) -> list[tuple[str, ...]]:
    """Of each op its results, its rows, the bytes of its runs, and how far apart pixels are."""
    found = r"(%\w+(?:, %\w+)?) = mve\.mul_runs .* rows (%\w+) run (\d+) apart (\d+)"
    return re.findall(found, loops)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("3x3, 16 channels", {(2, 48, 16), (1, 32, 0), (1, 48, 0)}),
        ("3x3, 32 channels, unsigned", {(2, 96, 32), (1, 64, 0), (1, 96, 0)}),
        ("1x1, 256 channels", {(2, 128, 256), (1, 128, 0)}),  # in two parts
        ("connected, 400", {(1, 80, 0)}),  # in five
        ("3x3, 24 channels", {(2, 72, 48), (1, 72, 0)}),
        ("5x5, 32 channels, pooled", {(2, 160, 32), (1, 128, 0), (1, 96, 0)}),
        ("3x5, 6 channels, pooled", {(2, 30, 6), (1, 30, 0)}),
        ("2x1, 130 channels", {(2, 130, 130), (1, 130, 0)}),
        ("5x3, 16 channels in each of two groups, dilation", {(2, 16, 32), (1, 16, 0)}),
        ("3x3, 12 channels in each of three groups, unsigned", {(2, 12, 36), (1, 12, 0)}),
        ("1x3, 24 channels, dilation of seven", {(2, 24, 24), (1, 24, 0)}),
        ("3x3, 20 channels, steps of two", {(2, 60, 40), (1, 48, 0), (1, 40, 0)}),
        ("5x5, 8 channels, on all of the map", {(1, 24, 0), (1, 32, 0), (1, 16, 0)}),
    ],
)
def test_blocks_of_two_pixels_by_four_filters(name: str, wanted: set[tuple[int, ...]]) -> None:
    """The results of each op, the bytes of its runs, and those from a pixel to the next one."""
    loops = loops_of(KINDS[name])
    found = {(len(a.split(",")), int(b), int(c)) for a, _, b, c in runs_of(loops)}
    assert found == wanted
    assert "mve.mla_across" not in loops


@pytest.mark.parametrize(
    "shape",
    [
        replace(TWICE, input=(1, 24, 6, 2), kernel=(5, 5), pads=(2,) * 4),  # cut at both sides
        replace(TWICE, input=(1, 96, 6, 9)),  # too much code
        replace(TWICE, kernel=(1, 9), pads=(0, 6, 0, 6)),  # too many borders with code of their own
        replace(TWICE, pads=(4, 0, 0, 0)),  # a window on nothing but padding
        replace(KINDS["1x1, 256 channels"], input=(1, 272, 3, 5)),  # no parts of seventeen vectors
        replace(TWICE, mode="fixed"),
    ],
)
def test_other_layers_have_no_blocks(shape: Shape) -> None:
    assert "mve.mul_runs" not in loops_of(shape)


def test_small_code_has_no_blocks() -> None:
    """They take more code than loops over runs."""
    _, module = on_buffers(TWICE)
    assert "mve.mul_runs" in str(lowered(module, VECTORS))
    assert "mve.mul_runs" not in str(lowered(module, Road("cortex-m55", "flash=small")))


@pytest.mark.parametrize(
    "name",
    [n if n in FAST else pytest.param(n, marks=SLOW) for n in KINDS],
)
def test_host(name: str) -> None:
    """C with sanitizers, in a poisoned arena between fences."""
    check_host(*on_buffers(KINDS[name]))


@SLOW
@pytest.mark.parametrize("name", WITHOUT_VECTORS)
def test_host_without_vectors_of_outputs(name: str) -> None:
    check_host(*on_buffers(WITHOUT_VECTORS[name]))


@SLOW
@pytest.mark.parametrize("level", ["-O1", "-O3"])
@pytest.mark.parametrize("name", KINDS)
def test_helium(name: str, level: str, tmp_path: Path) -> None:
    """The instructions on the emulated Cortex-M55."""
    check_core(*on_buffers(KINDS[name]), level, tmp_path)


@SLOW
@pytest.mark.parametrize("name", WITHOUT_VECTORS)
def test_helium_without_vectors_of_outputs(name: str, tmp_path: Path) -> None:
    check_core(*on_buffers(WITHOUT_VECTORS[name]), "-O3", tmp_path)
