"""Maps of three spatial axes that stay in frames from layer to layer.

    Conv -> BatchNormalization -> Relu -> MaxPool -> Conv

A convolution over the depth gives its frames one behind the other, and the next one reads them so.
Only where another node reads the map, it is transposed to [N, C, D, H, W].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, SSAValue

from npu_dialect.attributes import LAYER
from npu_dialect.npu import ConcatOp, ReshapeOp, TransposeOp
from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.maps import shape_of
from npu_tools.importers.onnx.builder import Builder, Lazy


def swapped(graph: Builder, source: SSAValue) -> SSAValue:
    """A map with the two axes before its last one in turn."""
    *outer, first, second, inner = shape_of(source)
    if 1 in (first, second):
        return graph.reshape(source, (*outer, second, first, inner))
    rank = len(outer)
    perm = (*range(rank), rank + 1, rank, rank + 2)
    return graph.emit(lambda out: TransposeOp(source, perm, out))


@dataclass(frozen=True)
class Convolved:
    """The results of a convolution, and the shape of the map that they are together.

    They are one map with all elements in order, or with `in_frames` maps [N * frames, O, H, W].
    """

    values: tuple[SSAValue, ...]
    shape: tuple[int, ...]
    in_frames: bool = False

    def joined(self, graph: Builder, values: Sequence[SSAValue]) -> SSAValue:
        """Put the results together; `values` stand for them."""
        if not self.in_frames:
            return graph.reshape(values[0], self.shape)
        batch, filters, depth, rows, columns = self.shape
        image = self.image(graph, values)
        apart = graph.reshape(image, (batch, depth, filters, rows * columns))
        return graph.reshape(swapped(graph, apart), self.shape)

    def image(self, graph: Builder, values: Sequence[SSAValue]) -> SSAValue:
        """Put frames together to a map [N, D * O, H, W]; `values` stand for them."""
        batch, filters, depth, rows, columns = self.shape
        counts = [shape_of(value)[0] // batch for value in values]
        if batch > 1:
            values = [
                graph.reshape(value, (batch, count * filters, rows, columns))
                for value, count in zip(values, counts, strict=True)
            ]
        whole = values[0]
        if len(values) > 1:
            axis = 1 if batch > 1 else 0
            whole = graph.emit(lambda out: ConcatOp(values, axis, out))
        return graph.reshape(whole, (batch, depth * filters, rows, columns))


@dataclass(frozen=True, eq=False)
class FrameMap(Lazy):
    """A map [N, C, D, H, W] of floats as the frames that layers compute.

    `label` is the node that computes it. `built` is the map, by the block that it is built in.
    """

    frames: Convolved
    label: str
    built: dict[Block, SSAValue] = field(default_factory=dict[Block, SSAValue])

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the map."""
        return self.frames.shape

    def image(self, graph: Builder) -> SSAValue:
        """The frames as [N, D * C, H, W]."""
        return self.frames.image(graph, self.frames.values)

    def as_float(self, graph: Builder) -> SSAValue:
        """Build the map [N, C, D, H, W], once in each block."""
        if graph.block not in self.built:
            before = len(graph.emitted)
            self.built[graph.block] = self.frames.joined(graph, self.frames.values)
            for layer in graph.emitted[before:]:
                LAYER.set_default(layer, self.label)
        return self.built[graph.block]


def shape_read(source: SSAValue | FrameMap) -> tuple[int, ...]:
    """The shape of a map, or of one in frames."""
    return source.shape if isinstance(source, FrameMap) else shape_of(source)


def frames_of(graph: Builder, source: SSAValue | FrameMap) -> SSAValue | None:
    """The frames of a map as [N, D, C, H * W] if they lie so; else None.

    They do in front of the transposition that has put frames together.
    """
    batch, channels, size, rows, columns = shape_read(source)
    if isinstance(source, FrameMap):
        return graph.reshape(source.image(graph), (batch, size, channels, rows * columns))
    view = source.owner
    swap = view.input.owner if isinstance(view, ReshapeOp) else view
    if not isinstance(swap, TransposeOp) or int_values(swap.perm) != (0, 2, 1, 3):
        return None
    wanted = (batch, size, channels, rows * columns)
    return swap.input if shape_of(swap.input) == wanted else None
