"""Two quantised maps of which a node computes one, without layers yet.

    DequantizeLinear -> Mul -> QuantizeLinear

of two maps becomes one layer on integers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect.npu import MulOp, PairwiseOp, QuantizedBinaryOp
from npu_dialect.npu.enums import BinaryKind
from npu_tools.importers.onnx.builder import Builder
from npu_tools.importers.onnx.quantized import Params, Quantized, Scaled, meaning


@dataclass(frozen=True, eq=False)
class Combined(Quantized):
    """A function of two quantised maps, without layers yet."""

    kind: BinaryKind
    lhs: Scaled
    rhs: Scaled

    @property
    def shape(self) -> tuple[int, ...]:
        """The broadcast shape of both maps."""
        return tuple(np.broadcast_shapes(self.lhs.shape, self.rhs.shape))

    def floats(self, graph: Builder) -> SSAValue:
        """Build both maps in float32, and the function of them."""
        lhs, rhs = self.lhs.as_float(graph), self.rhs.as_float(graph)
        if self.kind == BinaryKind.MUL:
            return graph.emit(lambda out: MulOp(lhs, rhs, out))
        return graph.emit(lambda out: PairwiseOp(lhs, rhs, self.kind, out))

    def integers(self, graph: Builder, params: Params) -> SSAValue:
        """Build one layer on the integers; maxima of equal scales need no other scale."""
        lhs, rhs = self.lhs.value, self.rhs.value
        picks = self.kind in (BinaryKind.MAX, BinaryKind.MIN)
        if picks and self.lhs.params == self.rhs.params == params:
            value = graph.emit(lambda out: PairwiseOp(lhs, rhs, self.kind, out))
            return meaning(value, params)
        return combined(graph, self.kind, self.lhs, self.rhs, params, "float")


def combined(
    graph: Builder, kind: BinaryKind, lhs: Scaled, rhs: Scaled, params: Params, mode: str
) -> SSAValue:
    """Add a layer on two quantised maps; `mode` is that of `npu.quantized_binary`."""
    scales = [float(scale) for scale in (lhs.scale, rhs.scale, params.scale)]
    points = (lhs.zero_point, rhs.zero_point, params.zero_point)
    value = graph.emit(
        lambda out: QuantizedBinaryOp(lhs.value, rhs.value, kind, scales, points, out, mode=mode),
        params.element,
    )
    return meaning(value, params)
