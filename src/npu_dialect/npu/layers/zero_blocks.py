"""The layer that sets blocks of small elements to zero (paper 003, Zebra)."""

from __future__ import annotations

from math import isfinite
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import Float64Type, FloatAttr, IntegerAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers.forms import expect_rank, form
from npu_dialect.npu.maps import ANY_MAP, map_type
from npu_dialect.npu.quantization import BYTE_TYPES, check_zero_point, limits_of
from npu_dialect.npu.syntax import float_clause, int_clause
from npu_dialect.windows import Axis


@irdl_op_definition
class PruneZeroBlocksOp(LayerOp):
    """Blocks of `block` x `block` elements of a channel become zero if all are below `threshold`.

    Input [N, C, H, W]. Blocks lie side by side from the first element of a channel on; those at the
    right and at the bottom may be smaller. A block with a NaN stays.

    A map of i8 or ui8 has a `scale` and a `zero_point`: an element q counts as (q - zero_point) *
    scale in float32, as in `npu.dequantize`, and blocks become `zero_point`. The layer may run in
    place, as each block depends only on itself.

    ```mlir
    %y = npu.prune_zero_blocks %x block 4 threshold 0.1
        : tensor<1x64x32x32xf32> -> tensor<1x64x32x32xf32>
    ```
    """

    name = "npu.prune_zero_blocks"

    input = operand_def(ANY_MAP)
    block = prop_def(IntegerAttr)
    threshold = prop_def(FloatAttr)
    scale = opt_prop_def(FloatAttr)
    zero_point = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))

    ELEMENTWISE: ClassVar = True
    CLAUSES: ClassVar = (
        int_clause("block"),
        float_clause("threshold"),
        float_clause("scale", optional=True),
        int_clause("zero_point", 0),
    )

    def __init__(
        self,
        input: SSAValue,
        block: int,
        threshold: float,
        out: SSAValue | Attribute,
        *,
        scale: float | None = None,
        zero_point: int = 0,
    ) -> None:
        operands, results = form(out)
        super().__init__(
            operands=[input, operands],
            result_types=[results],
            properties={
                "block": IntegerAttr(block, i64),
                "threshold": FloatAttr(threshold, Float64Type()),
                "scale": None if scale is None else FloatAttr(scale, Float64Type()),
                "zero_point": IntegerAttr(zero_point, i64),
            },
        )

    @property
    def size(self) -> int:
        """The block size as a Python integer."""
        return self.block.value.data

    @property
    def zero(self) -> int:
        """The element that stands for the real number 0."""
        return self.zero_point.value.data

    @property
    def bound(self) -> float | int:
        """A block stays unless all of its elements are below this.

        For integer maps it is the least integer that keeps a block, or one more than the greatest
        integer of the element type if none does.
        """
        threshold = self.threshold.value.data
        if self.scale is None:
            return threshold
        low, high = limits_of(map_type(self.input).get_element_type())
        steps = np.arange(low - self.zero, high - self.zero + 1).astype(np.float32)
        with np.errstate(over="ignore"):
            reals, bound = steps * np.float32(self.scale.value.data), np.float32(threshold)
        return low + int(np.count_nonzero(reals < bound))

    def axes(self) -> tuple[Axis, Axis]:
        """The blocks along rows and along columns, as adjacent windows."""
        height, width = map_type(self.input).get_shape()[2:]
        size = self.size
        rows, columns = (Axis(n, size, size, 0, -n % size) for n in (height, width))
        return rows, columns

    def infer_shape(self) -> tuple[int, ...]:
        """The shape of the input."""
        shape = expect_rank("an input", self.input, 4)
        if self.size < 1:
            raise VerifyException(f"expected a block of at least 1 element, got {self.size}")
        threshold = self.threshold.value.data
        if not (isfinite(threshold) and threshold >= 0):
            raise VerifyException(f"expected a threshold of at least 0, got {threshold}")
        self.check_scale()
        return shape

    def check_scale(self) -> None:
        """Check scale and zero point: maps of i8 and ui8 have a scale, other maps have none.

        Raises: VerifyException if they do not fit the map.
        """
        element = map_type(self.input).get_element_type()
        if (element in BYTE_TYPES) != (self.scale is not None):
            expected = "a scale" if element in BYTE_TYPES else "no scale"
            raise VerifyException(f"expected {expected} for elements of type {element}")
        if self.scale is not None:
            number = self.scale.value.data
            if not (isfinite(number) and number > 0):
                raise VerifyException(f"expected a positive, finite scale, got {number}")
        check_zero_point(self.zero, element)
