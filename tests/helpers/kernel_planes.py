"""Random convolutions that read and write the model's layout, plane by plane."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from helpers.kernel_chains import ChainMaker
from npu_dialect.npu.maps import map_type, shape_of

FEW = (1, 2, 3, 4, 5, 6, 8, 18)
"""Numbers of channels: more than 16 take a loop over channels of one tap."""


class PlanesMaker(ChainMaker):
    """Makes single convolutions between an input and a result of the function."""

    def chain(self) -> SSAValue:
        """A convolution with its own input: of one tap, in groups, depthwise, or any."""
        random = self.random
        channels = random.choice(FEW)
        x = self.image(self.integer(), channels)
        divisors = [groups for groups in range(1, channels + 1) if channels % groups == 0]
        groups = random.choice((1, channels, random.choice(divisors)))
        filters = groups * random.choice((1, 1, 2, 3, 4, 5))
        layer = self.convolution(x, filters, *self.windows(x), groups=groups)
        return self.add(layer, map_type(layer.results[0]).get_element_type())

    def windows(
        self, x: SSAValue
    ) -> tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]]:
        """Kernel, strides, pads and dilations: one tap, the usual three by three, or any."""
        kind, extents = self.random.randint(0, 2), shape_of(x)[2:]
        if kind == 0:
            return (1, 1), (self.random.choice((1, 2)),) * 2, (0, 0, 0, 0), (1, 1)
        if kind == 1 and min(extents) > 2:
            apart = self.random.choice((1, 2, 3))
            return (3, 3), (self.random.choice((1, 1, 2)),) * 2, [apart] * 4, [apart] * 2
        return self.places(x)
