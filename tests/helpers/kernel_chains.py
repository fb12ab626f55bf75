"""Random networks of a few layers of quantised maps on tensors, for which there are kernels.

Maps are small, and have few channels at the front of a network. Weights and zero points are often
the least or the greatest. Everything is drawn from one `Random`, which Hypothesis may provide.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
from xdsl.dialects.builtin import IntegerType, ModuleOp, TensorType, i8, i16, i32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Region, SSAValue

from helpers.quantized.build import Array
from helpers.quantized.random_layers import LayerMaker
from npu_dialect.attributes import LAYER
from npu_dialect.npu import (
    ClampOp,
    Conv2dOp,
    FullyConnectedOp,
    MaxPool2dOp,
    PoolAttr,
    QuantizedAddOp,
    QuantizedAvgPool2dOp,
    RequantizeAttr,
    ReshapeOp,
    TransposeOp,
)
from npu_dialect.npu.enums import Overlap
from npu_dialect.npu.epilogue import Epilogue
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.npu.quantization import BYTE_TYPES

MOST = 9
"""The most rows or columns of an input."""


class ChainMaker(LayerMaker):
    """Makes chains of layers; `mode` is that of requantisation, `images` those of an input."""

    def __init__(
        self,
        random: Random,
        mode: str = "float",
        elements: Sequence[IntegerType] = BYTE_TYPES,
        images: int = 1,
    ) -> None:
        super().__init__(0, elements)
        self.random, self.mode, self.layers, self.images = random, mode, 0, images
        self.numbers = np.random.default_rng(random.randint(0, 2**32 - 1))

    def network(self, count: int = 1) -> ModuleOp:
        """A function of several networks side by side, with an input and a result each."""
        results = [self.chain() for _ in range(count)]
        self.block.add_op(ReturnOp(*results))
        types = self.block.arg_types, [result.type for result in results]
        return ModuleOp([FuncOp("f", types, Region(self.block))])

    def chain(self) -> SSAValue:
        """A chain of layers with its own input."""
        if self.random.random() < 0.2:
            return self.vectors()
        channels = self.random.choice((1, 2, 3, 4, 5, 8))
        x = self.image(self.integer(), channels)
        for _ in range(self.random.randint(1, 3)):
            x = self.layer(x)
        return self.head(x) if self.random.random() < 0.3 else x

    def image(self, element: IntegerType, channels: int) -> SSAValue:
        """An input."""
        return self.argument(element, (self.images, channels, self.extent(), self.extent()))

    def extent(self) -> int:
        """A number of rows or columns of an input."""
        return self.random.randint(1, MOST)

    def layer(self, x: SSAValue) -> SSAValue:
        """A random layer, or a residual block, that reads a map."""
        kinds = (self.conv, self.conv, self.depthwise, self.pointwise, self.block_of, self.other)
        return self.random.choice(kinds)(x)

    # -- layers ------------------------------------------------------------------------------------

    def conv(self, x: SSAValue) -> SSAValue:
        """A convolution with random window, epilogue and pool."""
        filters = self.random.choice((1, 3, 4, 5, 8, 9))
        plain = self.convolution(x, filters, *self.places(x), pooled=True)
        return self.add(plain, map_type(plain.results[0]).get_element_type())

    def depthwise(self, x: SSAValue) -> SSAValue:
        """A depthwise convolution; mostly of a multiple of 4 channels."""
        channels = list(shape_of(x))[1]
        if channels % 4 and self.random.random() < 0.7:
            x = self.pointwise(x, self.random.choice((4, 8, 12)))
            channels = list(shape_of(x))[1]
        layer = self.convolution(x, channels, *self.places(x), groups=channels)
        return self.add(layer, map_type(layer.results[0]).get_element_type())

    def pointwise(self, x: SSAValue, filters: int = 0) -> SSAValue:
        """A 1x1 convolution."""
        filters = filters or self.random.choice((1, 4, 6, 8, 13))
        layer = self.convolution(x, filters, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1))
        return self.add(layer, map_type(layer.results[0]).get_element_type())

    def block_of(self, x: SSAValue) -> SSAValue:
        """A convolution whose result is added to its input, as first or as second operand."""
        kernel = self.random.choice((1, 3))
        places = ((kernel, kernel), (1, 1), [kernel // 2] * 4, (1, 1))
        layer = self.convolution(x, list(shape_of(x))[1], *places)
        y = self.add(layer, map_type(layer.results[0]).get_element_type())
        both = (x, y) if self.random.random() < 0.5 else (y, x)
        out = map_type(self.random.choice(both)).get_element_type()
        points = [self.point(map_type(each).get_element_type()) for each in both]
        scales = [self.scale() for _ in range(3)]
        kind, points = TensorType(out, []), [*points, self.point(out)]
        total = self.add(
            self.named(QuantizedAddOp(*both, scales, points, kind, mode=self.mode)), out
        )
        if self.random.random() < 0.5:
            return total
        return self.add(self.named(ClampOp(total, -30.0, 90.0, TensorType(out, []))), out)

    def other(self, x: SSAValue) -> SSAValue:
        """A pool that is not fused."""
        element = map_type(x).get_element_type()
        rows, columns = list(shape_of(x))[2:]
        kernel = (min(2, rows), min(3, columns))
        if self.random.random() < 0.5:
            pool = PoolAttr.of("max", kernel, (1, 2))
            return self.add(self.named(MaxPool2dOp(x, pool, TensorType(element, []))), element)
        pool, out = PoolAttr.of("avg", kernel, (2, 1)), self.integer()
        scales, points = [self.scale(), self.scale()], [self.point(element), self.point(out)]
        layer = QuantizedAvgPool2dOp(x, pool, scales, points, TensorType(out, []), mode=self.mode)
        return self.add(self.named(layer), out)

    def head(self, x: SSAValue) -> SSAValue:
        """A fully connected layer that reads a map through a reshape."""
        depth = int(np.prod(list(shape_of(x))))
        element = map_type(x).get_element_type()
        flat = self.add(ReshapeOp(x, TensorType(element, [1, depth])), element)
        return self.connected(flat, self.random.randint(1, 9))

    def vectors(self) -> SSAValue:
        """Fully connected layers, one behind the other."""
        x = self.argument(
            self.integer(), (self.random.choice((1, 1, 2)), self.random.randint(1, 40))
        )
        for _ in range(2):
            x = self.connected(x, self.random.randint(1, 9))
        return x

    def connected(self, x: SSAValue, features: int) -> SSAValue:
        """A fully connected layer."""
        element, out = map_type(x).get_element_type(), self.integer()
        layer = FullyConnectedOp(
            x,
            self.constant(self.weights(features, list(shape_of(x))[1]), i8),
            self.bias(features, self.sums(element)),
            TensorType(out, []),
            zero_points=(self.point(element), self.weight_point()),
            epilogue=Epilogue(self.requantize(features, out), self.activation(out)),
        )
        return self.add(self.named(layer), out)

    # -- parts of layers ---------------------------------------------------------------------------

    def convolution(
        self,
        x: SSAValue,
        filters: int,
        kernel: Sequence[int],
        strides: Sequence[int],
        pads: Sequence[int],
        dilations: Sequence[int],
        *,
        groups: int = 1,
        pooled: bool = False,
    ) -> Conv2dOp:
        """A convolution of a map."""
        element, out = map_type(x).get_element_type(), self.integer()
        layer = Conv2dOp(
            x,
            self.constant(self.weights(filters, list(shape_of(x))[1] // groups, *kernel), i8),
            self.bias(filters, self.sums(element)),
            TensorType(out, []),
            strides=strides,
            pads=pads,
            dilations=dilations,
            groups=groups,
            zero_points=(self.point(element), self.weight_point()),
        )
        size = layer.infer_shape()[2:]
        layer.change_epilogue(
            requantize=self.requantize(filters, out), activation=self.activation(out)
        )
        if pooled and self.random.random() < 0.5:
            window = self.window(size)
            pool, overlap = PoolAttr.of("max", **window), None
            if pool.overlaps:
                ways = (Overlap.ACCUMULATE, Overlap.RECOMPUTE, Overlap.RECOMPUTE)
                overlap = self.random.choice(ways)
            before = layer.activation
            kept = before if before is None or before.is_monotone else None
            layer.change_epilogue(activation=kept, pool=pool, overlap=overlap)
        named = self.named(layer)
        assert isinstance(named, Conv2dOp)
        return named

    def places(
        self, x: SSAValue
    ) -> tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]]:
        """Random kernel, strides, pads (top, left, bottom, right) and dilations that fit a map."""
        random, pads = self.random, [0, 0, 0, 0]
        kernel, dilations = [1, 1], [1, 1]
        for axis, extent in enumerate(list(shape_of(x))[2:]):
            kernel[axis] = random.randint(1, 5)
            dilations[axis] = random.choice((1, 1, 1, 2))
            reach = (kernel[axis] - 1) * dilations[axis] + 1
            if random.random() < 0.7:
                pads[axis], pads[axis + 2] = (random.randint(0, reach) for _ in range(2))
            pads[axis] += max(0, reach - extent - pads[axis] - pads[axis + 2])
        return kernel, [random.choice((1, 1, 2, 3)) for _ in kernel], pads, dilations

    def weights(self, *shape: int) -> Array:
        """Random weights, at times only the least and the greatest one.

        With -128 among them, some kernels store them in another way than without.
        """
        least = self.random.choice((-128, -127))
        if self.random.random() < 0.3:
            return self.numbers.choice((least, 127), shape)
        return self.numbers.integers(least, 128, shape)

    def sums(self, element: Attribute) -> IntegerType:
        """The element type of a bias: mostly i32, for which there are kernels."""
        return i64 if element == i16 and self.random.random() < 0.2 else i32

    def bias(self, filters: int, element: IntegerType) -> SSAValue | None:
        """A bias, none, or one so large that sums wrap around."""
        most = self.random.choice((999, 999, 999, 2**31 - 1, 0))
        if most == 0:
            return None
        return self.constant(self.numbers.integers(-most, most, filters), element)

    def weight_point(self) -> int:
        """The zero point of weights, which is nearly always 0."""
        return self.random.choice((0,) * 7 + (3,))

    def requantize(self, channels: int, out: Attribute) -> RequantizeAttr:
        """Requantisation that saturates some outputs."""
        factor = self.random.choice((0.003, 0.01, 0.05))
        return RequantizeAttr.of(self.scales(channels, factor), self.point(out), self.mode)

    def named(self, layer: LayerOp) -> LayerOp:
        """A layer with a name of its own."""
        self.layers += 1
        LAYER.set(layer, f"layer{self.layers}")
        return layer


class LastMaker(ChainMaker):
    """Makes chains of layers whose inputs have their channels last."""

    def image(self, element: IntegerType, channels: int) -> SSAValue:
        """An input, transposed."""
        given = self.argument(element, (1, self.extent(), self.extent(), channels))
        layer = TransposeOp(given, (0, 3, 1, 2), TensorType(element, []))
        return self.add(self.named(layer), element)
