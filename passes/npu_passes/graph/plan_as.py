"""`npu-plan-as{type=i8}`: plan a network as if all its f32 tensors had another element type.

    %w = arith.constant dense<"0x..."> : tensor<6x1x5x5xf32>
    %y = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (...) -> tensor<1x6x28x28xf32>
becomes, in a module with `npu.planned_as = i8`,
    %w = arith.constant dense<0> : tensor<6x1x5x5xi8>
    %y = npu.conv2d %x, %w strides [1, 1] pads [0, 0, 0, 0] : (...) -> tensor<1x6x28x28xi8>

The decision: sizes, offsets and reports are those of the new type. Values are dropped (constants
become zero), because another type needs quantisation, not a cast. `npu.planned_as` marks the module
as one that must not be run.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    FunctionType,
    IntegerType,
    ModuleOp,
    TensorType,
    f32,
    i8,
    i16,
)
from xdsl.ir import Attribute
from xdsl.pattern_rewriter import PatternRewriteWalker, TypeConversionPattern

from npu_dialect.attributes import PLANNED_AS
from npu_dialect.npu.layer import LayerOp
from npu_passes.support.refuse import Refusal, RefusingPass

TYPES: dict[str, IntegerType | AnyFloat] = {
    "i8": i8,
    "i16": i16,
    "f16": Float16Type(),
    "bf16": BFloat16Type(),
}


@dataclass
class PlanAsPattern(TypeConversionPattern):
    """Replace the element type f32 by another one in the types and attributes of an op."""

    element: IntegerType | AnyFloat = i8

    def convert_type(self, typ: Attribute, /) -> Attribute | None:
        """The attribute with the other element type; None if it contains no f32 tensor."""
        # Not `isa`: it prints what it rejects, and constants are long.
        if isinstance(typ, TensorType):
            tensor = cast("TensorType[Attribute]", typ)
            if tensor.element_type != f32:
                return None
            return TensorType(self.element, tensor.get_shape(), tensor.encoding)
        if isinstance(typ, DenseIntOrFPElementsAttr):
            dense = cast("DenseIntOrFPElementsAttr[Float32Type]", typ)
            if not isinstance(dense.type, TensorType) or dense.type.element_type != f32:
                return None
            type_ = TensorType(self.element, dense.get_shape(), dense.type.encoding)
            zeros = bytes(prod(dense.get_shape()) * self.element.size)
            return DenseIntOrFPElementsAttr(type_, BytesAttr(zeros))
        if isinstance(typ, FunctionType):
            return FunctionType.from_lists(
                [self.convert_type(type_) or type_ for type_ in typ.inputs],
                [self.convert_type(type_) or type_ for type_ in typ.outputs],
            )
        return None


@dataclass(frozen=True)
class PlanAsPass(RefusingPass):
    """Replace f32 by another element type in all tensors of the module; see the module."""

    name = "npu-plan-as"

    type: Literal["i8", "i16", "f16", "bf16"] = "i8"
    """The element type that replaces f32."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace the type, op by op.

        Raises: PassFailedException, at the op, if a layer is on buffers already.
        """
        for inner in op.walk():
            if isinstance(inner, LayerOp) and inner.destination is not None:
                inner.emit_error(
                    "on buffers",
                    Refusal("expected layers on tensors: run it before npu-bufferize"),
                )
        element = TYPES[self.type]
        PatternRewriteWalker(PlanAsPattern(element=element)).rewrite_module(op)
        PLANNED_AS.set(op, element)
