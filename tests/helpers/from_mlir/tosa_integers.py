"""An imported network of int8 layers as `tosa` text: the same weights, zero points and scales.

Each layer has channels last, with transpositions around it, and its scales are multipliers and
shifts, as TensorFlow's exporter computes them. Scales of float32 have 24 bits, so that no rounding
of `tosa` differs from that of the layers in mode fixed. Sums and averages round otherwise there: a
sum of two maps is that of their rescaled i32 maps, and an average keeps the scale of its map.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from helpers.from_mlir.tosa_text import TO_LAST, TosaText, Value, listed
from npu_dialect.npu import (
    ClampOp,
    Conv2dOp,
    FullyConnectedOp,
    MaxPool2dOp,
    QuantizedAddOp,
    QuantizedAvgPool2dOp,
    ReluOp,
    RequantizeOp,
    ReshapeOp,
)
from npu_dialect.npu.attributes import float_values, int_values
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.quantization import Multiplier
from npu_passes.graph.constants import elements_of

SUM_BITS = 20
"""How many bits more the sum of two maps has."""


def top_first(pads: Sequence[int]) -> list[int]:
    """Pads (top, left, bottom, right) in the order of `tosa`: top, bottom, left, right."""
    top, left, bottom, right = pads
    return [top, bottom, left, right]


class IntegerText(TosaText):
    """Writes the layers of a module."""

    def layer(self, op: Operation) -> Value:
        """One layer."""
        match op:
            case Conv2dOp():
                return self.convolution(op)
            case FullyConnectedOp():
                return self.dense(op)
            case RequantizeOp():
                points = int_values(op.zero_points)
                return self.rescaled(self.found(op.input), float_values(op.scales), points)
            case QuantizedAddOp():
                return self.sum(op)
            case QuantizedAvgPool2dOp():
                return self.average(op)
            case MaxPool2dOp():
                return self.max_pool(op)
            case ReluOp() | ClampOp():
                return self.bounds(op)
            case ReshapeOp():
                value = self.as_first(self.found(op.input))
                shape = shape_of(op.results[0])
                return self.op("reshape", [value], shape, element="i8", new_shape=listed(shape))
            case _:
                raise AssertionError(f"unexpected {op.name}")

    def found(self, value: SSAValue) -> Value:
        """A value that was written before."""
        return self.values[str(id(value))]

    def parameters(self, op: Conv2dOp | FullyConnectedOp) -> tuple[Value, Value]:
        """The weight with its inputs last, and the bias, of a layer."""
        weight, bias = elements_of(op.weight), None if op.bias is None else elements_of(op.bias)
        assert weight is not None
        if isinstance(op, Conv2dOp) and op.group_count > 1:
            weight = weight.transpose(2, 3, 0, 1)
        elif weight.ndim == 4:
            weight = weight.transpose(0, 2, 3, 1)
        if bias is None:
            bias = np.zeros(shape_of(op.results[0])[1], np.int32)
        return self.constant(weight), self.constant(bias.astype(np.int32))

    def convolution(self, op: Conv2dOp) -> Value:
        """A convolution with sums, depthwise if it has groups of one channel."""
        assert op.zero_points is not None
        image, (weight, bias) = self.as_last(self.found(op.input)), self.parameters(op)
        batch, filters, height, width = shape_of(op.results[0])
        points = int_values(op.zero_points)
        made = self.op(
            "conv2d" if op.group_count == 1 else "depthwise_conv2d",
            [image, weight, bias],
            (batch, height, width, filters),
            element="i32",
            last=True,
            pad=listed(top_first(int_values(op.pads))),
            stride=listed(int_values(op.strides)),
            dilation=listed(int_values(op.dilations)),
            quantization_info=f"#tosa.conv_quant<input_zp = {points[0]}, weight_zp = {points[1]}>",
        )
        return self.kept(made)

    def dense(self, op: FullyConnectedOp) -> Value:
        """A fully connected layer with sums."""
        assert op.zero_points is not None
        points = int_values(op.zero_points)
        return self.op(
            "fully_connected",
            [self.found(op.input), *self.parameters(op)],
            shape_of(op.results[0]),
            element="i32",
            quantization_info=f"#tosa.conv_quant<input_zp = {points[0]}, weight_zp = {points[1]}>",
        )

    def rescaled(
        self,
        value: Value,
        scales: Sequence[float],
        points: Sequence[int],
        element: str = "i8",
    ) -> Value:
        """A requantisation from one of two zero points to the other, with a scale a channel."""
        if len(scales) > 1:
            value = self.as_last(value) if len(value.shape) == 4 else value
        found = [Multiplier.of(scale) for scale in scales]
        before, after = points
        made = self.op(
            "rescale",
            [value],
            value.shape,
            element=element,
            last=value.last,
            double_round="false",
            per_channel="true" if len(found) > 1 else "false",
            scale32="true",
            input_zp=f"{before} : i32",
            output_zp=f"{after} : i32",
            multiplier=listed([each.value for each in found], "i32"),
            shift=listed([each.shift for each in found], "i8"),
        )
        return self.kept(made) if made.last else made

    def sum(self, op: QuantizedAddOp) -> Value:
        """A sum in twice the larger scale, with 20 bits more."""
        *scales, scale = float_values(op.scales)
        *points, point = int_values(op.zero_points)
        common = 2 * max(scales) / 2**SUM_BITS
        lhs, rhs = (
            self.rescaled(self.found(value), [own / common], (zero, 0), "i32")
            for value, own, zero in zip((op.lhs, op.rhs), scales, points, strict=True)
        )
        total = self.op("add", [lhs, rhs], lhs.shape, element="i32", last=lhs.last)
        return self.rescaled(total, [common / scale], (0, point))

    def average(self, op: QuantizedAvgPool2dOp) -> Value:
        """An average over windows, then a requantisation if its scale is another one."""
        image, window = self.as_last(self.found(op.input)), op.window()
        batch, channels, height, width = shape_of(op.results[0])
        before, after = int_values(op.zero_points)
        made = self.op(
            "avg_pool2d",
            [image],
            (batch, height, width, channels),
            element="i8",
            last=True,
            kernel=listed(int_values(window.kernel)),
            pad=listed(top_first(int_values(window.pads))),
            stride=listed(int_values(window.strides)),
            acc_type="i32",
            quantization_info=f"#tosa.unary_quant<input_zp = {before}, output_zp = {before}>",
        )
        ratio = float_values(op.scales)[0] / float_values(op.scales)[1]
        if (ratio, before) != (1.0, after):
            made = self.rescaled(made, [ratio], (before, after))
        return self.kept(made) if made.last else made

    def max_pool(self, op: MaxPool2dOp) -> Value:
        """A maximum over windows."""
        image, (batch, channels, height, width) = (
            self.as_last(self.found(op.input)),
            shape_of(op.results[0]),
        )
        made = self.op(
            "max_pool2d",
            [image],
            (batch, height, width, channels),
            element="i8",
            last=True,
            kernel=listed(int_values(op.kernel)),
            pad=listed(top_first(int_values(op.pads))),
            stride=listed(int_values(op.strides)),
        )
        return self.kept(made)

    def bounds(self, op: ReluOp | ClampOp) -> Value:
        """An activation."""
        value, (low, high) = self.found(op.input), (0.0, 127.0)
        if isinstance(op, ClampOp):
            low, high = max(op.low.value.data, -128.0), min(op.high.value.data, 127.0)
        return self.op(
            "clamp",
            [value],
            value.shape,
            element="i8",
            last=value.last,
            min_fp="0.0 : f32",
            max_fp="0.0 : f32",
            min_int=f"{int(low)} : i64",
            max_int=f"{int(high)} : i64",
        )


def integer_text(module: ModuleOp, *, channels_last: bool = False) -> str:
    """The one function of a module of int8 layers on tensors as `tosa` text."""
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    text = IntegerText(channels_last)
    (argument,) = function.body.block.args
    shape = shape_of(argument)
    if channels_last:
        shape = tuple(shape[axis] for axis in TO_LAST)
    image = Value("%image", shape, "i8", last=channels_last)
    text.values[str(id(argument))] = image
    result = image
    for op in function.body.block.ops:
        if isinstance(op, func.ReturnOp):
            result = text.found(op.operands[0])
        elif not isinstance(op, arith.ConstantOp):
            text.values[str(id(op.results[0]))] = text.layer(op)
    body = "\n".join(f"  {line}" for line in text.lines)
    return (
        f"func.func @main({image.name}: {image.type}) -> {result.type} {{\n{body}\n"
        f"  return {result.name} : {result.type}\n}}\n"
    )
