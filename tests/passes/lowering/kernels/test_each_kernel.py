"""A convolution for each path through the kernels, with a zero point that is not 0."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
import pytest
from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerType, ModuleOp, TensorType, i8, i32
from xdsl.ir import SSAValue

from helpers.kernel_chains import ChainMaker
from helpers.kernel_roads import ROADS, VECTORS, Road, lowered
from helpers.pipeline import context, run_passes
from npu_dialect.interpreters import run_function
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
from npu_dialect.walking import walk_kind
from npu_tools.compiling.check import random_inputs

PLACE = (
    "npu-bufferize,npu-choose-layouts,npu-transpose-in-place,npu-assign-sram-offsets,"
    "npu-outline-layers"
)


@dataclass(frozen=True)
class Case:
    """A convolution: channels, rows and columns of its input, and its parameters."""

    input: tuple[int, int, int]
    filters: int
    kernel: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilations: tuple[int, int] = (1, 1)
    groups: int = 1
    pool: PoolAttr | None = None
    overlap: Overlap | None = None


PAIRS = PoolAttr.of("max", (2, 2), (2, 2))
TRIPLES = PoolAttr.of("max", (3, 3), (3, 3))
FOURS = PoolAttr.of("max", (4, 4), (4, 4))
OVERLAPPING = PoolAttr.of("max", (3, 3), (2, 2), (1, 1, 1, 1))
ROUND = (1, 1, 1, 1)

NARROW = "image, two pixels in less than a word"
CASES = {
    "one run": Case((8, 5, 6), 5, (3, 3)),
    "runs that overlap": Case((5, 4, 5), 4, (2, 3)),
    "padded": Case((8, 4, 5), 6, (3, 3), pads=ROUND),
    "padded, a run for each tap": Case((6, 4, 5), 5, (3, 2), (2, 1), (2, 1, 0, 1)),
    "padded above": Case((4, 3, 6), 4, (3, 1), (3, 1), (1, 0, 0, 0)),
    "dilated": Case((4, 7, 7), 4, (3, 2), (1, 2), (0, 1, 2, 0), (2, 3)),
    "pointwise": Case((8, 3, 3), 6, (1, 1)),
    "pointwise, padded above or below": Case((9, 3, 4), 7, (1, 1), pads=(1, 0, 2, 0)),
    "strided": Case((9, 3, 5), 4, (1, 1), (2, 2)),
    "pooled": Case((4, 6, 6), 5, (3, 3), pool=PAIRS),
    "pooled, padded": Case((4, 6, 6), 4, (3, 3), pads=ROUND, pool=TRIPLES),
    "pooled, overlapping": Case((8, 5, 5), 4, (1, 1), pool=OVERLAPPING, overlap=Overlap.RECOMPUTE),
    "depthwise": Case((8, 5, 7), 8, (3, 3), groups=8),
    "depthwise, padded": Case((8, 5, 6), 8, (3, 3), (2, 1), ROUND, groups=8),
    "depthwise, a wide border": Case((4, 3, 12), 4, (3, 11), (1, 1), (1, 5, 1, 5), groups=4),
    "depthwise, nothing but padding": Case((4, 3, 4), 4, (1, 3), (1, 1), (0, 3, 0, 3), groups=4),
    "depthwise, many taps": Case((4, 7, 8), 4, (6, 6), groups=4),
    "depthwise, six channels": Case((6, 5, 7), 6, (3, 3), (1, 1), ROUND, groups=6),
    "depthwise, two filters a channel": Case((5, 4, 9), 10, (3, 2), (1, 1), ROUND, groups=5),
    "depthwise, two filters of six channels, dilated": Case(
        (6, 3, 7), 12, (2, 3), (1, 1), ROUND, (2, 2), groups=6
    ),
    "depthwise, an odd number of channels": Case((7, 5, 8), 7, (3, 3), (1, 1), ROUND, groups=7),
    "depthwise, a padded row": Case((8, 2, 6), 8, (3, 3), (1, 1), (1, 1, 0, 1), groups=8),
    "depthwise, all of a row is padding": Case(
        (4, 2, 6), 4, (2, 3), (1, 1), (2, 1, 0, 1), groups=4
    ),
    "a padded row": Case((8, 2, 6), 5, (3, 3), pads=(1, 1, 0, 1)),
    "a row that is padded below": Case((8, 3, 6), 4, (5, 1), pads=(0, 0, 2, 0)),
    "a padded row, pooled": Case(
        (8, 2, 8), 4, (3, 1), pads=(1, 0, 0, 0), pool=PoolAttr.of("max", (1, 2), (1, 2))
    ),
    "a row with padding above and below": Case((8, 1, 6), 4, (3, 3), pads=ROUND),
    "groups": Case((8, 4, 5), 10, (3, 3), pads=ROUND, groups=2),
    "groups of two channels": Case((6, 4, 5), 9, (2, 3), (1, 2), ROUND, groups=3),
    "folded into windows": Case(
        (8, 5, 6), 6, (3, 3), pads=ROUND, pool=OVERLAPPING, overlap=Overlap.ACCUMULATE
    ),
    "image, folded into windows": Case(
        (2, 6, 7), 5, (3, 3), pool=OVERLAPPING, overlap=Overlap.ACCUMULATE
    ),
    "image, a filter a channel": Case((3, 5, 6), 3, (3, 3), pads=ROUND, groups=3),
    "image": Case((1, 6, 7), 5, (5, 5)),
    "image, padded": Case((3, 5, 6), 4, (3, 3), (2, 2), ROUND),
    "image, pooled": Case((1, 8, 8), 4, (3, 3), pool=TRIPLES),
    "image, pooled, padded": Case((2, 6, 6), 3, (3, 3), pads=ROUND, pool=PAIRS),
    "image, single pixels": Case((1, 4, 8), 4, (1, 1), pool=FOURS),
    "image, pixels of two": Case((3, 4, 7), 4, (2, 2), pool=TRIPLES),
    NARROW: Case((3, 4, 7), 4, (2, 2)),
    "image, nothing but padding": Case((1, 2, 6), 4, (1, 3), pads=(0, 3, 0, 3)),
}


LAST = {
    "image": Case((2, 6, 7), 5, (5, 5)),
    "single pixels": Case((3, 4, 8), 4, (1, 1), pool=FOURS),
    "one tap in a row": Case((3, 5, 5), 4, (3, 1), (1, 2), (1, 0, 1, 0)),
    "four channels": Case((4, 5, 6), 5, (3, 3), (1, 2)),
    **{name: case for name, case in CASES.items() if case.input[0] in (2, 3) and case.groups == 1},
}
"""Convolutions of an image that is given with channels last; each has a kernel."""
LAST_WITHOUT_KERNEL = {
    "dilated": Case((3, 5, 7), 4, (3, 3), dilations=(1, 2)),
    "a wide border": Case((3, 4, 12), 4, (3, 11), pads=(1, 5, 1, 5)),
    "less than a word": Case((3, 5, 1), 4, (3, 1)),
}


def around(maker: ChainMaker, x: SSAValue, element: IntegerType) -> SSAValue:
    """A layer around the convolution, so that its map has channels last and is not in place."""
    layer = MaxPool2dOp(x, PoolAttr.of("max", (1, 1), (1, 1)), TensorType(element, []))
    return maker.add(maker.named(layer), element)


def network(case: Case, element: IntegerType, *, last: bool = False) -> ModuleOp:
    """A convolution between two layers; `last`: of an input with channels last."""
    maker = ChainMaker(Random(len(str(case))))
    if last:
        channels, *extents = case.input
        given = maker.argument(element, (1, *extents, channels))
        x = maker.add(TransposeOp(given, (0, 3, 1, 2), TensorType(element, [])), element)
    else:
        x = around(maker, maker.argument(element, (1, *case.input)), element)
    weights = maker.numbers.integers(
        -128, 128, (case.filters, case.input[0] // case.groups, *case.kernel)
    )
    layer = Conv2dOp(
        x,
        maker.constant(weights, i8),
        maker.constant(maker.numbers.integers(-999, 999, case.filters), i32),
        TensorType(element, []),
        strides=case.strides,
        pads=case.pads,
        dilations=case.dilations,
        groups=case.groups,
        zero_points=(131 if element == ui8 else -7, 0),
        epilogue=Epilogue(
            RequantizeAttr.of([0.004] * case.filters, 9), pool=case.pool, overlap=case.overlap
        ),
    )
    return maker.finished(around(maker, maker.add(maker.named(layer), element), element))


def check(module: ModuleOp, *, kernel: bool, vectors: bool = False) -> None:
    """Check the results for all machines.

    `kernel`: whether weights must be packed on all of them. `vectors`: whether they must be packed
    on a machine with vectors.
    """
    module.verify()
    inputs = random_inputs(module, 5)
    (wanted,) = run_function(module, None, inputs)
    assert len(np.unique(wanted)) > 1
    layers = run_passes(context(), module, PLACE)
    assert not list(walk_kind(layers, TransposeOp))
    for road in ROADS:
        loops = lowered(layers, road)
        packed = any("_taps" in each.sym_name.data for each in walk_kind(loops, memref.GlobalOp))
        assert packed == (kernel or (vectors and road is VECTORS))
        found = run_function(loops, None, inputs)[0]
        np.testing.assert_array_equal(found, wanted, str(road))


@pytest.mark.parametrize("name", CASES)
def test_convolution(name: str) -> None:
    element = ui8 if len(name) % 2 else i8
    check(network(CASES[name], element), kernel=name != NARROW, vectors=True)


@pytest.mark.parametrize("name", LAST)
def test_image_with_channels_last(name: str) -> None:
    check(network(LAST[name], ui8 if len(name) % 2 else i8, last=True), kernel=True)


@pytest.mark.parametrize("name", LAST_WITHOUT_KERNEL)
def test_image_with_channels_last_for_the_general_loops(name: str) -> None:
    narrow = LAST_WITHOUT_KERNEL[name].kernel[1] < 10
    check(network(LAST_WITHOUT_KERNEL[name], i8, last=True), kernel=False, vectors=narrow)


@pytest.mark.parametrize(
    ("rows", "depth", "filters"),
    [
        *((1, depth, 6) for depth in (3, 4, 7, 33, 35, 37, 48)),
        *((2, 4, 8), (3, 7, 6), (5, 33, 4), (4, 3, 4)),
    ],
)
def test_fully_connected(rows: int, depth: int, filters: int) -> None:
    maker = ChainMaker(Random(depth))
    x = maker.argument(i8, (rows, depth))
    weights = maker.constant(maker.numbers.integers(-128, 128, (filters, depth)), i8)
    layer = FullyConnectedOp(
        x,
        weights,
        maker.constant(maker.numbers.integers(-999, 999, filters), i32),
        TensorType(i8, []),
        zero_points=(-7, 0),
        epilogue=Epilogue(RequantizeAttr.of([0.002] * filters, 9)),
    )
    check(maker.finished(maker.add(maker.named(layer), i8)), kernel=depth > 3)


@pytest.mark.parametrize("images", [1, 2])
def test_images_of_many_channels_in_the_layout_of_the_model(images: int) -> None:
    maker = ChainMaker(Random(images))
    x = maker.argument(i8, (images, 6, 5, 7))
    weights = maker.constant(maker.numbers.integers(-128, 128, (4, 3, 3, 3)), i8)
    bias = maker.constant(maker.numbers.integers(-999, 999, 4), i32)
    epilogue = Epilogue(RequantizeAttr.of([0.004] * 4, 9))
    layer = Conv2dOp(
        x,
        weights,
        bias,
        TensorType(i8, []),
        pads=ROUND,
        groups=2,
        zero_points=(-7, 0),
        epilogue=epilogue,
    )
    check(maker.finished(maker.add(maker.named(layer), i8)), kernel=True)


@pytest.mark.parametrize("name", ["one run", "padded", "depthwise, padded", "image"])
def test_vectors_where_flash_is_short(name: str) -> None:
    module = network(CASES[name], i8)
    inputs = random_inputs(module, 5)
    layers = run_passes(context(), module, PLACE)
    loops = lowered(layers, Road("cortex-m55", "flash=small"))
    assert "mve." in str(loops)
    (wanted,) = run_function(module, None, inputs)
    np.testing.assert_array_equal(run_function(loops, None, inputs)[0], wanted)
