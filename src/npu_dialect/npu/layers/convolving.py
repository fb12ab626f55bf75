"""The base of convolutions over rows and columns, transposed or not."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, TypedDict, TypeVar, Unpack

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, opt_operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.attributes import INT_ARRAY, check_window, int_array, int_values
from npu_dialect.npu.layers.forms import expect_rank, expect_vector, form
from npu_dialect.npu.layers.weighted import WeightedOp
from npu_dialect.npu.maps import ANY_MAP, shape_of
from npu_dialect.npu.syntax import Clause, int_clause, ints_clause

AxisT = TypeVar("AxisT")


class Sliding(TypedDict, total=False):
    """How a kernel slides over rows and columns; pads are (top, left, bottom, right)."""

    strides: Sequence[int]
    pads: Sequence[int]
    dilations: Sequence[int]
    groups: int
    zero_points: Sequence[int] | None


class ConvolutionOp(WeightedOp, ABC):
    """A layer that slides a kernel [O, C / groups, KH, KW] over a map [N, C, H, W]."""

    input = operand_def(ANY_MAP)
    weight = operand_def(ANY_MAP)
    bias = opt_operand_def(ANY_MAP)

    strides = prop_def(INT_ARRAY)
    pads = prop_def(INT_ARRAY)
    dilations = prop_def(INT_ARRAY)
    groups = prop_def(IntegerAttr)

    CLAUSES: ClassVar[tuple[Clause, ...]] = (
        ints_clause("strides", (1, 1), always=True),
        ints_clause("pads", (0, 0, 0, 0), always=True),
        ints_clause("dilations", (1, 1)),
        int_clause("groups", 1),
    )

    def __init__(
        self,
        inputs: Sequence[SSAValue | None],
        out: SSAValue | Attribute,
        properties: Mapping[str, Attribute | None],
        **sliding: Unpack[Sliding],
    ) -> None:
        operands, results = form(out)
        points = sliding.get("zero_points")
        super().__init__(
            operands=[*inputs, operands],
            result_types=[results],
            properties={
                "strides": int_array(sliding.get("strides", (1, 1))),
                "pads": int_array(sliding.get("pads", (0, 0, 0, 0))),
                "dilations": int_array(sliding.get("dilations", (1, 1))),
                "groups": IntegerAttr(sliding.get("groups", 1), i64),
                "zero_points": None if points is None else int_array(points),
                **properties,
            },
        )

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return self.groups.value.data

    def slid_axes(
        self, axis: Callable[[int, int, int, int, int, int], AxisT]
    ) -> tuple[AxisT, AxisT]:
        """The rows and the columns, from size, kernel, stride, pads before and after, dilation."""
        (_, _, height, width), kernel = shape_of(self.input), shape_of(self.weight)[2:]
        strides, pads = int_values(self.strides), int_values(self.pads)
        dilations = int_values(self.dilations)
        return (
            axis(height, kernel[0], strides[0], pads[0], pads[2], dilations[0]),
            axis(width, kernel[1], strides[1], pads[1], pads[3], dilations[1]),
        )

    def images_and_filters(self, *, least_pad: float = 0) -> tuple[int, int]:
        """The numbers of images and of filters, after all checks but those of the outputs.

        Raises: VerifyException if operands and properties do not fit together.
        """
        batch, channels, _, _ = expect_rank("an input", self.input, 4)
        filters, depth, *kernel = expect_rank("a weight", self.weight, 4)
        groups = self.group_count
        if groups < 1 or channels % groups or filters % groups:
            raise VerifyException(
                f"expected groups that divide {channels} channels and {filters} filters, "
                f"got {groups}"
            )
        if depth != channels // groups:
            raise VerifyException(
                f"expected a weight with {channels // groups} channels per group, got {depth}"
            )
        if self.bias is not None:
            expect_vector("a bias", self.bias, filters)
        check_window(
            int_array(kernel), self.strides, self.pads, self.dilations, least_pad=least_pad
        )
        return batch, filters
