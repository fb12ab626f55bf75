"""Where a block of a convolution's outputs lies, and the inputs that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from npu_dialect.windows import Axis
from npu_passes.support.common import window_start
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.float_plan import Loads


@dataclass(frozen=True)
class Stretch:
    """Rows or columns of the input: the first one, and how many.

    `places`: where the first tap of each output lies, from the first of them on. It may lie beside
    them, on padding, if some taps are cut.
    """

    first: Index
    extent: int
    places: list[int]
    is_cut: bool

    def cut(self, place: Index) -> bool:
        """Whether a tap at some place lies on padding."""
        return self.is_cut and isinstance(place, int) and not 0 <= place < self.extent

    @staticmethod
    def of(
        b: LoopBuilder, axis: Axis, position: Index, places: Sequence[int], hint: str
    ) -> Stretch:
        """What outputs read from a position on, without padding if the position is known.

        `places`: where the first tap of each output lies, from that of the first output on.
        """
        start, extent = window_start(b, axis, position, hint), places[-1] + axis.reach
        if not isinstance(start, int) or (start >= 0 and start + extent <= axis.size):
            return Stretch(start, extent, list(places), is_cut=False)
        first = max(start, 0)
        extent = max(0, min(start + extent, axis.size) - first)
        return Stretch(first, extent, [start + each - first for each in places], is_cut=True)


@dataclass(frozen=True)
class Patch:
    """A part of an input channel, and its elements that are loaded, by row and column."""

    window: SSAValue
    loaded: dict[tuple[int, int], SSAValue]
    columns: Stretch
    loads: Loads | None = None
    """The registers of rows that are each loaded at once; None to load single elements."""


@dataclass(frozen=True)
class BlockOrigin:
    """The image, first input channel of the group, and first filter of a block of outputs."""

    image: Index
    channel: Index
    filter: Index
    patch: Patch | None = None
    """The inputs of the block, if they are loaded for several blocks of filters at once."""
    rows_inside: bool = False
    """Whether all rows of taps are known to lie on real input."""
    lane: int = 0
    """The first filter's place among those of `filter`, if single filters are computed."""
