"""Random networks of residual blocks, of quantised integers or of floats, on tensors."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, TensorType, f32, i8, i32
from xdsl.ir import Attribute, SSAValue

from helpers.quantized.random_layers import MODES, LayerMaker
from npu_dialect.attributes import LAYER
from npu_dialect.npu import (
    AddOp,
    ClampOp,
    Conv2dOp,
    MaxPool2dOp,
    PoolAttr,
    QuantizedAddOp,
    ReluOp,
    RequantizeAttr,
)
from npu_dialect.npu.epilogue import Epilogue
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import map_type, shape_of


class ResidualMaker(LayerMaker):
    """Makes networks of residual blocks; one seed always gives the same network."""

    def __init__(self, seed: int, *, quantised: bool) -> None:
        super().__init__(seed)
        self.quantised = quantised
        self.layers = 0

    def network(self) -> ModuleOp:
        """Two blocks behind an input [1, C, H, W], with or without a convolution before them."""
        channels = self.random.choice((1, 3, 4, 8))
        x = self.argument(self.element(), (1, channels, self.extent(), self.extent()))
        if self.random.random() < 0.5:
            x = self.conv(x, channels, 1)
        for _ in range(2):
            x = self.block_of(x)
        return self.finished(x)

    def element(self) -> Attribute:
        """A random element type of a map."""
        return self.integer() if self.quantised else f32

    def block_of(self, x: SSAValue) -> SSAValue:
        """A sum of two branches, in random order, and activations behind it."""
        channels = list(shape_of(x))[1]
        filters = self.random.choice((channels, 5, 8))
        same = map_type(x).get_element_type()
        shortcut = self.shortcut(x, filters)
        main = x
        if self.random.random() < 0.7:
            main = self.conv(x, channels, self.random.choice((1, 3)))
        main = self.conv(main, filters, self.random.choice((1, 3)))
        lhs, rhs = (main, shortcut) if self.random.random() < 0.5 else (shortcut, main)
        y = self.sum(lhs, rhs, self.random.choice((same, map_type(main).get_element_type())))
        for _ in range(self.random.choice((0, 1, 2))):
            y = self.activated(y)
        return y

    def shortcut(self, x: SSAValue, filters: int) -> SSAValue:
        """The input of a block, or a convolution or pool of it."""
        if list(shape_of(x))[1] != filters or self.random.random() < 0.3:
            x = self.conv(x, filters, 1)
        if self.random.random() < 0.2:
            element = map_type(x).get_element_type()
            pool = PoolAttr.of("max", (3, 3), (1, 1), (1, 1, 1, 1))
            x = self.add(self.named(MaxPool2dOp(x, pool, TensorType(element, []))), element)
        return x

    def conv(self, x: SSAValue, filters: int, kernel: int) -> SSAValue:
        """A convolution that keeps the size of the map; sometimes depthwise."""
        random, channels = self.random, list(shape_of(x))[1]
        groups = channels if channels == filters and random.random() < 0.2 else 1
        pads = [kernel // 2] * 4
        shape = (filters, channels // groups, kernel, kernel)
        if not self.quantised:
            weight = self.constant(self.numbers.standard_normal(shape), f32)
            bias = self.constant(self.numbers.standard_normal(filters), f32)
            plain = Conv2dOp(x, weight, bias, TensorType(f32, []), pads=pads, groups=groups)
            return self.add(self.named(plain), f32)
        source, out = map_type(x).get_element_type(), self.integer()
        weight = self.constant(self.numbers.integers(-128, 128, shape), i8)
        bias = self.constant(self.numbers.integers(-999, 999, filters), i32)
        zero_points = (self.point(source), random.choice((0, 0, 7)))
        requantize = RequantizeAttr.of(
            self.scales(filters, 0.01), self.point(out), random.choice(MODES)
        )
        activation = random.choice((None, self.activation(out)))
        layer = Conv2dOp(
            x,
            weight,
            bias,
            TensorType(out, []),
            pads=pads,
            groups=groups,
            zero_points=zero_points,
            epilogue=Epilogue(requantize, activation),
        )
        return self.add(self.named(layer), out)

    def sum(self, lhs: SSAValue, rhs: SSAValue, out: Attribute) -> SSAValue:
        """The sum of two maps of one shape."""
        if not self.quantised:
            return self.add(self.named(AddOp(lhs, rhs, TensorType(f32, []))), f32)
        elements = [map_type(value).get_element_type() for value in (lhs, rhs)]
        points = [self.point(element) for element in (*elements, out)]
        scales: Sequence[float] = [self.scale() for _ in range(3)]
        mode = self.random.choice((*MODES, "float", "qlinear"))
        layer = QuantizedAddOp(lhs, rhs, scales, points, TensorType(out, []), mode=mode)
        return self.add(self.named(layer), out)

    def activated(self, x: SSAValue) -> SSAValue:
        """A ReLU or a clamp."""
        element = map_type(x).get_element_type()
        if self.random.random() < 0.5:
            return self.add(self.named(ReluOp(x, TensorType(element, []))), element)
        return self.add(self.named(ClampOp(x, -30.5, 100.0, TensorType(element, []))), element)

    def named(self, layer: LayerOp) -> LayerOp:
        """A layer with a name of its own."""
        self.layers += 1
        LAYER.set(layer, f"layer{self.layers}")
        return layer


def resnet() -> ModuleOp:
    """ResNet-8 of int8 maps with half of the channels, without its head: three residual blocks."""
    maker = ResidualMaker(8, quantised=True)
    x = maker.argument(i8, (1, 3, 32, 32))
    x = int8_conv(maker, x, 8, 3, 1)
    for filters, stride in ((8, 1), (16, 2), (32, 2)):
        main = int8_conv(maker, x, filters, 3, stride)
        shortcut = x if stride == 1 else int8_conv(maker, x, filters, 1, stride)
        main = int8_conv(maker, main, filters, 3, 1)
        scales, points = (0.05, 0.04, 0.06), (-128, -128, -128)
        layer = QuantizedAddOp(shortcut, main, scales, points, TensorType(i8, []))
        x = maker.add(maker.named(layer), i8)
    return maker.finished(x)


def int8_conv(
    maker: ResidualMaker, x: SSAValue, filters: int, kernel: int, stride: int
) -> SSAValue:
    """A padded convolution of int8 maps."""
    shape = (filters, list(shape_of(x))[1], kernel, kernel)
    weight = maker.constant(maker.numbers.integers(-127, 128, shape), i8)
    layer = Conv2dOp(
        x,
        weight,
        None,
        TensorType(i8, []),
        strides=(stride, stride),
        pads=[kernel // 2] * 4,
        zero_points=(-128, 0),
        epilogue=Epilogue(RequantizeAttr.of([0.001], -128)),
    )
    return maker.add(maker.named(layer), i8)
