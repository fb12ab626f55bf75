"""The layer that picks elements of a map by their indices along some axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, isnan
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, Float64Type, FloatAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from npu_dialect.npu.attributes import INT_ARRAY, int_array, int_values
from npu_dialect.npu.layers.moving import SliceOp
from npu_dialect.npu.layers.unary import UnaryOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.quantization import limits_of, ui8
from npu_dialect.npu.simplifying import Simplifying
from npu_dialect.npu.syntax import Clause, float_clause
from npu_dialect.runs import NONE, Run, between, length_of, nothing

Picks = Mapping[int, tuple[Run, ...]]
"""The indices to pick, by axis."""

NUMBERS = 5
"""Integers that a run takes in the property: its axis, start, count, step and each."""


def picks_array(picks: Picks) -> Attribute:
    """The property that holds some picks."""
    return int_array(
        [
            number
            for axis, runs in sorted(picks.items())
            for run in runs
            for number in (axis, run.start, run.count, run.step, run.each)
        ]
    )


def parse_run(parser: Parser) -> Run:
    """Parse `3`, `0 to 6 by 2`, `6 to 0`, `none`; any of them may end with `each 2`."""
    run = Run(NONE)
    if not parser.parse_optional_keyword("none"):
        start = parser.parse_integer(allow_boolean=False, allow_negative=False)
        run = Run(start)
        if parser.parse_optional_keyword("to"):
            run = between(start, parser.parse_integer(allow_boolean=False, allow_negative=False))
            if parser.parse_optional_keyword("by"):
                step = parser.parse_integer(allow_boolean=False, allow_negative=False)
                if step < 1 or (run.count - 1) % step:
                    parser.raise_error(f"expected a step from {start} to {run.last}, got {step}")
                run = Run(start, (run.count - 1) // step + 1, run.step * step)
    if not parser.parse_optional_keyword("each"):
        return run
    each = parser.parse_integer(allow_boolean=False, allow_negative=False)
    return Run(run.start, run.count, run.step, each)


def run_text(run: Run) -> str:
    """What `parse_run` reads."""
    text = "none" if run.is_none else str(run.start)
    if run.count > 1:
        text += f" to {run.last}" + (f" by {abs(run.step)}" if abs(run.step) > 1 else "")
    return text + (f" each {run.each}" if run.each > 1 else "")


def parse_picks(parser: Parser) -> Attribute:
    """Parse `2 [none, 0 to 13] axis 3 [0 to 6 each 2]`, which follows the word `axis`."""
    picks: dict[int, tuple[Run, ...]] = {}
    while True:
        start = parser.pos
        axis = parser.parse_integer(allow_boolean=False, allow_negative=False)
        if axis in picks:
            parser.raise_error(f"expected axis {axis} once", start, parser.pos)
        picks[axis] = tuple(
            parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_run(parser))
        )
        if not parser.parse_optional_keyword("axis"):
            return picks_array(picks)


def print_picks(printer: Printer, attribute: Attribute) -> None:
    """Print what `parse_picks` reads."""
    assert isa(attribute, DenseArrayBase[IntegerType])
    texts = [
        f" {axis} [{', '.join(map(run_text, runs))}]" for axis, runs in picks_of(attribute).items()
    ]
    printer.print_string(" axis".join(texts))


def picks_of(attribute: DenseArrayBase[IntegerType]) -> Picks:
    """The picks that a property holds.

    Raises: VerifyException if it has a wrong length.
    """
    values = int_values(attribute)
    if not values or len(values) % NUMBERS:
        raise VerifyException(f"expected runs of {NUMBERS} numbers, got {len(values)} numbers")
    picks: dict[int, tuple[Run, ...]] = {}
    for first in range(0, len(values), NUMBERS):
        axis, *numbers = values[first : first + NUMBERS]
        picks[axis] = (*picks.get(axis, ()), Run(*numbers))
    return picks


@irdl_op_definition
class PickOp(UnaryOp, Simplifying):
    """Elements by their indices along some axes: ONNX Gather, Pad, Tile, Expand, nearest Resize.

    Along an axis with a list of indices, output element i is the input element with the i-th index.
    Where one of the indices is `none`, the output is `fill`. Along other axes nothing changes. A
    list is written in runs: `0 to 6 by 2` is 0, 2, 4, 6; `2 to 0` is 2, 1, 0; `0 to 2 each 2` is
    0, 0, 1, 1, 2, 2.

    ```mlir
    %y = npu.pick %x axis 2 [none, 0 to 3, none] axis 3 [0 to 4 each 2] fill 0.0
        : tensor<1x2x4x5xf32> -> tensor<1x2x6x10xf32>
    ```
    """

    name = "npu.pick"

    picks = prop_def(INT_ARRAY)
    fill = opt_prop_def(FloatAttr[Float64Type])

    CLAUSES: ClassVar = (
        Clause("axis", "picks", parse_picks, print_picks, required=True),
        float_clause("fill", optional=True),
    )

    def __init__(
        self,
        input: SSAValue,
        picks: Picks,
        out: SSAValue | Attribute,
        fill: float | None = None,
    ) -> None:
        super().__init__(input, out)
        self.properties["picks"] = picks_array(picks)
        if fill is not None:
            self.fill = FloatAttr(fill, Float64Type())

    @property
    def runs(self) -> Picks:
        """The indices to pick, by axis."""
        return picks_of(self.picks)

    def infer_shape(self) -> tuple[int, ...]:
        """The input's shape, with as many elements along an axis as it has indices."""
        shape, picks = list(shape_of(self.input)), self.runs
        axes = [axis for axis, *_ in grouped(int_values(self.picks))]
        if axes != sorted(axes) or not 0 <= axes[0] <= axes[-1] < len(shape):
            raise VerifyException(f"expected ascending axes in [0, {len(shape)}), got {axes}")
        for axis, runs in picks.items():
            for run in runs:
                check_run(run, axis, shape[axis])
            shape[axis] = length_of(runs)
        has_none = any(run.is_none for runs in picks.values() for run in runs)
        if has_none != (self.fill is not None):
            wanted = "`fill` for the index none" if has_none else "an index none for `fill`"
            raise VerifyException(f"expected {wanted}")
        return tuple(shape)

    def take_one(self, axis: int) -> None:
        """Pick the one element that an axis has, instead of what is picked along it now."""
        picks = {**self.runs, axis: (Run(0),)}
        self.properties["picks"] = picks_array(picks)
        if not any(run.is_none for runs in picks.values() for run in runs):
            self.fill = None

    def verify_elements(self, element: Attribute) -> None:
        """Check the element types, and that `fill` is such an element."""
        super().verify_elements(element)
        if self.fill is None:
            return
        value = self.fill.value.data
        if isa(element, IntegerType):
            width = element.width.data
            low, high = -(1 << width - 1), (1 << width - 1) - 1
            if element == ui8:
                low, high = limits_of(element)
            if not isfinite(value) or value != int(value) or not low <= value <= high:
                raise VerifyException(f"expected a fill in [{low}, {high}], got {value}")
        elif isnan(value):
            raise VerifyException("expected a fill that is a number, got nan")

    def simplified(self) -> SSAValue | Operation | None:
        """The input if all of it is picked in order; a slice if neighbours have equal distances."""
        shape, picks = shape_of(self.input), self.runs
        if any(len(runs) != 1 or not runs[0].is_plain for runs in picks.values()):
            return None
        if self.results[0].type == self.input.type:
            return self.input
        boxes = [picks[axis][0] if axis in picks else Run(0, n) for axis, n in enumerate(shape)]
        layer = SliceOp(
            self.input,
            [run.start for run in boxes],
            [run.count for run in boxes],
            [run.step for run in boxes],
            self.results[0].type,
        )
        layer.attributes |= self.attributes
        return layer


def grouped(numbers: Sequence[int]) -> list[tuple[int, ...]]:
    """The runs of a property, without those that follow another one of the same axis."""
    rows = [tuple(numbers[i : i + NUMBERS]) for i in range(0, len(numbers), NUMBERS)]
    return [row for i, row in enumerate(rows) if i == 0 or rows[i - 1][0] != row[0]]


def check_run(run: Run, axis: int, extent: int) -> None:
    """Check that a run picks elements of an axis of `extent` elements.

    Raises: VerifyException if it does not.
    """
    if min(run.count, run.each) < 1 or run.step == 0:
        raise VerifyException(f"expected runs of at least one index, got {run_text(run)}")
    if run.is_none and run != nothing(run.each):
        raise VerifyException(f"expected a run of none without steps, got {run_text(run)}")
    if not run.is_none and not (0 <= run.start < extent and 0 <= run.last < extent):
        raise VerifyException(
            f"expected indices of axis {axis} in [0, {extent}), got {run_text(run)}"
        )
