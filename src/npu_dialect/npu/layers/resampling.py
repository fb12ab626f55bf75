"""The layer that resamples a map along some axes: linear and cubic interpolation."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, Float64Type, FloatAttr, UnitAttr, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from npu_dialect.npu.attributes import parse_float, print_float
from npu_dialect.npu.layers.unary import UnaryOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.syntax import Clause, flag_clause, float_clause
from npu_dialect.resampling import Axis, Filter

NUMBERS = 5
"""Numbers that an axis takes in the property: itself, size, scale, offset and width."""


def parse_axes(parser: Parser) -> Attribute:
    """Parse `2 size 8 scale 0.5 offset -0.25 width 1.0 axis 3 ...`, behind the word `axis`."""
    numbers: list[float] = []
    while True:
        numbers.append(parser.parse_integer(allow_boolean=False, allow_negative=False))
        parser.parse_keyword("size")
        numbers.append(parser.parse_integer(allow_boolean=False, allow_negative=False))
        parser.parse_keyword("scale")
        numbers.append(parse_float(parser))
        parser.parse_keyword("offset")
        numbers.append(parse_float(parser))
        numbers.append(parse_float(parser) if parser.parse_optional_keyword("width") else 1.0)
        if not parser.parse_optional_keyword("axis"):
            return DenseArrayBase.from_list(Float64Type(), numbers)


def print_axes(printer: Printer, attribute: Attribute) -> None:
    """Print what `parse_axes` reads."""
    assert isa(attribute, DenseArrayBase[Float64Type])
    for place, (number, axis) in enumerate(axes_of(attribute)):
        printer.print_string(f"{' axis' if place else ''} {number} size {axis.size} scale ")
        print_float(printer, axis.scale)
        printer.print_string(" offset ")
        print_float(printer, axis.offset)
        if axis.width != 1:
            printer.print_string(" width ")
            print_float(printer, axis.width)


def axes_of(attribute: DenseArrayBase[Float64Type]) -> list[tuple[int, Axis]]:
    """The axes that a property holds, by their number.

    Raises: VerifyException if it has a wrong length, or numbers that are not finite.
    """
    values = attribute.get_values()
    if not values or len(values) % NUMBERS or not all(map(isfinite, values)):
        raise VerifyException(f"expected {NUMBERS} finite numbers for each axis, got {values}")
    rows = [values[first : first + NUMBERS] for first in range(0, len(values), NUMBERS)]
    return [(int(row[0]), Axis(int(row[1]), *row[2:])) for row in rows]


def numbers_of(axes: Mapping[int, Axis]) -> DenseArrayBase[Float64Type]:
    """The property that holds these axes."""
    numbers = [
        number
        for place, axis in sorted(axes.items())
        for number in (place, axis.size, axis.scale, axis.offset, axis.width)
    ]
    return DenseArrayBase.from_list(Float64Type(), numbers)


@irdl_op_definition
class ResampleOp(UnaryOp):
    """Linear or cubic interpolation along some axes (ONNX Resize).

    Along such an axis, output element i is at position `scale` * i + `offset` of the input. It is
    the weighted sum of the elements around: of two neighbours, or with `cubic` (the coefficient of
    the filter) of four. An axis with `width` w has a filter that is w times as wide, which avoids
    aliasing where the map gets smaller. A tap outside of the map is the element at the edge; with
    `exclude_outside` it does not count. With `fill`, elements at positions outside of the map are
    that number. The axes are resampled from the last to the first.

    ```mlir
    %y = npu.resample %x axis 2 size 8 scale 0.5 offset -0.25 axis 3 size 10 scale 0.5 offset -0.25
        : tensor<1x2x4x5xf32> -> tensor<1x2x8x10xf32>
    ```
    """

    name = "npu.resample"

    axes = prop_def(DenseArrayBase[Float64Type])
    cubic = opt_prop_def(FloatAttr[Float64Type])
    exclude_outside = opt_prop_def(UnitAttr)
    fill = opt_prop_def(FloatAttr[Float64Type])

    CLAUSES: ClassVar = (
        Clause("axis", "axes", parse_axes, print_axes, required=True),
        float_clause("cubic", optional=True),
        flag_clause("exclude_outside"),
        float_clause("fill", optional=True),
    )

    def __init__(
        self,
        input: SSAValue,
        axes: Mapping[int, Axis],
        out: SSAValue | Attribute,
        *,
        cubic: float | None = None,
        exclude_outside: bool = False,
        fill: float | None = None,
    ) -> None:
        super().__init__(input, out)
        self.axes = numbers_of(axes)
        if cubic is not None:
            self.cubic = FloatAttr(cubic, Float64Type())
        if exclude_outside:
            self.exclude_outside = UnitAttr()
        if fill is not None:
            self.fill = FloatAttr(fill, Float64Type())

    @property
    def by_axis(self) -> dict[int, Axis]:
        """How each axis is resampled."""
        return dict(axes_of(self.axes))

    def take_one(self, axis: int, place: float) -> None:
        """Compute a single element along an axis, at this position of the input."""
        self.axes = numbers_of({**self.by_axis, axis: Axis(1, 1.0, place)})

    @property
    def filter(self) -> Filter:
        """The filter of all axes."""
        return Filter(
            None if self.cubic is None else self.cubic.value.data,
            self.exclude_outside is not None,
            self.fill is not None,
        )

    def infer_shape(self) -> tuple[int, ...]:
        """The input's shape, with the sizes of the resampled axes."""
        shape = list(shape_of(self.input))
        numbers = [number for number, _ in axes_of(self.axes)]
        if numbers != sorted(set(numbers)) or not 0 <= numbers[0] <= numbers[-1] < len(shape):
            raise VerifyException(f"expected ascending axes in [0, {len(shape)}), got {numbers}")
        for number, axis in self.by_axis.items():
            if axis.size < 1 or shape[number] < 1:
                raise VerifyException(
                    f"expected elements along axis {number}, got {shape[number]} that become "
                    f"{axis.size}"
                )
            widest = 2 * shape[number]
            if not 1 <= axis.width <= widest:
                raise VerifyException(
                    f"expected a width of axis {number} in [1, {widest}], got {axis.width}"
                )
            shape[number] = axis.size
        return tuple(shape)

    def verify_elements(self, element: Attribute) -> None:
        """Check that all elements are float32."""
        super().verify_elements(element)
        if element != f32:
            raise VerifyException(f"expected elements of type f32, got {element}")
