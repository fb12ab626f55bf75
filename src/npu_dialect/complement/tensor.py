"""`tensor.pad` as MLIR has it: pads may be operands also where the result has a static shape.

    %p = tensor.pad %x low[%c0, %c1] high[%c0, %c1] {...} : tensor<1x4xf32> to tensor<1x6xf32>

`mlir-opt --tosa-to-tensor` writes such text. xDSL's op wants an unknown extent for each such pad.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DenseArrayBase, IndexType, TensorType, UnitAttr, i64
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import Dialect
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure, SingleBlockImplicitTerminator
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class PadOp(IRDLOperation):
    """`tensor.pad`, with any mix of known and unknown pads and extents."""

    name = "tensor.pad"

    source = operand_def(TensorType)
    low = var_operand_def(IndexType)
    high = var_operand_def(IndexType)
    static_low = prop_def(DenseArrayBase.constr(i64))
    static_high = prop_def(DenseArrayBase.constr(i64))
    nofold = opt_prop_def(UnitAttr)
    body = region_def("single_block")
    result = result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    custom_directives: ClassVar = (DynamicIndexList,)
    traits = traits_def(Pure(), SingleBlockImplicitTerminator(tensor.YieldOp))

    assembly_format = (
        "$source (`nofold` $nofold^)? `low` `` custom<DynamicIndexList>($low, $static_low) "
        "`high` `` custom<DynamicIndexList>($high, $static_high) "
        "$body attr-dict `:` type($source) `to` type($result)"
    )

    def verify_(self) -> None:
        """Check that there are two pads for each axis."""
        rank = len(self.result.type.get_shape())
        if not len(self.static_low) == len(self.static_high) == rank:
            raise VerifyException(f"expected {rank} pads before and behind the axes")


TENSOR = Dialect(
    "tensor",
    [*(op for op in tensor.Tensor.operations if op.name != PadOp.name), PadOp],
    [*tensor.Tensor.attributes],
)
"""xDSL's dialect, with the op of this file."""
