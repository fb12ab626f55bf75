"""Reads sliding windows of convolutions and pools from ONNX attributes, with auto_pad.

A one-dimensional window becomes a two-dimensional one over a map of one row. A three-dimensional
window is one over the depth and one over rows and columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from npu_dialect.npu.maps import shape_of
from npu_dialect.windows import Axis
from npu_tools.importers.onnx.builder import Builder, Padded
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node


@dataclass(frozen=True)
class Window:
    """A window over one, two or three spatial axes; there is one number for each axis."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    dilations: tuple[int, ...]

    @property
    def rank(self) -> int:
        """The number of spatial axes."""
        return len(self.kernel)

    @property
    def pads(self) -> tuple[int, ...]:
        """The pads before all axes, then those after them."""
        return (*self.before, *self.after)

    @property
    def plane(self) -> Window:
        """The window over rows and columns; a single axis is that of the columns."""
        neutral = Window.neutral(1)
        pairs = zip(self.fields, neutral.fields, strict=True)
        return Window(*((*filler, *numbers)[-2:] for numbers, filler in pairs))

    @property
    def depth(self) -> Window:
        """The window over the first of three axes."""
        return Window(*(numbers[:1] for numbers in self.fields))

    @property
    def over_rows(self) -> Window:
        """The window with a neutral axis behind its own."""
        pairs = zip(self.fields, Window.neutral(1).fields, strict=True)
        return Window(*((*numbers, *filler) for numbers, filler in pairs))

    @property
    def is_neutral(self) -> bool:
        """Whether the window gives each element of the map by itself."""
        return replace(self, dilations=(1,) * self.rank) == Window.neutral(self.rank)

    @property
    def fields(self) -> tuple[tuple[int, ...], ...]:
        """Kernel, strides, pads before and after, dilations."""
        return self.kernel, self.strides, self.before, self.after, self.dilations

    @staticmethod
    def neutral(rank: int) -> Window:
        """A window of one element at each element."""
        return Window(*((filler,) * rank for filler in (1, 1, 0, 0, 1)))

    def axes(self, extents: Sequence[int], *, ceil: bool = False) -> list[Axis]:
        """The axes of a map of these extents; `ceil` counts a last, partial window."""
        rows = zip(extents, *self.fields, strict=True)
        return [Axis(*row, ceil=ceil) for row in rows]

    @staticmethod
    def of(axes: Sequence[Axis]) -> Window:
        """The window that slides over some axes."""
        rows = [(a.kernel, a.stride, a.before, a.after, a.dilation) for a in axes]
        return Window(*zip(*rows, strict=True))


def spatial_extents(shape: Sequence[int]) -> tuple[int, ...]:
    """The spatial extents of a map [N, C, ...].

    Raises: NodeError if there are neither 1, 2 nor 3 of them.
    """
    if len(shape) not in (3, 4, 5):
        raise NodeError(
            f"an input of shape {list(shape)}; expected [N, C, L], [N, C, H, W] or [N, C, D, H, W]"
        )
    return tuple(shape[2:])


def spatial_rank(source: SSAValue) -> int:
    """The number of spatial axes of a map [N, C, ...]. Raises as `spatial_extents`."""
    return len(spatial_extents(shape_of(source)))


def per_axis(node: Node, name: str, count: int, default: int) -> list[int]:
    """An attribute that is a list of `count` integers; without it, a list of the default.

    Raises: NodeError if the list has another length.
    """
    values = node.ints(name)
    if values is None:
        return [default] * count
    if len(values) != count:
        raise NodeError(f"{name} {values}; expected {count} values")
    return values


def window(
    node: Node, extents: Sequence[int], kernel: Sequence[int], padded: Padded | None = None
) -> Window:
    """The window of a node over a map; the pads that the map has are added to the node's own.

    `extents` are the spatial ones of the map without pads.

    Raises: NodeError if a list has a wrong length, or if a value is out of range.
    """
    rank = len(extents)
    if len(kernel) != rank:
        raise NodeError(f"a kernel of shape {list(kernel)}; expected {rank} dimensions")
    strides = per_axis(node, "strides", rank, 1)
    dilations = per_axis(node, "dilations", rank, 1)
    for what, values in (("kernel", kernel), ("strides", strides), ("dilations", dilations)):
        if any(value < 1 for value in values):
            raise NodeError(f"{what} {list(values)}; expected values of at least 1")
    around = ((0,) * rank,) * 2 if padded is None else (padded.before, padded.after)
    padded_extents = [sum(parts) for parts in zip(extents, *around, strict=True)]
    reach = [(taps - 1) * step + 1 for taps, step in zip(kernel, dilations, strict=True)]
    own = own_pads(node, padded_extents, reach, strides)
    before, after = (
        [a + b for a, b in zip(pads, more, strict=True)]
        for pads, more in zip(own, around, strict=True)
    )
    return Window(*map(tuple, (kernel, strides, before, after, dilations)))


def own_pads(
    node: Node, extents: Sequence[int], reach: Sequence[int], strides: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The node's own pads before and after each axis, from `pads` or `auto_pad`.

    `extents` are those of the map, `reach` those of the dilated kernel.

    Raises: NodeError for negative pads, an unknown mode, or one for which runtimes disagree.
    """
    rank, mode = len(extents), node.string("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        pads = per_axis(node, "pads", 2 * rank, 0)
        if any(pad < 0 for pad in pads):
            raise NodeError(f"pads {pads}; expected values of at least 0")
        return pads[:rank], pads[rank:]
    if mode == "VALID":
        return [0] * rank, [0] * rank
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise NodeError(f"auto_pad {mode}; expected NOTSET, VALID, SAME_UPPER or SAME_LOWER")
    totals = [
        (-(-extent // stride) - 1) * stride + taps - extent
        for extent, stride, taps in zip(extents, strides, reach, strict=True)
    ]
    if min(totals) < (-1 if mode == "SAME_UPPER" else -2):
        raise NodeError(
            f"auto_pad {mode} with strides {list(strides)} that leave gaps between windows of "
            f"{list(reach)}, where runtimes disagree; expected explicit pads"
        )
    totals = [max(0, total) for total in totals]
    small, large = [total // 2 for total in totals], [total - total // 2 for total in totals]
    return (small, large) if mode == "SAME_UPPER" else (large, small)


def as_rows(graph: Builder, source: SSAValue) -> SSAValue:
    """Reshape a map [N, C, L] to [N, C, 1, L]; a map [N, C, H, W] stays as it is."""
    batch, channels, *spatial = shape_of(source)
    return graph.reshape(source, (batch, channels, *(1, *spatial)[-2:]))
