"""Arithmetic of two quantised maps with different scales, element by element."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import ClassVar

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.enums import BinaryKind, BinaryKindAttr, Mode
from npu_dialect.npu.layers.quantized import QuantizedPairOp
from npu_dialect.npu.maps import map_type
from npu_dialect.npu.quantization import largest_of
from npu_dialect.npu.syntax import word_clause

KINDS = (BinaryKind.MUL, BinaryKind.SUB, BinaryKind.DIV, BinaryKind.MAX, BinaryKind.MIN)
"""The kinds of `npu.quantized_binary`."""

MODES_OF: dict[BinaryKind, tuple[Mode, ...]] = {
    BinaryKind.MUL: (Mode.FLOAT, Mode.FIXED, Mode.QLINEAR),
    BinaryKind.SUB: (Mode.FLOAT, Mode.FIXED),
    BinaryKind.DIV: (Mode.FLOAT,),
    BinaryKind.MAX: (Mode.FLOAT, Mode.FIXED),
    BinaryKind.MIN: (Mode.FLOAT, Mode.FIXED),
}
"""The modes of each kind."""


def product_of(pairs: Iterable[tuple[SSAValue, int]]) -> int:
    """The largest product of numbers of maps, each without its zero point."""
    return prod(largest_of(map_type(value).get_element_type(), point) for value, point in pairs)


@irdl_op_definition
class QuantizedBinaryOp(QuantizedPairOp):
    """Product, difference, quotient, maximum or minimum of two quantised maps, with broadcasting.

    Scales and zero points are those of lhs (a), rhs (b) and the result. f is the function of
    `with`, and A = (a - za) * sa, B = (b - zb) * sb.

    - `mode float`: sat(round(f(A, B) / s) + z), which is the operator between DequantizeLinear and
      QuantizeLinear. A quotient that is NaN becomes the least integer.
    - `mode qlinear`, for `mul`: sat(round((a - za) * (b - zb) * (sa * sb / s) + z)), which is
      onnxruntime's QLinearMul.
    - `mode fixed`, for all but `div`: without floats. The ratios sa * sb / s, or sa / s and sb / s,
      are integers with a common shift; the result is exact and rounded once.

    Products of i16 maps that may not fit into 32 bits have `mode float` only.

    ```mlir
    %y = npu.quantized_binary %a, %b with mul scales [0.5, 0.25, 0.75] zero_points [0, 3, -128]
        mode float : (tensor<1x6x4x4xi8>, tensor<1x6x1x1xi8>) -> tensor<1x6x4x4xi8>
    ```
    """

    name = "npu.quantized_binary"

    kind = prop_def(BinaryKindAttr)

    CLAUSES: ClassVar = (
        word_clause("with", "kind", KINDS, BinaryKindAttr),
        *QuantizedPairOp.CLAUSES,
    )

    def __init__(
        self,
        lhs: SSAValue,
        rhs: SSAValue,
        kind: BinaryKind,
        scales: Sequence[float],
        zero_points: Sequence[int],
        out: SSAValue | Attribute,
        *,
        mode: str = "float",
    ) -> None:
        super().__init__(lhs, rhs, scales, zero_points, out, mode=mode)
        self.kind = BinaryKindAttr(kind)

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes that the layer can work in."""
        kind, values = self.kind.data, (self.lhs, self.rhs)
        pairs = zip(values, int_values(self.zero_points), strict=False)
        if kind == BinaryKind.MUL and product_of(pairs) >= 2**31:
            return (Mode.FLOAT,)
        return MODES_OF[kind]

    def infer_shape(self) -> tuple[int, ...]:
        """The broadcast shape of the operands."""
        kind = self.kind.data
        if kind not in KINDS:
            raise VerifyException(f"expected {' or '.join(KINDS)}, got {kind}")
        return super().infer_shape()
