"""Dense layers whose words stay half packed: random shapes without padding, weights at the ends."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import starmap
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, TensorType, i8, i32

from helpers.kernel_chains import ChainMaker
from helpers.kernel_roads import DSP, lowered, placed
from npu_dialect.interpreters import run_function
from npu_dialect.npu import Conv2dOp, MaxPool2dOp, PoolAttr, RequantizeAttr
from npu_dialect.npu.epilogue import Epilogue
from npu_dialect.npu.quantization import ui8
from npu_tools.compiling.check import random_inputs

COPY = PoolAttr.of("max", (1, 1), (1, 1))
FLIPS = ("8388736 : i32", "-2147450880 : i32")
"""The constants whose bits are flipped, of int8 and of uint8."""


@dataclass(frozen=True)
class Shape:
    """A convolution: its input [N, C, H, W], filters a group, kernel, strides; `least` weight."""

    input: tuple[int, int, int, int]
    groups: int
    filters: int
    kernel: tuple[int, int]
    strides: tuple[int, int]
    padding: int
    pool: int
    unsigned: bool
    point: int
    least: int


SHAPES = st.builds(
    Shape,
    st.tuples(*starmap(st.integers, ((1, 2), (4, 11), (3, 6), (3, 7)))),
    st.integers(1, 2),
    st.integers(1, 6),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
    st.sampled_from((0, 0, 0, 1)),
    st.sampled_from((1, 1, 2)),
    st.booleans(),
    st.sampled_from((0, 3, 100)),
    st.sampled_from((-127, -127, -128)),
)


def network(shape: Shape) -> ModuleOp:
    """The convolution between two layers that copy."""
    maker = ChainMaker(Random(0))
    element = ui8 if shape.unsigned else i8
    images, channels, *extent = shape.input
    x = maker.argument(element, (images, channels * shape.groups, *extent))
    x = maker.add(maker.named(MaxPool2dOp(x, COPY, TensorType(element, []))), element)
    filters = shape.filters * shape.groups
    weights = maker.numbers.integers(shape.least, 128, (filters, channels, *shape.kernel))
    weights.flat[::3] = maker.numbers.choice((shape.least, 127), weights.flat[::3].shape)
    scales = maker.numbers.uniform(0.0005, 0.002, filters).astype(np.float32)
    pool = PoolAttr.of("max", (shape.pool, shape.pool), (shape.pool, shape.pool))
    layer = Conv2dOp(
        x,
        maker.constant(weights, i8),
        maker.constant(maker.numbers.integers(-999, 999, filters), i32),
        TensorType(element, []),
        strides=shape.strides,
        pads=(shape.padding,) * 4,
        groups=shape.groups,
        zero_points=(shape.point, 0),
        epilogue=Epilogue(
            RequantizeAttr.of(scales.tolist(), 9), pool=pool if shape.pool > 1 else None
        ),
    )
    y = maker.add(maker.named(layer), element)
    end = MaxPool2dOp(y, COPY, TensorType(element, []))
    return maker.finished(maker.add(maker.named(end), element))


def fits(shape: Shape) -> bool:
    """Whether a pooling window fits into the outputs."""
    return all(
        (extent + 2 * shape.padding - kernel) // stride + 1 >= shape.pool
        for extent, kernel, stride in zip(shape.input[2:], shape.kernel, shape.strides)
    )


@settings(deadline=None, max_examples=50)
@given(SHAPES.filter(fits))
def test_loops_give_the_bits_of_the_layer(shape: Shape) -> None:
    module = network(shape)
    inputs = random_inputs(module, 5)
    (wanted,) = run_function(module, None, inputs)
    loops = lowered(placed(module), DSP)
    np.testing.assert_array_equal(run_function(loops, None, inputs)[0], wanted)
    flips = FLIPS[shape.unsigned] in str(loops)
    if shape.padding:
        assert not flips
    elif shape.least > -128:
        assert flips
