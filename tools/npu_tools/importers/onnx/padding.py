"""Maps whose pads are kept apart until a layer takes them into its own pads.

Pads of quantised integers may be any integer `fill`. The pads of a convolution are real zeros, so
it can take them if `fill` is the zero point. If no layer can take the pads, `npu.pick` copies the
map and adds them.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.npu.quantization import QUANTISED
from npu_dialect.runs import Run, between, nothing


@dataclass(frozen=True, eq=False)
class Padded:
    """A map [N, C, ...] with pads before and after each spatial axis, for a layer that has pads."""

    source: SSAValue
    before: tuple[int, ...]
    after: tuple[int, ...]
    label: str
    """The Pad node that adds the pads; "" if there are none."""
    fill: float = 0
    """The value of the pads."""

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


def padded_runs(extent: int, before: int, after: int) -> tuple[Run, ...]:
    """The indices of an axis with pads; negative ones cut elements off.

    At least one element must stay.
    """
    inside = between(max(0, -before), extent - 1 + min(0, after))
    front = [nothing(before)] if before > 0 else []
    back = [nothing(after)] if after > 0 else []
    return (*front, inside, *back)


def unpadded(source: SSAValue) -> Padded:
    """A map without pads."""
    zeros = (0,) * max(0, len(shape_of(source)) - 2)
    return Padded(source, zeros, zeros, "")
