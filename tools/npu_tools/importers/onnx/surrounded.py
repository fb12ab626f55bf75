"""Real numbers around a quantised map: what Pad does between DequantizeLinear and QuantizeLinear.

    DequantizeLinear -> Pad -> QuantizeLinear -> DequantizeLinear -> Conv

gives a convolution with pads, and nothing else.
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
    """A map [N, C, ...] of integers with a real number around its spatial axes; not computed yet.

    `label` is the Pad node.
    """

    source: Scaled
    before: tuple[int, ...]
    after: tuple[int, ...]
    fill: float

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape with what is around."""
        return surrounded(self.source.shape, self.before, self.after)

    @property
    def is_zero(self) -> bool:
        """Whether the map and what is around it can go into a convolution as they are."""
        return self.fill == 0 and not self.is_clamped

    def padded(self, graph: Builder, params: Params) -> Padded:
        """The map as quantised integers, what is around them kept apart."""
        value = self.source.quantize(graph, params)
        return Padded(value, self.before, self.after, self.label, params.integer(self.fill))

    def settled(self, graph: Builder) -> Scaled:
        """The map as integers of its own scale.

        Raises: NodeError if what is around it is none of them.
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
        """All in float32, not clamped."""
        return replace(self, low=-np.inf, high=np.inf).settled(graph).floats(graph)

    def integers(self, graph: Builder, params: Params) -> SSAValue:
        """All in another scale."""
        return graph.padded_map(self.padded(graph, params))

    def as_padded_float(self, graph: Builder) -> Padded:
        """The map in float32, the zeros around it kept apart."""
        if not self.is_zero:
            return unpadded(self.as_float(graph))
        return Padded(self.source.as_float(graph), self.before, self.after, self.label)


def settled(graph: Builder, value: Value) -> Value:
    """A value without anything around it that is kept apart."""
    return value.settled(graph) if isinstance(value, Surrounded) else value
