"""A depthwise convolution between two layers that copy, to which tests give a working memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from xdsl.dialects.builtin import IntegerType, MemRefType, ModuleOp, TensorType, i8, i16, i32
from xdsl.rewriter import InsertPoint, Rewriter

from helpers.kernel_chains import ChainMaker
from npu_dialect.npu import Conv2dOp, MaxPool2dOp, PoolAttr, RequantizeAttr
from npu_dialect.npu.attributes import SramSpace
from npu_dialect.npu.epilogue import Epilogue
from npu_dialect.npu.pointwise import ActivationAttr
from npu_dialect.npu.quantization import ui8
from npu_dialect.sram import AllocOp
from npu_passes.lowering.kernels.unit import FLIPPED

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
    zero_point: int = 9
    """The zero point of the output."""
    bounds: tuple[float, float] | None = None
    """Of an activation of the output."""


def as_unsigned(shape: Shape) -> Shape:
    """The shape with maps of ui8; its zero points and bounds are as far from the least integer."""
    point, zero_point = shape.point + FLIPPED, shape.zero_point + FLIPPED
    low, high = shape.bounds or (0.0, 0.0)
    bounds = None if shape.bounds is None else (low + FLIPPED, high + FLIPPED)
    return replace(shape, unsigned=True, point=point, zero_point=zero_point, bounds=bounds)


def either(shape: Shape) -> SearchStrategy[Shape]:
    """The shape with maps of i8, or with maps of ui8."""
    return st.sampled_from((shape, as_unsigned(shape)))


def network(shape: Shape, *, returned: bool = False) -> ModuleOp:
    """The convolution between two layers that copy; `returned`: its output is that of the network.

    So that output lies in planes.
    """
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
        epilogue=Epilogue(
            RequantizeAttr.of(scales.tolist(), shape.zero_point),
            None if shape.bounds is None else ActivationAttr.clamp(*shape.bounds),
        ),
    )
    y = maker.add(maker.named(layer), element)
    if returned:
        return maker.finished(y)
    end = MaxPool2dOp(y, COPY, TensorType(element, []))
    return maker.finished(maker.add(maker.named(end), element))


def layouts(*, planar: bool) -> str:
    """The passes that make buffers of maps, with channels last or in planes."""
    return "npu-bufferize" if planar else "npu-bufferize,npu-choose-layouts"


def give(layer: Conv2dOp, elements: int, *, in_place: bool, element: IntegerType = i16) -> None:
    """Give a layer a working memory; `in_place`: let it write its input if that is possible."""
    scratch = AllocOp(MemRefType(element, [elements], memory_space=SramSpace()))
    Rewriter.insert_op(scratch, InsertPoint.before(layer))
    out, owner = layer.output, layer.output.owner
    same = layer.input.type == out.type and layer.could_gather_in_place
    Rewriter.replace_op(layer, layer.with_scratch(scratch.buffer))
    if in_place and same and isinstance(owner, AllocOp):
        out.replace_all_uses_with(layer.input)
        Rewriter.erase_op(owner)
