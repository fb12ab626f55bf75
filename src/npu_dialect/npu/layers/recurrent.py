"""Recurrent layers: a state for each step in time, computed from the one before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from xdsl.dialects.builtin import ArrayAttr, Float64Type, FloatAttr, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from npu_dialect.npu.enums import Cell, CellAttr
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers.forms import expect_rank, expect_vector, form
from npu_dialect.npu.maps import ANY_MAP, shape_of
from npu_dialect.npu.pointwise import ActivationAttr, FunctionAttr, PointwiseAttr, parse_pointwise
from npu_dialect.npu.syntax import Clause, flag_clause, float_clause, word_clause


class CellRule(NamedTuple):
    """How many gates and functions a cell has, and which vector may be its last operand."""

    gates: int
    functions: int
    vector: str


CELLS: Mapping[Cell, CellRule] = {
    Cell.RNN: CellRule(1, 1, ""),
    Cell.GRU: CellRule(3, 2, "bias"),
    Cell.LSTM: CellRule(4, 3, "peepholes"),
}
"""The kinds of cells."""


def functions_clause() -> Clause:
    """The clause `with [sigmoid, tanh]`, of bounds and functions."""

    def read(parser: Parser) -> Attribute:
        def one() -> PointwiseAttr:
            found = parse_pointwise(parser)
            if found is None:
                parser.raise_error(f"expected relu, clamp, or {FunctionAttr.EXPECTED}")
            return found

        return ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, one))

    def write(printer: Printer, attribute: Attribute) -> None:
        assert isa(attribute, ArrayAttr[PointwiseAttr])
        printer.print_string(" ")
        with printer.in_square_brackets():
            printer.print_list(attribute, lambda each: each.print_clause(printer))

    return Clause("with", "functions", read, write, required=True)


@irdl_op_definition
class RecurrentOp(LayerOp):
    """Hidden states of a recurrent cell for T steps, in one direction (ONNX RNN, GRU, LSTM).

    `gates` [T, B, G * H] are the products of the inputs with their weights, plus biases, for all
    steps; `weight` [G * H, H] is multiplied by the state before. The gates lie in ONNX's order: one
    of an RNN; update z, reset r and hidden h of a GRU; input i, output o, forget f and cell c of an
    LSTM. `functions` are ONNX's f, g and h. `clip` bounds what they are applied to. With `reverse`,
    the steps run from the last to the first one.

    `state` and `cell_state` [B, H] are those before the first step; zeros if they are left out.
    `bias` [H] of a GRU is added to its hidden gate's product with the state, before the reset gate
    scales it (`linear_before_reset`). `peepholes` [3 * H] of an LSTM are factors of the cell state
    in its gates i, o and f. With `input_forget`, f is 1 - i.

    The result has a row for each step, [T, B, H]. An LSTM has its cell state in one more row at the
    end. A GRU without `linear_before_reset` has such a row too, for the products of reset gate and
    state, which all units need. The layer reads these rows again in later steps.

    ```mlir
    %y = npu.recurrent %gates, %r cell gru with [sigmoid, tanh]
        : (tensor<7x1x24xf32>, tensor<24x8xf32>) -> tensor<8x1x8xf32>
    ```
    """

    name = "npu.recurrent"

    gates = operand_def(ANY_MAP)
    weight = operand_def(ANY_MAP)
    state = opt_operand_def(ANY_MAP)
    cell_state = opt_operand_def(ANY_MAP)
    bias = opt_operand_def(ANY_MAP)
    peepholes = opt_operand_def(ANY_MAP)
    cell = prop_def(CellAttr)
    functions = prop_def(ArrayAttr)
    clip = opt_prop_def(FloatAttr)
    reverse = opt_prop_def(UnitAttr)
    linear_before_reset = opt_prop_def(UnitAttr)
    input_forget = opt_prop_def(UnitAttr)

    CLAUSES: ClassVar = (
        word_clause("cell", "cell", tuple(Cell), CellAttr),
        functions_clause(),
        float_clause("clip", optional=True),
        *map(flag_clause, ("reverse", "linear_before_reset", "input_forget")),
    )
    PARAMETERS: ClassVar = ("weight", "bias", "peepholes")

    def __init__(
        self,
        gates: SSAValue,
        weight: SSAValue,
        out: SSAValue | Attribute,
        *,
        cell: Cell,
        functions: Sequence[PointwiseAttr],
        states: Sequence[SSAValue] = (),
        vector: SSAValue | None = None,
        clip: float | None = None,
        reverse: bool = False,
        linear_before_reset: bool = False,
        input_forget: bool = False,
    ) -> None:
        """`states` are state and, of an LSTM, cell state; `vector` is the bias or the peepholes."""
        operands, results = form(out)
        before = [*states, *[None] * (2 - len(states))]
        vectors = [vector if CELLS[cell].vector == name else None for name in self.PARAMETERS[1:]]
        flags = {
            "reverse": reverse,
            "linear_before_reset": linear_before_reset,
            "input_forget": input_forget,
        }
        super().__init__(
            operands=[gates, weight, *before, *vectors, operands],
            result_types=[results],
            properties={
                "cell": CellAttr(cell),
                "functions": ArrayAttr(functions),
                "clip": None if clip is None else FloatAttr(clip, Float64Type()),
                **{name: UnitAttr() if flag else None for name, flag in flags.items()},
            },
        )

    def with_states(self, states: Sequence[SSAValue]) -> RecurrentOp:
        """The same layer on tensors with other states before its first step."""
        new = RecurrentOp(
            self.gates,
            self.weight,
            self.results[0].type,
            cell=self.kind,
            functions=self.activations,
            states=states,
            vector=self.peepholes if self.bias is None else self.bias,
        )
        new.clip, new.reverse = self.clip, self.reverse
        new.linear_before_reset, new.input_forget = self.linear_before_reset, self.input_forget
        new.attributes = dict(self.attributes)
        return new

    @property
    def kind(self) -> Cell:
        """The kind of the cell."""
        return self.cell.data

    @property
    def steps(self) -> int:
        """T, the number of steps."""
        return shape_of(self.gates)[0]

    @property
    def batch(self) -> int:
        """B, the number of sequences."""
        return shape_of(self.gates)[1]

    @property
    def units(self) -> int:
        """H, the number of elements of a state."""
        return shape_of(self.weight)[1]

    @property
    def activations(self) -> tuple[PointwiseAttr, ...]:
        """The functions f, g and h, as many as the cell has."""
        return tuple(each for each in self.functions if isinstance(each, PointwiseAttr))

    @property
    def bound(self) -> ActivationAttr | None:
        """The bounds in front of the functions; None if there are none."""
        if self.clip is None:
            return None
        limit = self.clip.value.data
        return ActivationAttr.clamp(-limit, limit)

    @property
    def has_own_row(self) -> bool:
        """Whether the output has a row at its end that is no hidden state."""
        return self.kind == Cell.LSTM or (
            self.kind == Cell.GRU and self.linear_before_reset is None
        )

    def infer_shape(self) -> tuple[int, ...]:
        """[T, B, H], with one more row for a cell state or the products of a GRU."""
        rule = CELLS[self.kind]
        rows, units = expect_rank("a weight", self.weight, 2)
        steps, batch, columns = expect_rank("gates", self.gates, 3)
        if not (rows == columns == rule.gates * units and steps):
            raise VerifyException(
                f"expected gates [T, B, {rule.gates} * H] of at least one step and a weight "
                f"[{rule.gates} * H, H], got {self.gates.type} and {self.weight.type}"
            )
        self.check_operands()
        self.check_properties()
        for what, value in (("state", self.state), ("cell state", self.cell_state)):
            if value is not None and shape_of(value) != (batch, units):
                raise VerifyException(
                    f"expected a {what} of shape [{batch}, {units}], got {value.type}"
                )
        if self.bias is not None:
            expect_vector("a bias", self.bias, units)
        if self.peepholes is not None:
            expect_vector("peepholes", self.peepholes, 3 * units)
        return (steps + self.has_own_row, batch, units)

    def check_operands(self) -> None:
        """Check that the cell has all its optional operands and no others.

        Raises: VerifyException if not.
        """
        kind = self.kind
        if (self.cell_state is not None) != (kind == Cell.LSTM and self.state is not None):
            raise VerifyException("expected a cell state beside the state of an LSTM only")
        if (self.bias is not None) != (self.linear_before_reset is not None):
            raise VerifyException("expected a bias and linear_before_reset, or none of both")
        if self.peepholes is not None and kind != Cell.LSTM:
            raise VerifyException(f"expected peepholes of an LSTM only, got cell {kind}")

    def check_properties(self) -> None:
        """Check functions, bound and flags.

        Raises: VerifyException if one does not fit the cell.
        """
        kind, count = self.kind, CELLS[self.kind].functions
        plain = [
            each
            for each in self.functions
            if isinstance(each, ActivationAttr | FunctionAttr)
            and not (isinstance(each, FunctionAttr) and each.has_channels)
        ]
        if not len(self.functions) == len(plain) == count:
            raise VerifyException(
                f"expected {count} functions or bounds of cell {kind}, without parameters by "
                f"channel, got {self.functions}"
            )
        if self.clip is not None and not self.clip.value.data > 0:
            raise VerifyException(f"expected a positive clip, got {self.clip.value.data}")
        for name, owner in (("linear_before_reset", Cell.GRU), ("input_forget", Cell.LSTM)):
            if name in self.properties and kind != owner:
                raise VerifyException(f"expected {name} of cell {owner} only, got cell {kind}")

    def macs(self) -> int:
        """One multiply-accumulate for each weight in each step of each sequence."""
        rows, units = shape_of(self.weight)
        return self.steps * self.batch * rows * units

    @classmethod
    def input_segments(
        cls, parser: Parser, count: int, properties: dict[str, Attribute]
    ) -> list[int]:
        """Gates and weight, then states, then the vector; the cell says how many there are."""
        cell = properties["cell"]
        assert isinstance(cell, CellAttr)
        states = 2 if cell.data == Cell.LSTM else 1
        if cell.data == Cell.GRU:
            vectors = [int("linear_before_reset" in properties)]
        else:
            vectors = [0, 1] if CELLS[cell.data].vector else [0]
        for vector in vectors:
            if (given := count - 2 - vector) in (0, states):
                both = [int(given > 0), int(given > 1)]
                named = [vector * (CELLS[cell.data].vector == name) for name in cls.PARAMETERS[1:]]
                return [1, 1, *both, *named]
        parser.raise_error(
            f"expected gates, weight, {states} states or none, and the vector of the cell, got "
            f"{count} operands"
        )
