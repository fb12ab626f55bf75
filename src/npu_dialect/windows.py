"""Window arithmetic of convolution and pooling along one spatial axis: no IR in here.

A *window* slides over an axis of `size` elements that is padded with `before` and `after` elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain


@dataclass(frozen=True)
class Axis:
    """One spatial axis of a sliding window, with sizes in elements.

    `size`: extent of the input; `kernel`: number of taps; `stride`: distance of two windows;
    `before`, `after`: padding; `dilation`: distance of two taps; `ceil`: whether a last, partial
    window counts.
    """

    size: int
    kernel: int
    stride: int = 1
    before: int = 0
    after: int = 0
    dilation: int = 1
    ceil: bool = False

    @property
    def reach(self) -> int:
        """Elements from the first to the last tap, both included."""
        return (self.kernel - 1) * self.dilation + 1

    @property
    def outputs(self) -> int:
        """Number of window positions; 0 if the window fits nowhere.

        With `ceil`, a window that would start in the padding after the map is not counted, as in
        ONNX MaxPool and PyTorch.
        """
        room = self.size + self.before + self.after - self.reach
        if room < 0:
            return 0
        count = (-(-room // self.stride) if self.ceil else room // self.stride) + 1
        if self.ceil and (count - 1) * self.stride >= self.size + self.before:
            count -= 1
        return count

    @staticmethod
    def beside(size: int, outputs: int) -> Axis:
        """Windows of one tap each, as many as `outputs`, that all lie on padding."""
        return Axis(size, 1, size + 1, 1, max(0, (outputs - 1) * (size + 1) - size))

    def start(self, position: int) -> int:
        """Input index of the first tap at a window position; negative if it lies on padding."""
        return position * self.stride - self.before

    def holders(self, position: int) -> range:
        """The window positions between whose first and last tap an input index lies."""
        padded = position + self.before
        first = max(0, padded + self.stride - self.reach) // self.stride
        return range(first, max(first, min(padded // self.stride + 1, self.outputs)))

    def taps(self, position: int) -> tuple[int, int]:
        """Half-open range of the taps that lie on real input at a window position."""
        start = self.start(position)
        low = min(self.kernel, max(0, -(start // self.dilation)))
        high = min(self.kernel, -(-(self.size - start) // self.dilation))
        return low, max(low, high)

    @property
    def meets_input(self) -> bool:
        """Whether every window has a tap on real input; a pool needs that."""
        low, high = self.interior()
        before, behind = range(low), range(high, self.outputs)
        if self.dilation <= self.size:  # no window steps over the map: outer ones have the least
            before, behind = before[:1], behind[-1:]
        borders = chain(before, behind)
        return all(first < last for first, last in map(self.taps, borders))

    def counted(self, position: int) -> int:
        """The number of taps on input or explicit padding, by which a padded average divides.

        Taps beyond the padding, which a partial window of `ceil` has, do not count.
        """
        start = self.start(position)
        high = min(self.kernel, -(-(self.size + self.after - start) // self.dilation))
        return max(0, high)

    def interior(self) -> tuple[int, int]:
        """Half-open range of the positions whose taps all lie on real input; it may be empty."""
        low = min(self.outputs, -(-self.before // self.stride))
        last = self.size + self.before - self.reach
        high = min(self.outputs, last // self.stride + 1) if last >= 0 else low
        return low, max(low, high)


def broadcast(lhs: Sequence[int], rhs: Sequence[int]) -> tuple[int, ...] | None:
    """The shape to which numpy broadcasts two shapes; None if it cannot."""
    rank = max(len(lhs), len(rhs))
    left = (1,) * (rank - len(lhs)) + tuple(lhs)
    right = (1,) * (rank - len(rhs)) + tuple(rhs)
    if any(a != b and 1 not in (a, b) for a, b in zip(left, right, strict=True)):
        return None
    return tuple(max(a, b) if 0 not in (a, b) else 0 for a, b in zip(left, right, strict=True))
