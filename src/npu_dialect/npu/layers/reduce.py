"""Reductions: one number for all elements along some axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr, f32, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.attributes import INT_ARRAY, int_array, int_values
from npu_dialect.npu.enums import ReduceKind, ReduceKindAttr
from npu_dialect.npu.layers.forms import form
from npu_dialect.npu.layers.unary import UnaryOp
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.npu.quantization import QUANTISED, expect_element
from npu_dialect.npu.syntax import flag_clause, ints_clause, word_clause

INDICES = (ReduceKind.ARGMAX, ReduceKind.ARGMIN)
"""The kinds whose result is an index along the one reduced axis."""
PICKING = (ReduceKind.MAX, ReduceKind.MIN, *INDICES)
"""The kinds that only compare elements."""
EXACT = (
    ReduceKind.MEAN,
    ReduceKind.SUM,
    ReduceKind.PROD,
    ReduceKind.L1,
    ReduceKind.SUM_SQUARE,
)
"""The kinds that i32 elements can have beside `PICKING`; their sums and products wrap around."""


def computable(kind: ReduceKind) -> Sequence[Attribute]:
    """The element types of maps that can be reduced so; maps of others can be planned only."""
    if kind in PICKING:
        return (f32, i32, *QUANTISED)
    return (f32, i32) if kind in EXACT else (f32,)


@irdl_op_definition
class ReduceOp(UnaryOp):
    """One number for all elements along some axes, which have extent 1 in the output.

    `ReduceKind` defines the kinds. `argmax` and `argmin` have one axis and give i32 indices: that
    of the first of equal elements, or with `last` that of the last one. `max` and `min` of elements
    with NaN are NaN; `argmax` and `argmin` give 0 if the first element is NaN, and skip any other.

    ```mlir
    %y = npu.reduce %x with mean axes [1] : tensor<1x6x4x4xf32> -> tensor<1x1x4x4xf32>
    ```
    """

    name = "npu.reduce"

    kind = prop_def(ReduceKindAttr)
    axes = prop_def(INT_ARRAY)
    last = opt_prop_def(UnitAttr)

    CLAUSES: ClassVar = (
        word_clause("with", "kind", tuple(ReduceKind), ReduceKindAttr),
        ints_clause("axes"),
        flag_clause("last"),
    )

    def __init__(
        self,
        input: SSAValue,
        kind: ReduceKind,
        axes: Sequence[int],
        out: SSAValue | Attribute,
        *,
        last: bool = False,
    ) -> None:
        operands, results = form(out)
        super(UnaryOp, self).__init__(
            operands=[input, operands],
            result_types=[results],
            properties={
                "kind": ReduceKindAttr(kind),
                "axes": int_array(axes),
                "last": UnitAttr() if last else None,
            },
        )

    def infer_shape(self) -> tuple[int, ...]:
        """The shape of the input, with extent 1 along the reduced axes."""
        shape, axes, kind = shape_of(self.input), int_values(self.axes), self.kind.data
        if list(axes) != sorted({axis for axis in axes if 0 <= axis < len(shape)}):
            raise VerifyException(
                f"expected axes in [0, {len(shape)}), each once and in order, got {list(axes)}"
            )
        if kind in INDICES and len(axes) != 1:
            raise VerifyException(f"expected one axis for {kind}, got {list(axes)}")
        if self.last is not None and kind not in INDICES:
            raise VerifyException(f"expected `last` with {' or '.join(INDICES)}, got {kind}")
        if any(shape[axis] == 0 for axis in axes):
            raise VerifyException(f"expected elements along the axes, got {self.input.type}")
        return tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))

    @property
    def computable(self) -> Sequence[Attribute]:
        """The element types of the input that the kind can be computed for."""
        return computable(self.kind.data)

    def verify_elements(self, element: Attribute) -> None:
        """The output has the elements of the input; indices are i32."""
        kind, found = self.kind.data, map_type(self.input).get_element_type()
        expect_element(f"an output of {kind}", self.output, [i32 if kind in INDICES else found])
