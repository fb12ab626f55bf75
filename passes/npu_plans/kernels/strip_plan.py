"""Strips of whole rows of outputs that a depthwise convolution of floats computes together. No IR.

A row of the input serves all rows of a strip, so it is loaded once for them.
"""

from __future__ import annotations

from dataclasses import dataclass

from npu_dialect.windows import Axis
from npu_plans.kernels.conv_plan import SPARE, Ends, Span, choose_ends, interior


@dataclass(frozen=True)
class Strips:
    """The strips of a map: `height` rows of outputs each, between strips at both `ends`.

    The rows of the ends are known. What is left between them is a strip of fewer rows.
    """

    span: Span
    height: int
    ends: Ends

    @property
    def heights(self) -> list[int]:
        """The rows of each strip that has code of its own."""
        low, high = self.ends.middle(self.span)
        whole, rest = divmod(high - low, self.height)
        return [
            *self.ends.left,
            *[self.height] * (whole > 0),
            *[rest] * (rest > 0),
            *self.ends.right,
        ]


def plan_strips(rows: Axis, columns: Axis, registers: int, unroll: int) -> Strips | None:
    """The strips that take the fewest loads; None if a row of outputs is too wide for them.

    The sums of a strip, the inputs of a row of its columns, and a weight must fit into the
    `registers`. Strips that leave room for all weights, which are loaded once then, come first: a C
    compiler moves the sums of others between registers. Straight-line code has at most `unroll`
    products.
    """
    span, taps = interior(rows, None), rows.kernel * columns.kernel
    width = min(columns.size, (columns.outputs - 1) * columns.stride + columns.reach)

    def registers_left(height: int) -> int:
        inputs = columns.outputs + columns.kernel - 1
        return registers - SPARE - height * columns.outputs - inputs

    def loads(strips: Strips) -> tuple[bool, float]:
        lines = min(rows.size, (strips.height - 1) * rows.stride + rows.reach)
        return registers_left(strips.height) < taps, lines * width / strips.height

    found: list[Strips] = []
    for height in range(2, rows.outputs + 1):
        ends = Ends((), ()) if span.whole else choose_ends(span, height, 1)
        if ends is not None and registers_left(height) >= 1:
            strips = Strips(span, height, ends)
            if sum(strips.heights) * columns.outputs * taps <= unroll:
                found.append(strips)
    return min(found, key=loads, default=None)
