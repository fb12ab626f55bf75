"""Maps whose pads are kept apart until a layer takes them into its own pads.

Pads of real numbers are zeros. Pads of quantised integers may be any integer `fill`. The pads of a
convolution are real zeros, so it can take them if `fill` is the zero point. If no layer can take
the pads, a depthwise 1x1 convolution with weights of one copies the map and adds them. It has
`fill` as the zero point of its input and output, so all other elements stay the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.npu.quantization import QUANTISED


@dataclass(frozen=True, eq=False)
class Padded:
    """A map [N, C, ...] with pads before and after each spatial axis, for a layer that has pads."""

    source: SSAValue
    before: tuple[int, ...]
    after: tuple[int, ...]
    label: str
    """The Pad node that adds the pads; "" if there are none."""
    fill: int = 0
    """The value of the pads; 0 if the map holds real numbers."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the map with its pads."""
        return surrounded(shape_of(self.source), self.before, self.after)

    @property
    def is_integer(self) -> bool:
        """Whether the map holds quantised integers."""
        return map_type(self.source).get_element_type() in QUANTISED


def surrounded(
    shape: tuple[int, ...], before: tuple[int, ...], after: tuple[int, ...]
) -> tuple[int, ...]:
    """The shape of a map [N, C, ...] with pads before and after each spatial axis."""
    batch, channels, *spatial = shape
    return batch, channels, *(sum(extents) for extents in zip(spatial, before, after, strict=True))


def unpadded(source: SSAValue) -> Padded:
    """A map without pads."""
    zeros = (0,) * max(0, len(shape_of(source)) - 2)
    return Padded(source, zeros, zeros, "")
