"""The operands of one direction of RNN, GRU and LSTM, known while importing or computed."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from npu_dialect.npu import AddOp, ConcatOp, MatmulOp
from npu_dialect.npu.enums import Cell
from npu_dialect.npu.layers.recurrent import CELLS
from npu_dialect.npu.maps import shape_of
from npu_dialect.runs import Run
from npu_tools.importers.onnx.builder import Builder, Constant, float_array
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.rules.linear import fully_connected

WEIGHT, RECURRENCE, BIAS, LENGTHS, STATE, CELL_STATE, PEEPHOLES = range(1, 8)
"""Numbers of the operands behind the input."""

Part: TypeAlias = Constant | SSAValue
"""An operand, or a part of it: a constant or a map."""


class Operands:
    """The operands of direction `number` out of `count`, for inputs [T, B, I]."""

    def __init__(
        self, node: Node, graph: Builder, inputs: SSAValue, number: int, count: int
    ) -> None:
        """Read weight and recurrence. Raises: NodeError if a shape does not fit."""
        self.node, self.graph, self.inputs = node, graph, inputs
        self.number, self.count = number, count
        self.kind = Cell(node.op_type.lower())
        gates = CELLS[self.kind].gates
        shape = self.shape(RECURRENCE)
        self.units = node.int("hidden_size", shape[-1] if shape else 0)
        self.rows = gates * self.units
        _, self.batch, depth = shape_of(inputs)
        self.weight = self.needed(WEIGHT, (self.rows, depth))
        self.recurrence = self.needed(RECURRENCE, (self.rows, self.units))

    def shape(self, index: int) -> tuple[int, ...]:
        """The shape of a whole operand."""
        value = self.graph.value(self.node, index)
        if isinstance(value, Constant):
            return value.array.shape
        return shape_of(self.graph.map(self.node, index))

    def needed(self, index: int, shape: tuple[int, ...]) -> Part:
        """An operand that must be there; see `part`."""
        found = self.part(index, shape)
        if found is None:
            raise NodeError(f"input {index} is missing")
        return found

    def part(self, index: int, shape: tuple[int, ...], axis: int = 0) -> Part | None:
        """The part of an operand for this direction, of this shape; None if it is left out.

        The operand has an axis of directions more, at `axis`.

        Raises: NodeError if it has another shape.
        """
        name = self.node.operand(index)
        if not name:
            return None
        expected = (*shape[:axis], self.count, *shape[axis:])
        if self.shape(index) != expected:
            raise NodeError(
                f"input '{name}' has shape {list(self.shape(index))}; expected {list(expected)}"
            )
        value = self.graph.value(self.node, index)
        if isinstance(value, Constant):
            return Constant(value.name, float_array(value).take(self.number, axis))
        picks = {axis: (Run(self.number),)}
        picked = self.graph.picked(self.graph.map(self.node, index), picks)
        return self.graph.reshape(picked, shape)

    def cut(self, part: Part, start: int, stop: int) -> Part:
        """Some elements of a vector."""
        if isinstance(part, Constant):
            return Constant(part.name, part.array[start:stop])
        return self.graph.picked(part, {0: (Run(start, stop - start),)})

    def biases(self, *, scaled: bool) -> tuple[Part | None, Part | None]:
        """The bias of the gates, and that of the product which a GRU's reset gate scales.

        The second one is there if the gate scales a product, and else added to the first one.
        """
        rows, units = self.rows, self.units
        both = self.part(BIAS, (2 * rows,))
        zeros = Constant("bias", np.zeros(units, np.float32))
        if both is None:
            return None, zeros if scaled else None
        ours, theirs = self.cut(both, 0, rows), self.cut(both, rows, 2 * rows)
        if not scaled:
            return self.sum(ours, theirs), None
        split = rows - units
        first = self.sum(self.cut(ours, 0, split), self.cut(theirs, 0, split))
        return self.row(first, self.cut(ours, split, rows)), self.cut(theirs, split, rows)

    def sum(self, lhs: Part, rhs: Part) -> Part:
        """The sum of two vectors."""
        if isinstance(lhs, Constant) and isinstance(rhs, Constant):
            return Constant(lhs.name, lhs.array + rhs.array)
        first, second = self.map(lhs), self.map(rhs)
        return self.graph.emit(lambda out: AddOp(first, second, out))

    def row(self, lhs: Part, rhs: Part) -> Part:
        """Two vectors, one behind the other."""
        if isinstance(lhs, Constant) and isinstance(rhs, Constant):
            return Constant(lhs.name, np.concatenate([lhs.array, rhs.array]))
        both = [self.map(lhs), self.map(rhs)]
        return self.graph.emit(lambda out: ConcatOp(both, 0, out))

    def map(self, part: Part) -> SSAValue:
        """A part as a map."""
        return self.graph.materialise(part) if isinstance(part, Constant) else part

    def states(self) -> list[SSAValue]:
        """State and, of an LSTM, cell state in front of the first step; none if all are zeros."""
        axis = self.node.int("layout", 0)
        shape = (self.batch, self.units)
        indices = (STATE, CELL_STATE) if self.kind == Cell.LSTM else (STATE,)
        parts = [self.part(index, shape, axis) for index in indices]
        if all(part is None or is_zero(part) for part in parts):
            return []
        zeros = Constant("state", np.zeros(shape, np.float32))
        return [self.map(zeros if part is None else part) for part in parts]

    def gates(self, bias: Part | None) -> SSAValue:
        """Build the products of all inputs with their weights, plus a bias, as [T, B, G * H]."""
        graph, weight = self.graph, self.weight
        steps, batch, depth = shape_of(self.inputs)
        rows = graph.reshape(self.inputs, (steps * batch, depth))
        if isinstance(weight, Constant) and (bias is None or isinstance(bias, Constant)):
            vector = None if bias is None else bias.array
            sums = fully_connected(graph, rows, weight, bias, vector)
        else:
            matrix = self.map(weight)
            sums = graph.emit(lambda out: MatmulOp(rows, matrix, out, transposed_rhs=True))
            if bias is not None:
                product, addend = sums, self.map(bias)
                sums = graph.emit(lambda out: AddOp(product, addend, out))
        return graph.reshape(sums, (steps, batch, self.rows))


def is_zero(part: Part) -> bool:
    """Whether a part is a constant of zeros."""
    return isinstance(part, Constant) and not part.array.any()
