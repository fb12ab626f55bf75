"""The base of layers whose only input is one map."""

from __future__ import annotations

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def

from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers.forms import form
from npu_dialect.npu.maps import ANY_MAP


class UnaryOp(LayerOp):
    """A layer whose only input is one map."""

    input = operand_def(ANY_MAP)

    def __init__(self, input: SSAValue, out: SSAValue | Attribute) -> None:
        operands, results = form(out)
        super().__init__(operands=[input, operands], result_types=[results])
