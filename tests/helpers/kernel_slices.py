"""Random networks for the kernels with batches, groups, multipliers, and slices of maps."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, TensorType, i8
from xdsl.ir import Attribute, SSAValue

from helpers.kernel_chains import ChainMaker
from npu_dialect.npu import ConcatOp
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.npu.quantization import BYTE_TYPES, ui8


class SliceMaker(ChainMaker):
    """Makes chains of convolutions of batches, in groups, and between slices of one map."""

    def chain(self) -> SSAValue:
        """A chain of layers with its own input."""
        x = self.image(self.integer(), self.random.choice((3, 4, 6, 8, 9)))
        for _ in range(self.random.randint(1, 2)):
            x = self.layer(x)
        return x

    def image(self, element: IntegerType, channels: int) -> SSAValue:
        """An input of one image, or of several."""
        images = self.random.choice((1, 1, 2, 3))
        return self.argument(element, (images, channels, self.extent(), self.extent()))

    def extent(self) -> int:
        """A number of rows or columns of an input."""
        return self.random.randint(1, 7)

    def layer(self, x: SSAValue) -> SSAValue:
        """A random layer, or several with a concatenation, that reads a map."""
        return self.random.choice((self.grouped, self.multiplied, self.joined, self.conv))(x)

    def grouped(self, x: SSAValue) -> SSAValue:
        """A convolution in groups, mostly of a map that has channels last."""
        groups = self.random.choice((2, 2, 3))
        depth = self.random.choice((1, 2, 3, 4, 5, 8))
        if self.random.random() < 0.8 or shape_of(x)[1] % groups:
            x = self.pointwise(x, groups * depth)
        filters = groups * self.random.choice((1, 2, 4, 5))
        layer = self.convolution(x, filters, *self.places(x), groups=groups, pooled=True)
        return self.add(layer, element_of(layer.results[0]))

    def multiplied(self, x: SSAValue) -> SSAValue:
        """A depthwise convolution with one or several filters for each channel."""
        channels = self.random.choice((4, 5, 6, 7, 9))
        if self.random.random() < 0.8:
            x = self.pointwise(x, channels)
        channels = shape_of(x)[1]
        filters = channels * self.random.choice((1, 1, 2, 3))
        layer = self.convolution(x, filters, *self.places(x), groups=channels)
        return self.add(layer, element_of(layer.results[0]))

    def joined(self, x: SSAValue) -> SSAValue:
        """A convolution from one part of a concatenation to the other, of the same extents."""
        kernel = self.random.choice((1, 3))
        places = ((kernel, kernel), (1, 1), [kernel // 2] * 4, (1, 1))
        one = self.pointwise(x, self.random.choice((3, 4, 5, 8)))
        channels = shape_of(one)[1]
        groups = self.random.choice((1, 1, channels))
        filters = self.random.choice((1, 4, 5)) * (1 if groups == 1 else channels)
        element = element_of(one)
        assert element in BYTE_TYPES
        self.given = ui8 if element == ui8 else i8
        layer = self.convolution(one, filters, *places, groups=groups)
        self.given = None
        other = self.add(layer, element_of(layer.results[0]))
        both = [one, other] if self.random.random() < 0.5 else [other, one]
        found = self.add(self.named(ConcatOp(both, 1, TensorType(element, []))), element)
        return self.pointwise(found) if self.random.random() < 0.5 else found

    given: IntegerType | None = None
    """The element type that the next layer must have; None for any."""

    def integer(self) -> IntegerType:
        """The element type of a map."""
        return super().integer() if self.given is None else self.given


def element_of(value: SSAValue) -> Attribute:
    """The element type of a map."""
    return map_type(value).get_element_type()
