"""Maps with something around them, kept apart until a layer takes it into its own pads.

Around real numbers that are zeros. Around quantised integers it is any integer; the zero point
stands for the real zero, which is what a convolution has in its own pads. Where no layer can take
it, a depthwise 1x1 convolution with weights of one copies the map and adds what is around it: with
that integer as zero point, in and out, every other element stays what it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.npu.quantization import QUANTISED


@dataclass(frozen=True, eq=False)
class Padded:
    """A map [N, C, ...] with something around its spatial axes, for a layer that has pads."""

    source: SSAValue
    before: tuple[int, ...]
    after: tuple[int, ...]
    label: str
    """The Pad node that adds it."""
    fill: int = 0
    """What is added; zero around real numbers."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape with what is around."""
        return surrounded(shape_of(self.source), self.before, self.after)

    @property
    def is_integer(self) -> bool:
        """Whether the map holds quantised integers."""
        return map_type(self.source).get_element_type() in QUANTISED


def surrounded(
    shape: tuple[int, ...], before: tuple[int, ...], after: tuple[int, ...]
) -> tuple[int, ...]:
    """The shape of a map [N, C, ...] with something around its spatial axes."""
    batch, channels, *spatial = shape
    return batch, channels, *(sum(extents) for extents in zip(spatial, before, after, strict=True))


def unpadded(source: SSAValue) -> Padded:
    """A map with nothing around it."""
    zeros = (0,) * max(0, len(shape_of(source)) - 2)
    return Padded(source, zeros, zeros, "")
