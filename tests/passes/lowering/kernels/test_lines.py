"""Depthwise convolutions over lines: random shapes, in strips, beside their input and in place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import starmap
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType, i8, i16, i32
from xdsl.rewriter import InsertPoint, Rewriter

from helpers.kernel_chains import ChainMaker
from helpers.kernel_roads import BYTES, DSP, Road, lowered
from helpers.pipeline import context, run_passes
from npu_dialect.interpreters import run_function
from npu_dialect.npu import Conv2dOp, MaxPool2dOp, PoolAttr, RequantizeAttr
from npu_dialect.npu.attributes import SramSpace
from npu_dialect.npu.epilogue import Epilogue
from npu_dialect.npu.quantization import ui8
from npu_dialect.sram import AllocOp
from npu_dialect.walking import walk_kind
from npu_dialect.windows import Axis
from npu_passes.support.refuse import Refusal
from npu_plans.kernels.line_plan import LinePlan
from npu_tools.compiling.check import random_inputs

COPY = PoolAttr.of("max", (1, 1), (1, 1))


@dataclass(frozen=True)
class Shape:
    """A depthwise convolution: its input [N, C, H, W], its kernel, and filters for a channel."""

    input: tuple[int, int, int, int]
    multiplier: int
    kernel: tuple[int, int]
    strides: tuple[int, int]
    pads: tuple[int, int, int, int]
    dilation: int
    unsigned: bool
    point: int
    strip: int
    in_place: bool


SHAPES = st.builds(
    Shape,
    st.tuples(*starmap(st.integers, ((1, 2), (4, 7), (1, 9), (1, 11)))),
    st.integers(1, 3),
    st.tuples(st.integers(1, 5), st.integers(2, 5)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(*[st.integers(0, 3)] * 4),
    st.integers(1, 2),
    st.booleans(),
    st.sampled_from((0, 3, 100)),
    st.integers(1, 9),
    st.booleans(),
)


def network(shape: Shape) -> ModuleOp:
    """The convolution between two layers that copy."""
    maker = ChainMaker(Random(0))
    element = ui8 if shape.unsigned else i8
    channels = shape.input[1]
    x = maker.argument(element, shape.input)
    x = maker.add(maker.named(MaxPool2dOp(x, COPY, TensorType(element, []))), element)
    filters = channels * shape.multiplier
    weights = maker.numbers.integers(-128, 128, (filters, 1, *shape.kernel))
    scales = maker.numbers.uniform(0.002, 0.01, filters).astype(np.float32)
    layer = Conv2dOp(
        x,
        maker.constant(weights, i8),
        maker.constant(maker.numbers.integers(-999, 999, filters), i32),
        TensorType(element, []),
        strides=shape.strides,
        pads=shape.pads,
        dilations=(shape.dilation, 1),
        groups=channels,
        zero_points=(shape.point, 0),
        epilogue=Epilogue(RequantizeAttr.of(scales.tolist(), 9)),
    )
    y = maker.add(maker.named(layer), element)
    end = MaxPool2dOp(y, COPY, TensorType(element, []))
    return maker.finished(maker.add(maker.named(end), element))


def on_buffers(shape: Shape) -> tuple[ModuleOp, ModuleOp]:
    """The network, and its layers on buffers, the convolution with a working memory."""
    module = network(shape)
    layers = run_passes(context(), module, "npu-bufferize,npu-choose-layouts")
    (layer,) = walk_kind(layers, Conv2dOp)
    plan = LinePlan(*layer.axes(), min(shape.strip, layer.axes()[0].outputs))
    give(layer, plan.elements, in_place=shape.in_place)
    layers.verify()
    places = "npu-assign-sram-offsets,npu-outline-layers"
    return module, run_passes(context(), layers, places)


def give(layer: Conv2dOp, elements: int, *, in_place: bool) -> None:
    """Give a layer a working memory; `in_place`: let it write its input if that is possible."""
    scratch = AllocOp(MemRefType(i16, [elements], memory_space=SramSpace()))
    Rewriter.insert_op(scratch, InsertPoint.before(layer))
    out, owner = layer.output, layer.output.owner
    same = layer.input.type == out.type and layer.could_gather_in_place
    Rewriter.replace_op(layer, layer.with_scratch(scratch.buffer))
    if in_place and same and isinstance(owner, AllocOp):
        out.replace_all_uses_with(layer.input)
        Rewriter.erase_op(owner)


def fits(shape: Shape) -> bool:
    """Whether a shape has outputs, and lines."""
    top, left, bottom, right = shape.pads
    rows = Axis(shape.input[2], shape.kernel[0], shape.strides[0], top, bottom, shape.dilation)
    columns = Axis(shape.input[3], shape.kernel[1], shape.strides[1], left, right)
    return LinePlan.fits(rows, columns)


@settings(deadline=None)
@given(SHAPES.filter(fits))
def test_lines_give_the_bits_of_the_layer(shape: Shape) -> None:
    module, layers = on_buffers(shape)
    inputs = random_inputs(module, 5)
    (wanted,) = run_function(module, None, inputs)
    np.testing.assert_array_equal(run_function(layers, None, inputs)[0], wanted)
    loops = lowered(layers, DSP)
    assert "dsp.smla" in str(loops)
    assert "_starts" in str(loops) or shape.point == 0
    np.testing.assert_array_equal(run_function(loops, None, inputs)[0], wanted)


PLAIN = Shape((1, 4, 5, 6), 1, (3, 3), (1, 1), (1, 1, 1, 1), 1, False, 0, 2, False)


@pytest.mark.parametrize("road", [BYTES, Road("cortex-m4", "flash=small")])
def test_other_kernels_leave_the_working_memory_alone(road: Road) -> None:
    module, layers = on_buffers(PLAIN)
    inputs = random_inputs(module, 5)
    (wanted,) = run_function(module, None, inputs)
    np.testing.assert_array_equal(run_function(lowered(layers, road), None, inputs)[0], wanted)


def test_other_kernels_do_not_run_in_place() -> None:
    in_place = replace(PLAIN, in_place=True)
    with pytest.raises(Refusal, match=r"cannot lower npu.conv2d in place"):
        lowered(on_buffers(in_place)[1], BYTES)
