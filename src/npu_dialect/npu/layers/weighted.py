"""The bases of layers with weights, and checks of their sums, element types and additions."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import IntegerType, MemRefType, UnitAttr, i8, i16, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import opt_operand_def, opt_prop_def
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.attributes import INT_ARRAY, float_values, int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers.epilogue import EpilogueOp, check_activations
from npu_dialect.npu.maps import ANY_MAP, map_type, shape_of
from npu_dialect.npu.quantization import (
    EXACT,
    QUANTISED,
    SUMS,
    check_channel_scales,
    check_exact_sum,
    check_points,
    check_zero_point,
    expect_element,
)


class SumsOp(EpilogueOp, ABC):
    """A layer of sums of products, which are i32 if its first two inputs have zero points."""

    zero_points = opt_prop_def(INT_ARRAY)

    @property
    def sums_element(self) -> IntegerType:
        """The element type of the sums of a layer with zero points."""
        return i32


class WeightedOp(SumsOp, ABC):
    """A layer with an input, a weight and an optional bias, whose sums may be quantised."""

    accumulate = opt_prop_def(UnitAttr)

    PARAMETERS: ClassVar = ("weight", "bias")

    @property
    def weight_and_bias(self) -> tuple[SSAValue, SSAValue | None]:
        """The weight, and the bias or None."""
        weight, *bias = self.parameter_inputs
        return weight, bias[0] if bias else None

    @property
    def sums_element(self) -> IntegerType:
        """The element type of the sums of a layer with zero points: that of its bias, else i32."""
        bias = self.weight_and_bias[1]
        return i64 if bias is not None and map_type(bias).get_element_type() == i64 else i32


class AddingOp(WeightedOp, ABC):
    """A weighted layer that may add a residual to its output."""

    residual = opt_operand_def(ANY_MAP)


class ScratchOp(LayerOp, ABC):
    """A layer that may have a working memory, the buffer `scratch`."""

    SCRATCH: ClassVar = True

    scratch = opt_operand_def(MemRefType)


def check_scratch(op: ScratchOp) -> None:
    """Check that a working memory is a vector of i8 or i16, and that its layer is on buffers.

    Raises: VerifyException if it is not.
    """
    if op.scratch is None:
        return
    if op.destination is None:
        raise VerifyException("expected scratch only beside a destination buffer")
    type_ = map_type(op.scratch)
    if len(type_.get_shape()) != 1 or type_.get_element_type() not in (i8, i16):
        raise VerifyException(f"expected scratch to be a vector of i8 or i16, got {type_}")


def check_accumulate(op: WeightedOp) -> None:
    """Check that a layer with `accumulate` has a destination, whose values its sums start from.

    Raises: VerifyException if it is on tensors, or has a bias too.
    """
    if op.accumulate is None:
        return
    if op.destination is None:
        raise VerifyException("expected accumulate only where a destination buffer holds sums")
    if op.weight_and_bias[1] is not None:
        raise VerifyException("expected no bias beside accumulate: sums have one start")


def check_elements(op: WeightedOp, element: Attribute) -> None:
    """Check the element types of a layer with weights.

    Without zero points all element types are that of the output. With zero points the input is a
    quantised map, the weight i8, the bias i32, and the output i32, or with `then requantize` a
    quantised map. For an input of i16 the bias may be i64: then the sums are i64, too.

    Raises: VerifyException if an element type, a zero point or a scale does not fit.
    """
    check_activations(op)
    if op.zero_points is None:
        if op.requantize is not None:
            raise VerifyException("expected requantize only with zero_points [input, weight]")
        LayerOp.verify_elements(op, element)
        return
    points = int_values(op.zero_points)
    if len(points) != 2:
        raise VerifyException(f"expected zero_points [input, weight], got {list(points)}")
    weight, bias = op.weight_and_bias
    check_zero_point(points[0], expect_element("an input", op.inputs[0], QUANTISED))
    check_zero_point(points[1], expect_element("a weight", weight, [i8]))
    if bias is not None:
        expect_element("a bias", bias, SUMS)
    if (sums := op.sums_element) != i32:
        expect_element("an input beside a bias of i64", op.inputs[0], [i16])
    expect_element("an output", op.output, [sums] if op.requantize is None else QUANTISED)
    if op.requantize is None:
        return
    if sums != i32 and op.requantize.mode.data in EXACT:
        raise VerifyException(f"expected sums of i32 in mode {op.requantize.mode.data}")
    check_zero_point(op.requantize.offset, element)
    check_channel_scales(op.requantize.scales, shape_of(weight)[0])
    if op.accumulate is not None:
        raise VerifyException("expected no requantize behind sums that accumulate")


def check_addition(op: AddingOp) -> None:
    """Check the addition in a convolution's epilogue.

    The residual has the shape of the output. A quantised residual may have another element type.

    Raises: VerifyException if the addition, the residual and the rest of the layer do not fit
        together.
    """
    addition, residual = op.addition, op.residual
    if addition is None or residual is None:
        if addition is not None or residual is not None:
            raise VerifyException("expected `then add residual` and the residual as last input")
        return
    if op.accumulate is not None:
        raise VerifyException("expected an addition or sums that accumulate, got both")
    if addition.is_quantised != (op.requantize is not None) or (
        op.zero_points is not None and op.requantize is None
    ):
        raise VerifyException(
            "expected an addition with scales behind requantize, without scales behind floats"
        )
    if shape_of(residual) != shape_of(op.output):
        raise VerifyException(
            f"expected a residual of shape {list(shape_of(op.output))}, got {residual.type}"
        )
    if addition.is_quantised:
        element = op.output_type.get_element_type()
        other = expect_element("a residual", residual, QUANTISED)
        elements = (*addition.ordered(other, element), element)
        check_points(addition.zero_points, elements)
        if addition.mode.data in EXACT:
            scales = float_values(addition.scales)
            check_exact_sum(scales[:2], int_values(addition.zero_points), elements)
