"""What convolutions multiply and add up, and the layers that do it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from npu_dialect.npu import Conv2dOp, ConvTranspose2dOp
from npu_dialect.npu.layers.transposed import TransposedAxis
from npu_dialect.npu.maps import shape_of
from npu_dialect.windows import Axis
from npu_tools.importers.onnx.builder import Builder, Constant
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.rules.window import Window


@dataclass(frozen=True)
class Products:
    """A convolution of `kind` with weights [O, C / groups, ...].

    With zero points (input, weight) its sums are i32; else weights and bias are float32.
    """

    kind: type[Conv2dOp | ConvTranspose2dOp]
    weight: Constant
    bias: Constant | None
    groups: int
    zero_points: tuple[int, int] | None = None

    def expect_channels(self, channels: int) -> None:
        """Check that the weights are for a map with so many channels.

        Raises: NodeError if they are not.
        """
        depth = self.weight.array.shape[1]
        if channels != depth * self.groups:
            raise NodeError(
                f"a weight with {depth} channels and group {self.groups} for an input with "
                f"{channels} channels; expected {channels} / group"
            )

    def axes(self, window: Window, extents: Sequence[int]) -> list[Axis | TransposedAxis]:
        """The axes of a map of these extents, as the window slides over them."""
        if self.kind is Conv2dOp:
            return [*window.axes(extents)]
        rows = zip(extents, *window.fields, strict=True)
        return [TransposedAxis(*row) for row in rows]

    def layer(self, graph: Builder, image: SSAValue, weight: Constant, plane: Window) -> SSAValue:
        """Add the layer for a map [N, C, H, W], weights and a window.

        Raises: VerifyException if they do not fit each other.
        """
        is_float = self.zero_points is None
        constant = graph.materialise if is_float else graph.integers
        weights = constant(weight)
        biases = None if self.bias is None else constant(self.bias)
        return graph.emit(
            lambda out: self.kind(
                image,
                weights,
                biases,
                out,
                strides=plane.strides,
                pads=plane.pads,
                dilations=plane.dilations,
                groups=self.groups,
                zero_points=self.zero_points,
            ),
            None if is_float else i32,
        )

    def alone(self, graph: Builder, image: SSAValue, outputs: Sequence[int]) -> SSAValue:
        """Add a layer that gives the bias everywhere: its one tap meets padding only.

        `outputs` are the rows and columns of its result.
        """
        shape = (*self.weight.array.shape[:2], 1, 1)
        weight = Constant(self.weight.name, np.zeros(shape, self.weight.array.dtype))
        axes = [Axis.beside(*sizes) for sizes in zip(shape_of(image)[2:], outputs, strict=True)]
        return replace(self, kind=Conv2dOp).layer(graph, image, weight, Window.of(axes))

    def of_taps(self, taps: Sequence[int]) -> Constant:
        """The weights [O, taps * C / groups, KH, KW] of some taps along the depth."""
        array = self.weight.array
        filters, depth, _, *plane = array.shape
        apart = array[:, :, list(taps)].swapaxes(1, 2)
        return Constant(self.weight.name, apart.reshape(filters, len(taps) * depth, *plane))

    def reshaped(self, shape: Sequence[int]) -> Constant:
        """The weights in another shape."""
        array = self.weight.array
        same = array.shape == tuple(shape)
        return self.weight if same else Constant(self.weight.name, array.reshape(shape))
