"""Recurrent layers in numpy, one step in time after the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.utils.exceptions import InterpretationError

from npu_dialect.interpreters.pointwise import activate
from npu_dialect.interpreters.values import Array
from npu_dialect.npu.enums import Cell
from npu_dialect.npu.layers.recurrent import RecurrentOp
from npu_dialect.npu.maps import shape_of


class Network:
    """A recurrent layer with the arrays of its operands; `row` is its row behind the states."""

    def __init__(self, op: RecurrentOp, inputs: Sequence[Array]) -> None:
        self.op = op
        self.arrays = dict(zip(op.inputs, inputs, strict=True))
        gates = self.arrays[op.gates]
        zeros = np.zeros((op.batch, op.units), gates.dtype)
        self.weight = self.arrays[op.weight].T
        self.state = zeros if op.state is None else self.arrays[op.state]
        self.row = zeros if op.cell_state is None else self.arrays[op.cell_state]
        self.peepholes = np.zeros((3, op.units), gates.dtype)
        if op.peepholes is not None:
            self.peepholes = self.arrays[op.peepholes].reshape(3, op.units)

    def run(self) -> Array:
        """The states of all steps, then the row behind them, if there is one."""
        op, gates = self.op, self.arrays[self.op.gates]
        result = np.empty(shape_of(op.output), gates.dtype)
        step = {Cell.RNN: self.rnn, Cell.GRU: self.gru, Cell.LSTM: self.lstm}[op.kind]
        order = range(op.steps)
        for time in order if op.reverse is None else reversed(order):
            result[time] = self.state = step(gates[time])
        if op.has_own_row:
            result[-1] = self.row
        return result

    def function(self, index: int, value: Array) -> Array:
        """Function f, g or h, by its number, of bounded values."""
        return activate(activate(value, self.op.bound), self.op.activations[index])

    def rnn(self, gates: Array) -> Array:
        """The next state of an RNN."""
        return self.function(0, gates + self.state @ self.weight)

    def gru(self, gates: Array) -> Array:
        """The next state of a GRU."""
        units, op = self.op.units, self.op
        given, weights = (np.split(each, 3, axis=1) for each in (gates, self.weight))
        products = self.state @ self.weight[:, : 2 * units]
        update = self.function(0, given[0] + products[:, :units])
        reset = self.function(0, given[1] + products[:, units:])
        if op.bias is None:
            self.row = reset * self.state
            hidden = self.row @ weights[2]
        else:
            hidden = reset * (self.state @ weights[2] + self.arrays[op.bias])
        hidden = self.function(1, given[2] + hidden)
        return (1 - update) * hidden + update * self.state

    def lstm(self, gates: Array) -> Array:
        """The next state of an LSTM; its cell state goes on in `row`."""
        input_, output, forget, cell = np.split(gates + self.state @ self.weight, 4, axis=1)
        before, factors = self.row, self.peepholes
        share = self.function(0, input_ + factors[0] * before)
        kept = self.function(0, forget + factors[2] * before)
        if self.op.input_forget is not None:
            kept = 1 - share
        self.row = kept * before + share * self.function(1, cell)
        return self.function(0, output + factors[1] * self.row) * activate(
            self.row, self.op.activations[2]
        )


def recurrent(op: RecurrentOp, inputs: Sequence[Array]) -> Array:
    """`npu.recurrent`.

    Raises: InterpretationError if the elements are integers.
    """
    if inputs[0].dtype.kind != "f":
        raise InterpretationError(f"expected states of floats, got {inputs[0].dtype} elements")
    return Network(op, inputs).run()
