"""The shape of a convolution, for the cost model and the tile search. No IR in here.

A fully connected layer is a 1x1 convolution of a 1x1 map. A grouped convolution has one `ConvShape`
for each group.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd


class TilingError(Exception):
    """A layer, tile or machine is invalid; the message says what was found and expected."""


@dataclass(frozen=True)
class ElementBytes:
    """Bytes of one element of each operand; `output` is for accumulators and stored outputs."""

    input: int = 4
    weight: int = 4
    bias: int = 4
    output: int = 4

    def __post_init__(self) -> None:
        """Raises: TilingError if an element has less than one byte."""
        widths = (self.input, self.weight, self.bias, self.output)
        if min(widths) < 1:
            raise TilingError(f"elements need at least 1 byte each, got {widths}")

    @property
    def smallest(self) -> int:
        """The bytes of the narrowest element."""
        return min(self.input, self.weight, self.bias, self.output)


@dataclass(frozen=True)
class WindowAxis:
    """Sliding windows along rows or columns: `extent` inputs become `outputs` outputs."""

    extent: int
    kernel: int = 1
    stride: int = 1
    dilation: int = 1
    pad_before: int = 0
    pad_after: int = 0

    def __post_init__(self) -> None:
        """Check that there is an output, and that each window reaches the map.

        Raises: TilingError if not, or if a number is not positive.
        """
        if min(self.extent, self.kernel, self.stride, self.dilation) < 1:
            raise TilingError(f"extent, kernel, stride and dilation must be positive: {self}")
        if not (0 <= self.pad_before < self.span and 0 <= self.pad_after < self.span):
            raise TilingError(f"pads must be less than the window of {self.span}: {self}")
        if self.outputs < 1:
            raise TilingError(f"the window of {self.span} is larger than the padded map: {self}")

    @property
    def span(self) -> int:
        """Inputs from the first to the last tap of a window, both included."""
        return (self.kernel - 1) * self.dilation + 1

    @property
    def outputs(self) -> int:
        """How many windows there are."""
        return (self.extent + self.pad_before + self.pad_after - self.span) // self.stride + 1

    @property
    def reuse(self) -> int:
        """The largest number of windows that one input is in, each time at another tap."""
        return -(-self.kernel // (self.stride // gcd(self.stride, self.dilation)))

    def reads(self, first: int, end: int) -> range:
        """The inputs that outputs `first` to `end` (excluded) read: halo, clipped to the map."""
        start = first * self.stride - self.pad_before
        stop = (end - 1) * self.stride - self.pad_before + self.span
        return range(max(0, start), min(self.extent, stop))

    def taps(self) -> list[int]:
        """The input at each tap of each window, without taps on padding; inputs may come twice."""
        starts = (output * self.stride - self.pad_before for output in range(self.outputs))
        inputs = (s + tap * self.dilation for s in starts for tap in range(self.kernel))
        return [index for index in inputs if 0 <= index < self.extent]


@dataclass(frozen=True)
class ConvShape:
    """A convolution of `channels_in` maps into `channels_out`; weights are OIHW, maps CHW.

    Operands that are `held` ("input", "weight", "bias", "output") are on chip all the time: they
    move nothing and take no tile buffer.
    """

    name: str
    rows: WindowAxis
    columns: WindowAxis
    channels_in: int
    channels_out: int
    element_bytes: ElementBytes = ElementBytes()
    held: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Raises: TilingError if there are no input or output channels."""
        if min(self.channels_in, self.channels_out) < 1:
            raise TilingError(f"{self.name}: channels must be positive")

    @property
    def kernel_elements(self) -> int:
        """Weights between one input channel and one output channel."""
        return self.rows.kernel * self.columns.kernel

    @property
    def input_elements(self) -> int:
        """Elements of the IFM."""
        return self.channels_in * self.rows.extent * self.columns.extent

    @property
    def output_elements(self) -> int:
        """Elements of the OFM."""
        return self.channels_out * self.rows.outputs * self.columns.outputs

    def moves(self, operand: str) -> int:
        """1 for an operand that is brought on chip, 0 for one that is held there."""
        return int(operand not in self.held)
