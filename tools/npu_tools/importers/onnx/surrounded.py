"""Quantised maps with pads of real numbers, as Pad adds them after DequantizeLinear.

    DequantizeLinear -> Pad -> QuantizeLinear -> DequantizeLinear -> Conv

becomes one convolution with pads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from xdsl.ir import SSAValue

from npu_tools.importers.onnx.builder import Builder, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.padding import Padded, surrounded, unpadded
from npu_tools.importers.onnx.quantized import Params, Quantized, Scaled


@dataclass(frozen=True, eq=False)
class Surrounded(Quantized):
    """A quantised map [N, C, ...] with pads of the real number `fill`, without layers yet.

    `before` and `after` are the pads of each spatial axis. `label` is the Pad node.
    """

    source: Scaled
    before: tuple[int, ...]
    after: tuple[int, ...]
    fill: float

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the map with its pads."""
        return surrounded(self.source.shape, self.before, self.after)

    @property
    def is_zero(self) -> bool:
        """Whether a convolution can take the pads: they are zeros, and no clamp is pending."""
        return self.fill == 0 and not self.is_clamped

    def padded(self, graph: Builder, params: Params) -> Padded:
        """The map as quantised integers with the given parameters; its pads are kept apart."""
        value = self.source.quantize(graph, params)
        return Padded(value, self.before, self.after, self.label, params.integer(self.fill))

    def settled(self, graph: Builder) -> Scaled:
        """Build the map with its pads, as integers of the map's own scale.

        Raises: NodeError if no integer of that scale stands for `fill`.
        """
        params = self.source.params
        padded = self.padded(graph, params)
        if (padded.fill - params.zero_point) * params.scale != np.float32(self.fill):
            raise NodeError(
                f"pads of value {self.fill} around integers of scale {params.scale} and zero point "
                f"{params.zero_point}; expected a number that is one of them"
            )
        value = graph.padded_map(padded)
        return replace(self.source, value=value, view=None, low=self.low, high=self.high)

    def floats(self, graph: Builder) -> SSAValue:
        """The map with its pads in float32, not clamped."""
        value = self.source.as_float(graph)
        return graph.padded_map(Padded(value, self.before, self.after, self.label, self.fill))

    def integers(self, graph: Builder, params: Params) -> SSAValue:
        """The map with its pads as integers with the given parameters, not clamped."""
        return graph.padded_map(self.padded(graph, params))

    def as_padded_float(self, graph: Builder) -> Padded:
        """The map in float32; pads of zeros are kept apart, other pads are built."""
        if not self.is_zero:
            return unpadded(self.as_float(graph))
        return Padded(self.source.as_float(graph), self.before, self.after, self.label)


def settled(graph: Builder, value: Value) -> Value:
    """The value itself; if its pads are kept apart, they are built first."""
    return value.settled(graph) if isinstance(value, Surrounded) else value
